"""A server on loopback that answers as a test tells it, right or wrong, and remembers what it was asked."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "org/parrot"


@dataclass(frozen=True)
class Reply:
    """What goes over the wire: ``length`` is what the header promises, None the truth; ``closed``: nothing at all."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    length: int | None = None
    closed: bool = False
    seconds: float = 0.0


def right(text: str, finish: str = "stop", **message: str) -> Reply:
    """Return a whole answer of the chat API, which bears the text of the completions API as well."""
    choice = {"index": 0, "finish_reason": finish, "text": text, "message": {"content": text, **message}}
    usage = {"prompt_tokens": 11, "completion_tokens": 3}
    return Reply(body=json.dumps({"choices": [choice], "usage": usage}).encode())


def refusal(status: int, message: str, code: str | None = None, **headers: str) -> Reply:
    return Reply(status, json.dumps({"error": {"message": message, "code": code}}).encode(), headers)


FAULTS = {
    "busy": refusal(429, "slow down", **{"Retry-After": "0"}),
    "broken": Reply(500, b"<html>oops</html>", {"Content-Type": "text/html"}),
    "garbage": Reply(body=b"{]"),
    "page": Reply(body=b"<html>", headers={"Content-Type": "text/html"}),
    "no choice": Reply(body=b'{"choices": null}'),
    "odd choice": Reply(body=b'{"choices": ["x"]}'),
    "filtered": right("def", finish="content_filter"),
    "unended": right("def", finish=None),
    "empty": right(" \n"),
    "cut": Reply(body=b'{"choices": [{"index": 0, "mess', length=500),
    "nothing": Reply(closed=True),
    "silence": Reply(closed=True, seconds=1.5),
}
Answer = Callable[[dict[str, Any], int], Reply]


class Loopback:
    """The running server: its address, and how often it was asked what (by the request's body as sorted JSON)."""

    def __init__(self, answer: Answer) -> None:
        self.asked: Counter[str] = Counter()
        self.keys: set[str | None] = set()
        self.running = self.most_running = 0
        self.lock = threading.Lock()
        self.answer = answer
        self.models = [{"id": MODEL, "root": "/weights/parrot"}]
        handler = type("Handler", (_Handler,), {"loopback": self})
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"

    def respond(self, path: str, key: str | None, body: dict[str, Any]) -> Reply:
        if path == "/v1/models":
            return Reply(body=json.dumps({"object": "list", "data": self.models}).encode())
        name = json.dumps(body, sort_keys=True)
        with self.lock:
            before = self.asked[name]
            self.asked[name] += 1
            self.keys.add(key)
            self.running += 1
            self.most_running = max(self.running, self.most_running)
        try:
            reply = self.answer(body, before)
            time.sleep(reply.seconds)
            return reply
        finally:
            with self.lock:
                self.running -= 1


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Two small writes would wait for each other's acknowledgement, 40 ms a request.
    wbufsize = -1
    disable_nagle_algorithm = True
    loopback: Loopback

    def do_GET(self) -> None:
        self._reply(self.loopback.respond(self.path, self.headers.get("Authorization"), {}))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._reply(self.loopback.respond(self.path, self.headers.get("Authorization"), body))

    def _reply(self, reply: Reply) -> None:
        if reply.closed or reply.length is not None:
            self.close_connection = True
        if reply.closed:
            return
        self.send_response(reply.status)
        for name, value in {"Content-Type": "application/json", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(reply.length or len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(answer: Answer) -> Iterator[Loopback]:
    """Run a server for the length of a test. ``answer``: the reply to a body that was asked so often before."""
    loopback = Loopback(answer)
    threading.Thread(target=loopback.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield loopback
    finally:
        loopback.http.shutdown()
        loopback.http.server_close()
