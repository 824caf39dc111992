"""A program that is called as `vllm serve MODEL --host H --port P …` is, and serves a script, no model.

It binds its port as vLLM does, has a child of its own as vLLM's engine is, and says in its log who they are.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys

from aiohttp import web

from pipeline.backbone.scripted.script import Line, Script
from pipeline.backbone.scripted.server import application

METRICS = """# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0"} 1.0
vllm:num_requests_running{engine="1"} 2.0
# TYPE vllm:prefix_cache_queries counter
vllm:prefix_cache_queries_total{engine="0"} 640.0
# TYPE vllm:e2e_request_latency_seconds histogram
vllm:e2e_request_latency_seconds_bucket{le="+Inf"} 3.0
vllm:e2e_request_latency_seconds_count 3.0
vllm:e2e_request_latency_seconds_sum 0.5
"""


async def metrics(_: web.Request) -> web.Response:
    return web.Response(text=METRICS)


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("verb", choices=["serve"])
    parser.add_argument("model")
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", required=True, type=int)
    parser.add_argument("--fail", action="store_true")
    arguments, _ = parser.parse_known_args()
    if arguments.fail:
        sys.exit("no such flag")
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    print("pids", os.getpid(), child.pid, flush=True)
    print("environment", json.dumps(dict(os.environ)), flush=True)
    app = application(Script([Line(reply=f"from {arguments.port}")]))
    app.router.add_get("/metrics", metrics)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, arguments.host, arguments.port).start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
