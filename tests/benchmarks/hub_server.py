"""A server that plays the Hugging Face hub, as far as the hub's own library asks for a dataset's files."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

COMMIT = "c0ffee" + "0" * 34


class Hub(ThreadingHTTPServer):
    """Serves `files` as dataset `acme/bulletins` at one commit; `acme/gated` is gated, all else unknown."""

    daemon_threads = True

    def __init__(self, files: Mapping[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files = files
        self.asked: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def log_message(self, format: str, *args: object) -> None:
        pass

    def _answer(self, with_body: bool) -> None:
        path = unquote(urlsplit(self.path).path)
        self.server.asked.append(path)
        parts = path.removeprefix("/api").split("/", 4)  # "", datasets, OWNER, NAME and what is asked of it
        dataset, rest = "/".join(parts[2:4]), "/" + "".join(parts[4:])
        if dataset == "acme/gated":
            self._send(403, b"", {"X-Error-Code": "GatedRepo"})
        elif dataset != "acme/bulletins":
            self._send(401, b"", {"X-Error-Code": "RepoNotFound"})
        elif rest.startswith("/revision/"):
            self._revision(rest.removeprefix("/revision/"))
        elif rest.startswith(f"/tree/{COMMIT}"):
            self._send(200, json.dumps([_entry(*file) for file in self.server.files.items()]).encode())
        else:
            self._file(rest.removeprefix(f"/resolve/{COMMIT}/"), with_body)

    def _revision(self, revision: str) -> None:
        if revision not in ("main", "v1.1", COMMIT):
            self._send(404, b"", {"X-Error-Code": "RevisionNotFound"})
            return
        self._send(200, json.dumps({"id": "acme/bulletins", "sha": COMMIT, "siblings": []}).encode())

    def _file(self, name: str, with_body: bool) -> None:
        content = self.server.files[name]
        self._send(200, content, {"X-Repo-Commit": COMMIT, "ETag": f'"{_sha(content)}"'}, with_body)

    def _send(
        self, status: int, body: bytes, headers: Mapping[str, str] | None = None, with_body: bool = True
    ) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)


def _entry(name: str, content: bytes) -> dict[str, object]:
    return {"type": "file", "path": name, "size": len(content), "oid": _sha(content)}


def _sha(content: bytes) -> str:
    return hashlib.sha1(content).hexdigest()


@contextmanager
def serving(files: Mapping[str, bytes]) -> Iterator[Hub]:
    """Serve the files, from a thread, until the block ends."""
    with Hub(files) as hub:
        thread = threading.Thread(target=hub.serve_forever)
        thread.start()
        try:
            yield hub
        finally:
            hub.shutdown()
            thread.join()
