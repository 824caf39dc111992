"""python -m pipeline.backbone.scripted --script FILE [--port N]"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from pipeline.backbone.scripted.script import read
from pipeline.backbone.scripted.server import serve
from pipeline.errors import ConfigError


def main() -> None:
    """Serve the script on loopback until standard input closes; exit with 2 if it can't be read."""
    parser = argparse.ArgumentParser(description="Serve scripted replies over three APIs.")
    parser.add_argument("--script", required=True, type=Path, help="JSON Lines, one reply a turn")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one; it is printed")
    arguments = parser.parse_args()
    try:
        script = read(arguments.script)
    except ConfigError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    asyncio.run(serve(script, arguments.host, arguments.port))


if __name__ == "__main__":
    main()
