"""The table `serving`: what a run's servers say of themselves, taken down while it runs."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from uuid import uuid4

from pipeline.backbone.serving import Endpoint
from pipeline.backbone.serving.metrics import Sample, take
from pipeline.runs import tables

log = logging.getLogger(__name__)

FLUSH = 300.0
"""Seconds between two parts of the table: what a driver that is killed may lose."""


@contextmanager
def recorded(folder: Path, endpoint: Endpoint, interval: float) -> Iterator[None]:
    """Take down the metrics of `endpoint` every `interval` seconds, and once more at the end.

    A replica that doesn't answer leaves a gap. Nothing happens for an endpoint that offers no metrics.
    """
    if not endpoint.metrics:
        yield
        return
    stop = threading.Event()
    thread = threading.Thread(target=_record, args=(folder, endpoint.metrics, interval, stop), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _record(folder: Path, pages: tuple[str, ...], interval: float, stop: threading.Event) -> None:
    samples: list[Sample] = []
    flushed, going = time.monotonic(), True
    while going:
        going = not stop.wait(interval)
        for page in pages:
            try:
                samples += take(page)
            except (OSError, ValueError) as error:
                log.info("%s: no metrics: %s", page, error)
        if not going or time.monotonic() - flushed > FLUSH:
            _write(folder, samples)
            samples, flushed = [], time.monotonic()


def _write(folder: Path, samples: list[Sample]) -> None:
    """Add a part to the table, whole or not at all; metrics that can't be written don't end a run."""
    if not samples:
        return
    try:
        part = tables.write_part(folder, "serving", [asdict(sample) for sample in samples])
        tables.commit(folder, f"serving-{uuid4().hex}", {"serving": part})
    except OSError as error:
        log.warning("%d metrics of the servers were not written: %s", len(samples), error)
