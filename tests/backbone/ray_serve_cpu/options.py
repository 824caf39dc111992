"""The options `backbone=tiny` and `serving=tiny`, as a user would write them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from omegaconf import OmegaConf

from pipeline.backbone.serving.config import RayServeConfig
from tests.backbone.vllm_cpu.server import FLAGS, MODEL, STARTUP, VARIABLES, python, searching


def options(folder: Path, model: Path) -> Path:
    """Write them into `folder`, for `--config-dir`."""
    backbone = {
        "defaults": ["custom", "_self_"],
        "name": "tiny",
        "model": MODEL,
        "max_tokens": 1_024,
        "sampling": {"temperature": 1.0, "extra": searching(model)},
        "server": {"weights": str(model), "tool_call_parser": "hermes"},
        "traffic": {"metrics_interval": 1.0},
    }
    serving = RayServeConfig(
        python=str(python()),
        gpus=0,
        cpus=0.1,
        max_model_len=32_768,
        flags=dict(FLAGS),
        # The hook has every worker import what one of them needs.
        env=VARIABLES | {"RAYLLM_ENABLE_WORKER_PROCESS_SETUP_HOOK": "0"},
        startup_timeout=STARTUP,
    )
    for group, option in (
        ("backbone", backbone),
        ("serving", {"defaults": ["ray_serve", "_self_"], **asdict(serving)}),
    ):
        (folder / group).mkdir(parents=True)
        OmegaConf.save(OmegaConf.create(option), folder / group / "tiny.yaml")
    return folder
