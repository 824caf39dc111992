"""Plant episodes whose truth is known in a LedgerQA dataset, to calibrate a judge with: a run folder.

examples:
  longharness ledgerqa data/ledgerqa
  longharness plant data/ledgerqa outputs/planted
  longharness plant data/ledgerqa outputs/planted --faults unread,stale --arms longharness,notes+tools,codex
  longharness score outputs/planted

An episode is right, or has one fault: unread (another table's figure is used, the right one never read),
stale (a figure is used that was revised), arithmetic, or form (unit, sign or decimals). planted.parquet in
the run's folder says which, and if evidence, editing and transformation (E1, E2, E3) are right. An arm is a
variant of the harness, with its action mode if that is not json_schema: its episodes are those of a run,
which `longharness score` scores. Or it is another agent's transcript form: files that nothing scores.
"""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.cli.arguments import add_json, print_json
from pipeline.errors import BenchmarkError, UnusableInput

if TYPE_CHECKING:
    from pipeline.runs.planting import PlantedRun
    from pipeline.runs.spec import RunSpec

VARIANTS = ("longharness", "no_state", "no_coevolution", "append_only", "no_guidance", "notes")
FORMS = ("direct", "rlm", "codex", "claude_code")
MODES = ("tools", "text")
ARMS = (*VARIANTS, "longharness+tools", "longharness+text", *FORMS)


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("dataset", type=Path, help="a folder that `longharness ledgerqa` wrote")
    parser.add_argument("run", type=Path, help="the run's folder; must not exist or be empty")
    arms = f"of {', '.join(VARIANTS)} (each also with +tools or +text), {', '.join(FORMS)}"
    parser.add_argument("--arms", default=",".join(ARMS), help=f"{arms}; default: {','.join(ARMS)}")
    parser.add_argument("--faults", help="of right, unread, stale, arithmetic, form; default: all")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N questions")
    parser.add_argument("--seed", type=int, default=0, help="which course and words are drawn (0)")
    add_json(parser)


def run(arguments: Namespace) -> int:
    """Plant, and say what was planted and what could not be."""
    from pipeline.benchmarks.ledgerqa.dataset import MANIFEST
    from pipeline.benchmarks.ledgerqa.planted import Fault

    if not (arguments.dataset / MANIFEST).is_file():
        made = str(unused(arguments.dataset))
        commands = (["ledgerqa", made], ["plant", made, str(arguments.run)])
        advice = ", then ".join(f"`{shlex.join(['longharness', *words])}`" for words in commands)
        raise BenchmarkError(
            f"{arguments.dataset} is no LedgerQA dataset (it has no {MANIFEST}): make one with {advice}"
        )
    faults = chosen("--faults", arguments.faults, [fault.value for fault in Fault])
    named = chosen("--arms", arguments.arms, (*ARMS, *(f"{v}+{m}" for v in VARIANTS for m in MODES)))
    forms = [name for name in named if name in FORMS]
    arms = [name for name in named if name not in FORMS]

    from pipeline.runs.planting import write

    spec, wanted = run_spec(arguments, arms), [Fault(name) for name in faults]
    show(write(spec, arguments.dataset, arguments.seed, arms, forms, wanted), arguments)
    return 0


def unused(folder: Path) -> Path:
    """Return `folder` if a dataset can be made there, else another one where it can."""
    others = (Path(f"data/ledgerqa-{number}") for number in count(2))
    return next(
        path
        for path in chain((folder, Path("data/ledgerqa")), others)
        if not path.exists() or (path.is_dir() and not any(path.iterdir()))
    )


def chosen(option: str, given: str | None, known: Sequence[str]) -> list[str]:
    """Read a list separated by commas. Raises `UnusableInput` for an unknown name, and for none."""
    names = list(known) if given is None else list(dict.fromkeys(filter(None, given.split(","))))
    for name in names:
        if name not in known:
            from difflib import get_close_matches

            close = get_close_matches(name, known, n=1, cutoff=0.0)[0]
            raise UnusableInput(f"{option}: there is no {name!r}; the nearest is {close!r}")
    if not names:
        raise UnusableInput(f"{option}: name at least one of {', '.join(known)}")
    return names


def run_spec(arguments: Namespace, arms: Sequence[str]) -> RunSpec:
    """The run over the dataset. Without an arm of the harness, its plan is empty but for the tasks."""
    from pipeline.backbone.config import BackboneConfig
    from pipeline.config import resolve
    from pipeline.harness.config import ActionMode

    variants = list(dict.fromkeys(name.partition("+")[0] for name in arms)) or ["longharness"]
    limit = [] if arguments.limit is None else [f"tasks.limit={arguments.limit}"]
    overrides = ["benchmark=ledgerqa", "backbone=reference", f"harness=[{','.join(variants)}]", *limit]
    composed = resolve(overrides)
    bases = dict(zip(variants, composed.arms, strict=True))
    backbone = BackboneConfig("scripted", "scripted", language_model=False)
    specs = []
    for name in arms or variants:
        variant, _, mode = name.partition("+")
        base = bases[variant]
        action = replace(base.harness.action, mode=ActionMode(mode or "json_schema"))
        specs.append(
            replace(
                base,
                name=name,
                harness=replace(base.harness, action=action),
                backbone=backbone,
                backbone_name="scripted",
                benchmark=replace(base.benchmark, folder=str(arguments.dataset)),
            )
        )
    config: dict[str, Any] = {
        "planted": {"dataset": str(arguments.dataset), "arms": list(arms), "seed": arguments.seed}
    }
    run = arguments.run
    return replace(composed, name=run.name, root=run.parent, arms=tuple(specs), config=config)


def show(planted: PlantedRun, arguments: Namespace) -> None:
    """Print counts: by arm and fault, what was skipped, and which are a run's episodes, which transcripts."""
    counts = [
        {"arm": arm, "fault": fault, "episodes": n, "scored": arm not in FORMS}
        for (arm, fault), n in planted.episodes.items()
    ]
    skipped = [{"fault": f, "reason": why, "questions": n} for (f, why), n in planted.skipped.items()]
    if arguments.json:
        print_json({"run": str(planted.folder), "planted": counts, "skipped": skipped})
        return
    print(f"{planted.folder}: {sum(planted.episodes.values()):,} episodes planted")
    arms = len({arm for arm, _ in planted.episodes})
    for fault in dict.fromkeys(fault for _, fault in planted.episodes):
        total = sum(n for (_, f), n in planted.episodes.items() if f == fault)
        print(f"  {fault}: {total // max(arms, 1):,} questions in {arms} arms")
    for row in skipped:
        print(f"  no {row['fault']} for {row['questions']:,} questions: {row['reason']}")
    for line in kinds(planted):
        print(line)


def kinds(planted: PlantedRun) -> Iterator[str]:
    """Yield which of what was planted are episodes of the run, and which are transcripts."""
    from pipeline.runs.folder import RunFolder

    for scored, what in (
        (True, f"episodes of the run: longharness score {planted.folder}"),
        (False, f"transcripts, which nothing scores: {RunFolder(planted.folder).transcripts}"),
    ):
        counts = {key: n for key, n in planted.episodes.items() if (key[0] not in FORMS) == scored}
        if counts:
            arms = dict.fromkeys(arm for arm, _ in counts)
            yield f"{sum(counts.values()):,} in {len(arms)} arms ({', '.join(arms)}) are {what}"
