"""A proxy on the loopback device that counts what goes to a real server, and acts when a count is reached."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import Any

from server_loopback import Listening

COMPLETIONS = "/v1/completions"


class Proxy(Listening):
    """Passes requests on to `port`, but answers 404 for the paths in `hidden`.

    With `act(n, action)` the action comes before the n-th completion is passed on.
    """

    def __init__(self, port: int, *hidden: str) -> None:
        self.port, self.hidden = port, hidden
        self.bodies: list[tuple[str, dict[str, Any]]] = []
        self.lines: set[object] = set()
        """The connections that are open."""
        self._countdown: tuple[int, Callable[[], None]] | None = None
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"proxy": self})
        super().__init__(handler)

    def act(self, requests: int, action: Callable[[], None]) -> None:
        self._countdown = requests, action

    def count(self, path: str, body: dict[str, Any]) -> None:
        # The lock is held while the action runs: what comes after it finds its effect.
        with self._lock:
            self.bodies.append((path, body))
            if path != COMPLETIONS or self._countdown is None:
                return
            left, action = self._countdown
            self._countdown = (left - 1, action) if left > 1 else None
            if left == 1:
                action()


class _Handler(BaseHTTPRequestHandler):
    proxy: Proxy
    protocol_version = "HTTP/1.1"
    wbufsize = 2**16

    def setup(self) -> None:
        super().setup()
        self.proxy.lines.add(self)

    def finish(self) -> None:
        with suppress(OSError):
            super().finish()
        self.proxy.lines.discard(self)

    def do_GET(self) -> None:
        self.forward(b"")

    def do_POST(self) -> None:
        self.forward(self.rfile.read(int(self.headers["content-length"])))

    def forward(self, content: bytes) -> None:
        self.proxy.count(self.path, json.loads(content or b"{}"))
        if self.path in self.proxy.hidden:
            self.send_error(404)
            return
        line = http.client.HTTPConnection("127.0.0.1", self.proxy.port, timeout=120)
        try:
            line.request(self.command, self.path, content, {"content-type": "application/json"})
            answer = line.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):  # the server is dead: its client sees the connection cut
            self.close_connection = True
            return
        finally:
            line.close()
        with suppress(OSError):  # the client is dead
            self.send_response(answer.status)
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)
            self.wfile.flush()

    def log_message(self, *_: Any) -> None:
        pass
