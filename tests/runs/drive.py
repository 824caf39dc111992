"""A driver as a process of its own: `python -m tests.runs.drive ROOT DOCUMENTS URL`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pipeline.runs.run import run
from tests.runs.sample import arm, spec

if __name__ == "__main__":
    root, documents, url = sys.argv[1:]
    result = run(spec(Path(root), [arm("a", Path(documents), url)]))
    print(json.dumps({"finished": result.finished, "owed": result.owed, "stopped": result.stopped}))
    sys.exit(0 if result.complete else 1)
