"""`serving=scripted`: a test server that replies what a script says, as a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.backbone.config import BackboneConfig
from pipeline.backbone.scripted.script import read
from pipeline.backbone.serving import Endpoint
from pipeline.backbone.serving.config import ScriptedConfig
from pipeline.backbone.serving.process import module_server


@contextmanager
def serve(serving: ScriptedConfig, backbone: BackboneConfig, log_dir: Path) -> Iterator[Endpoint]:
    """Serve `serving.script` and give the endpoint. Raises `ConfigError` for a script that can't be read."""
    script = Path(serving.script).expanduser().absolute()
    read(script)
    options, log = (f"--script={script}",), log_dir / "scripted.log"
    with module_server("pipeline.backbone.scripted", options, backbone, log, serving.startup_timeout) as it:
        yield it
