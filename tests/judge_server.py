"""A scripted judge behind a chat completions API, over a real socket.

    python -m tests.judge_server [--port N] [--verdict CORRECT|INCORRECT|TEXT]

prints `{"port": N}` and serves until it is stopped. By default it compares the two answers of the `equality`
prompt: CORRECT, if they are equal but for case and white space.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress

from aiohttp import web

from tests.backbone.faults import FaultyServer, Step, completion, faulty

_ANSWERS = re.compile(
    r"<(?P<which>official|candidate)_answer (?P<mark>\w+)>\n(?P<text>.*?)\n</(?P=which)_answer (?P=mark)>",
    re.DOTALL,
)


async def compare(request: web.Request) -> web.StreamResponse:
    """Reply CORRECT if the candidate's answer is the official one, else INCORRECT."""
    prompt = (await request.json())["messages"][-1]["content"]
    texts = {
        found["which"]: " ".join(found["text"].split()).casefold() for found in _ANSWERS.finditer(prompt)
    }
    return await completion("CORRECT" if texts["official"] == texts["candidate"] else "INCORRECT")(request)


@contextmanager
def judge_server(*steps: Step) -> Iterator[FaultyServer]:
    """Serve from a thread of its own: `steps`, one a request, and then a judge that compares for ever."""
    started: Future[tuple[FaultyServer, asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def serve() -> None:
        over = asyncio.Event()
        async with faulty(*steps, compare) as server:
            started.set_result((server, asyncio.get_running_loop(), over))
            await over.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="judge")
    thread.start()
    server, loop, over = started.result(timeout=30)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()


async def _serve(port: int, verdict: str | None) -> None:
    server = FaultyServer(completion(verdict) if verdict else compare)
    app = web.Application(client_max_size=2**26)
    app.router.add_post("/v1/chat/completions", server.reply)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    print(json.dumps({"port": runner.addresses[0][1]}), flush=True)
    try:
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--verdict", help="reply this, whatever is asked")
    options = parser.parse_args()
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(options.port, options.verdict))


if __name__ == "__main__":
    main()
