"""`servers` of `run.json`: what the servers of a run's episodes said of themselves."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pipeline.backbone.serving import Endpoint
from pipeline.backbone.serving.about import about_servers
from pipeline.runs.folder import RunFolder, write_json
from pipeline.runs.freeze import plain
from pipeline.runs.spec import ArmSpec


def record_servers(folder: RunFolder, arm: ArmSpec, endpoint: Endpoint) -> None:
    """Ask the servers at `endpoint` what they are, and add it to the run's record, unless it is there.

    With each stands how it was to be served: options and flags of those that the run started itself. Only
    for whoever holds the run's lease.
    """
    record = folder.read_record()
    entry = {
        "backbone": arm.backbone_name,
        "model": endpoint.model,
        "serving": plain(arm.serving),
        "server": plain(arm.backbone.server),
        "replicas": about_servers(endpoint, arm.backbone.client),
    }
    known: list[dict[str, Any]] = record.get("servers", [])
    if not any({**other, "since": None} == {**entry, "since": None} for other in known):
        since = datetime.now(UTC).isoformat(timespec="seconds")
        write_json(folder.record, {**record, "servers": [*known, {**entry, "since": since}]})
