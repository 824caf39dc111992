"""A run, from its spec to its tables: planned, resumed where it was left, driven to the end."""

from __future__ import annotations

import logging
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import orjson
from omegaconf import OmegaConf

from pipeline.backbone.serving import Endpoint
from pipeline.errors import ConfigError, RunError
from pipeline.plugins import locate
from pipeline.runs import journal, tables
from pipeline.runs.actors import ArmRuntime
from pipeline.runs.broadcast import Broadcast
from pipeline.runs.cluster import connected
from pipeline.runs.compact import Finished
from pipeline.runs.driver import Driver, Tally
from pipeline.runs.folder import SCHEMA_VERSION, RunFolder, versions, write_atomically
from pipeline.runs.freeze import plain
from pipeline.runs.journal import Attempt
from pipeline.runs.lease import Lease, refuse_if_held
from pipeline.runs.library import Library
from pipeline.runs.merging import Merged, merge, store
from pipeline.runs.plan import Plan, make_plan
from pipeline.runs.progress import Progress
from pipeline.runs.queue import Queue, Work
from pipeline.runs.replay import accepted_attempts, committed_attempts
from pipeline.runs.retry import check_statuses, retried
from pipeline.runs.servers import record_servers
from pipeline.runs.serving import recorded
from pipeline.runs.spec import ArmSpec, RunSpec
from pipeline.runs.standing import Standing, standing

FLUSH_SECONDS = 20.0


@dataclass(frozen=True)
class RunResult:
    """What became of the episodes that were asked for.

    `finished` of `total` are in the tables, `new` of them by this invocation. `owed` have no result yet, and
    `reasons` says why, with how many each. The run has `earlier` ones beside them, which this invocation
    didn't ask for. `stopped`: the user interrupted the run.
    """

    folder: Path
    total: int
    finished: int
    new: int
    owed: int
    earlier: int
    reasons: Mapping[str, int]
    mismatches: tuple[str, ...]
    stopped: bool

    @property
    def complete(self) -> bool:
        """Whether every episode has its rows."""
        return self.finished == self.total


def run(
    spec: RunSpec,
    progress: Progress | None = None,
    begun: Callable[[Plan, Standing], None] = lambda plan, found: None,
) -> RunResult:
    """Run what is owed of `spec`, and fill the tables of its folder.

    `begun` is told of the plan, and how it stands, before anything is written or started. Raises
    `UnusableInput` before anything was started (a bad config, benchmark, corpus or folder), and
    `BackboneUnavailable` or `ModelRequestFailed` if a backbone does not come up.
    """
    progress = progress or Progress()
    folder = RunFolder(spec.root / spec.name)
    refuse_if_held(folder)
    library = Library(progress)
    plan = plan_run(spec, library)
    folder.create()
    with Lease(folder) as lease, _logged(folder):
        merged = merge_run(folder, spec, plan, library)
        attempts = journal.scan(folder.journal)
        found = standing(folder, plan, merged, attempts)
        begun(plan, found)
        store_run(folder, spec, merged)
        tables.prune(folder.path)
        attempts = retried(folder, plan, attempts)
        return _Invocation(spec, folder, plan, library, lease, progress, attempts, found.earlier).result()


def look(spec: RunSpec, library: Library) -> tuple[Plan, Standing]:
    """Return the plan of `spec` and how it stands, by every check that `run` makes before it starts anything.

    Writes nothing in the run's folder, and needs no lease: another process may drive the run.
    """
    folder = RunFolder(spec.root / spec.name)
    folder.check()
    plan = plan_run(spec, library)
    merged = merge_run(folder, spec, plan, library)
    return plan, standing(folder, plan, merged, journal.scan(folder.journal))


def plan_run(spec: RunSpec, library: Library) -> Plan:
    """Check `spec` and plan it. Raises `UnusableInput`."""
    _check(spec)
    return make_plan(spec, library.open)


