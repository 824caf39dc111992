"""A real vLLM on the CPU for the tests: a tiny model, started and ended with all its processes."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipeline.backbone.config import BackboneConfig
from pipeline.backbone.serving import Endpoint
from pipeline.backbone.serving.process import command_server
from tests.conftest import ROOT, missing

MODEL = "tiny"
STARTUP = 600.0  # seconds; the first start ever on a machine compiles, and a busy one is slow
HERE = Path(__file__).parent
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
    "PATH": os.environ.get("PATH", ""),
    "HOME": str(Path.home()),
}
FLAGS = (
    *("--load-format", "dummy", "--dtype", "float32", "--max-model-len", "32768", "--enforce-eager"),
    *("--served-model-name", MODEL, "--max-num-seqs", "64", "--max-num-batched-tokens", "32768"),
    # A seeded request whose prompt is prefilled in chunks kills this build's engine.
    "--no-enable-chunked-prefill",
    *("--block-size", "32", "--kv-cache-memory-bytes", "134217728", "--enable-prompt-tokens-details"),
    *("--enable-auto-tool-choice", "--tool-call-parser", "hermes"),
    *("--structured-outputs-config", '{"backend":"xgrammar","disable_any_whitespace":true}'),
)


def python() -> Path:
    """The interpreter of vLLM's environment; without it the test is skipped, or fails where all must run."""
    venv = ROOT / os.environ.get("LONGHARNESS_VLLM_VENV", ".venv-vllm")
    if not (venv / "vllm-cpu-lock.sha256").is_file():
        missing(f"vLLM for the CPU ({venv}); run jobs/vllm_cpu.sh")
    return venv / "bin" / "python"


def searching(folder: Path) -> dict[str, Any]:
    """Sampling that makes the model of `folder` choose `search` about every second turn.

    Of the operations that random weights choose, hardly another is ever valid: they guess no id.
    """
    vocabulary = json.loads((folder / "model" / "tokenizer.json").read_text(encoding="utf-8"))["model"][
        "vocab"
    ]
    starts = ("search"[:length] for length in range(1, len("search") + 1))
    return {"logit_bias": {str(vocabulary[start]): 3.0 for start in starts if start in vocabulary}}


@contextmanager
def vllm_server(folder: Path, texts: list[Path], backbone: BackboneConfig) -> Iterator[Endpoint]:
    """Make the model in `folder`, its vocabulary learnt from `texts`, and serve it."""
    interpreter, model = python(), folder / "model"
    making = (interpreter, HERE / "make_model.py", model, *texts)
    subprocess.run(making, check=True, env=ENVIRONMENT, capture_output=True)
    command = (str(interpreter), str(HERE / "launcher.py"), "serve", str(model), *FLAGS)
    with command_server(command, ENVIRONMENT, backbone, folder / "vllm.log", STARTUP) as endpoint:
        yield endpoint
