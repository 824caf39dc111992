"""The embedded model's own process: llama.cpp's server, on a free port of loopback.

python -I -m pipeline.backbone.serving.embedded_server --weights FILE --port 0
"""

from __future__ import annotations

import argparse
import json
import sys
from urllib.parse import urlsplit


def main() -> None:
    """Serve until standard input closes; print `{"port": N}` once the model is loaded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", required=True, help="a GGUF file")
    parser.add_argument("--alias", default="embedded", help="the model's name in replies")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--n-ctx", type=int, default=8_192, help="context window, in tokens")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()

    from xllamacpp import CommonParams, Server  # an optional dependency, and slow to load

    params = CommonParams()
    params.model.path = arguments.weights
    params.model_alias = {arguments.alias}
    params.hostnames = ["127.0.0.1"]
    params.port = arguments.port
    params.n_ctx = arguments.n_ctx
    params.n_parallel = 1  # more would split the context window among them
    params.cpuparams.n_threads = arguments.threads
    params.cpuparams_batch.n_threads = arguments.threads
    params.n_gpu_layers = 0
    params.use_jinja = True
    params.endpoint_metrics = True
    params.ui = False
    params.offline = True
    server = Server(params)  # kept: it stops when it is collected
    print(json.dumps({"port": urlsplit(server.listening_address).port}), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