class _Invocation:
    """One invocation of a run whose folder is ready."""

    def __init__(
        self,
        spec: RunSpec,
        folder: RunFolder,
        plan: Plan,
        library: Library,
        lease: Lease,
        progress: Progress,
        attempts: Sequence[Attempt],
        earlier: int,
    ) -> None:
        self._spec = spec
        self._folder = folder
        self._plan = plan
        self._library = library
        self._lease = lease
        self._progress = progress
        self._earlier = earlier
        self._committed = committed_attempts(folder.path).keys()
        self._accepted = accepted_attempts(folder.path, attempts)
        self._last = Counter[str]()
        for attempt in attempts:
            self._last[attempt.episode] = max(self._last[attempt.episode], attempt.attempt)

    def result(self) -> RunResult:
        """Run what is owed and say what came of it."""
        total = self._plan.episodes.num_rows
        known = sum(1 for row in self._plan.rows() if row["episode_id"] in self._committed)
        left = Counter(work.planned["arm"] for work in self._owed())
        self._progress.planned(self._spec.name, total, left, self._earlier)
        tally, stopped = Tally(), False
        if known < total:
            tally, stopped = self._run()
        self._progress.stage = "stopped" if stopped else "done"
        self._progress.write(self._folder, force=True)
        finished = known + tally.compacted
        return RunResult(
            folder=self._folder.path,
            total=total,
            finished=finished,
            new=tally.compacted,
            owed=total - finished - len(tally.mismatches),
            earlier=self._earlier,
            reasons=dict(tally.owed),
            mismatches=tuple(tally.mismatches),
            stopped=stopped,
        )

    def _run(self) -> tuple[Tally, bool]:
        owed = Counter(work.planned["arm"] for work in self._owed())
        self._progress.stage = "starting Ray"
        with ExitStack() as open_:
            cluster = open_.enter_context(connected(self._spec.cluster))
            open_.enter_context(_terminable())
            driver = None
            try:
                arms = self._serve(open_, owed)
                driver = open_.enter_context(
                    Driver(
                        self._folder,
                        cluster,
                        self._lease,
                        Broadcast(self._library.get),
                        {name: arm.spec.harness for name, arm in self._plan.arms.items()},
                        self._progress,
                    )
                )
                if owed:
                    driver.start_actors(self._spec.actors, arms, owed.total())
                queue = Queue({name: arm.endpoint for name, arm in arms.items()}, self._owed)
                driver.drive(self._finished(), queue, self._left())
                return driver.tally, False
            except KeyboardInterrupt:
                self._progress.stage = "stopping"
                if driver is None:
                    return Tally(), True
                driver.compact_finished(FLUSH_SECONDS)
                return driver.tally, True

    def _serve(self, open_: ExitStack, owed: Counter[str]) -> dict[str, ArmRuntime]:
        """Open each distinct serving that an owed episode needs, once."""
        endpoints: dict[bytes, Endpoint] = {}
        arms = {}
        for name in owed:
            arm = self._plan.arms[name].spec
            key = orjson.dumps([plain(arm.serving), plain(arm.backbone)], option=orjson.OPT_SORT_KEYS)
            if key not in endpoints:
                self._progress.stage = f"starting backbone {arm.backbone_name}"
                endpoint = open_.enter_context(_serving(arm, self._folder, len(endpoints)))
                interval = arm.backbone.traffic.metrics_interval
                record_servers(self._folder, arm, endpoint)
                open_.enter_context(recorded(self._folder.path, endpoint, interval))
                endpoints[key] = endpoint
            arms[name] = ArmRuntime(arm.harness, arm.backbone, endpoints[key])
        return arms

    def _finished(self) -> Iterator[Finished]:
        """Episodes that an earlier invocation finished but did not compact."""
        for row in self._plan.rows():
            if row["episode_id"] in self._accepted and row["episode_id"] not in self._committed:
                yield Finished(row, self._accepted[row["episode_id"]])

    def _owed(self, arm: str | None = None) -> Iterator[Work]:
        """Episodes without a result, of one arm or of all."""
        for row in self._plan.rows():
            if arm is not None and row["arm"] != arm:
                continue
            if row["episode_id"] not in self._accepted and row["episode_id"] not in self._committed:
                yield Work(row, self._last[row["episode_id"]] + 1)

    def _left(self) -> Counter[str]:
        return Counter(item.planned["corpus"] for items in (self._finished(), self._owed()) for item in items)


def _check(spec: RunSpec) -> None:
    actors = spec.actors
    if not spec.arms or not spec.seeds:
        raise ConfigError("there is nothing to run: give at least one arm and one seed")
    for name, value in (
        ("episodes", actors.episodes),
        ("attempts", actors.attempts),
        ("count", actors.count),
    ):
        if value is not None and value < 1:
            raise ConfigError(f"actors.{name} is {value}: give at least 1")
    for arm in spec.arms:
        check_statuses(arm.tasks.retry_status)
    if actors.cpus <= 0:
        raise ConfigError(f"actors.cpus is {actors.cpus}: give a positive number")


def merge_run(folder: RunFolder, spec: RunSpec, plan: Plan, library: Library) -> Merged:
    """Merge the plan with the folder, and write nothing. Raises `RunError` if that holds another run."""
    if folder.record.exists():
        record = folder.read_record()
    elif folder.plan.exists() or (folder.journal.exists() and any(folder.journal.iterdir())):
        raise RunError(f"{folder.path} holds a run but no run.json: restore it, or choose another run name")
    else:
        record = {
            "schema_version": SCHEMA_VERSION,
            "name": spec.name,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "arms": {},
            "corpora": {},
        }
    record |= {"corpora": record["corpora"] | library.records, "versions": versions()}
    return merge(folder, plan, record)


def store_run(folder: RunFolder, spec: RunSpec, merged: Merged) -> None:
    """Write the plan that was merged; a new folder gets its `run.json`."""
    store(folder, merged)
    write_atomically(folder.config, OmegaConf.to_yaml(OmegaConf.create(dict(spec.config))).encode())


@contextmanager
def _serving(arm: ArmSpec, folder: RunFolder, number: int) -> Iterator[Endpoint]:
    logs = folder.logs / f"serving-{number}-{arm.backbone_name}"
    logs.mkdir(exist_ok=True)
    with locate(arm.serving._target_)(arm.serving, arm.backbone, logs.absolute()) as endpoint:
        yield endpoint


@contextmanager
def _terminable() -> Iterator[None]:
    """Treat SIGTERM (a stopped job) as Ctrl-C. After Ray's start, which sets a handler of its own."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _logged(folder: RunFolder) -> Iterator[None]:
    """Write the driver's log, failures of single episodes among it, to `logs/driver.log`."""
    logger = logging.getLogger("pipeline.runs")
    handler = logging.FileHandler(folder.logs / "driver.log")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger.addHandler(handler)
    propagate, logger.propagate = logger.propagate, False
    try:
        yield
    finally:
        logger.propagate = propagate
        logger.removeHandler(handler)
        handler.close()
