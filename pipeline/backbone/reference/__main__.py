"""`python -m pipeline.backbone.reference --port 0`: serve the policy until standard input closes."""

from __future__ import annotations

import argparse
import asyncio

from pipeline.backbone.reference.server import serve


def main() -> None:
    """Parse the command line and serve."""
    parser = argparse.ArgumentParser(prog="reference", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: loopback)")
    parser.add_argument("--port", type=int, default=0, help="port to listen on; 0 takes a free one")
    arguments = parser.parse_args()
    asyncio.run(serve(arguments.host, arguments.port))


if __name__ == "__main__":
    main()
