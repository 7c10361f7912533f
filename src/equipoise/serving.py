"""How an ASGI app is served over HTTP: until interrupted, or from a thread for as long as it is needed."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from .garbage import collect_as_usual

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

STRICT = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cross-origin-opener-policy": "same-origin",
}
"""Headers of every answer of ours, whoever serves it."""

HEAD_SECONDS = 15.0
"""Seconds a client has to send the head of a request."""


class Gone(Exception):
    """The client left before its request was complete; half a form is not an answer."""


class PatientProtocol(H11Protocol):
    """HTTP that closes a connection whose request head does not arrive in time."""

    def connection_made(self, transport: Any) -> None:
        """Start the clock."""
        super().connection_made(transport)
        self._deadline = asyncio.get_running_loop().call_later(HEAD_SECONDS, self._too_slow)

    def _too_slow(self) -> None:
        # A cycle exists once a whole head has arrived.
        if self.cycle is None and not self.transport.is_closing():
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._deadline.cancel()
        super().connection_lost(exc)


def _config(app: App, **more: Any) -> uvicorn.Config:
    # Proxies are believed by an app's own guard, and only those that are named.
    quiet: dict[str, Any] = {"log_level": "warning", "access_log": False, "server_header": False}
    return uvicorn.Config(app, http=PatientProtocol, proxy_headers=False, limit_concurrency=2000, **quiet, **more)


def serve(app: App, *, host: str, port: int) -> None:
    """Serve the app until interrupted."""
    collect_as_usual()
    uvicorn.Server(_config(app, host=host, port=port)).run()


def listening(host: str, port: int) -> socket.socket:
    """Return a socket at that address, of any free port where it is 0; OSError where the address is taken."""
    door = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind((host, port))
        # From now on nobody is turned away: who comes before the app is ready waits.
        door.listen(2048)
    except OSError:
        door.close()
        raise
    return door


def serve_at(door: socket.socket, app: App) -> None:
    """Serve the app at a socket until interrupted."""
    collect_as_usual()
    with door:
        uvicorn.Server(_config(app)).run(sockets=[door])


async def refuse(send: Send, status: int, page: str, *more: tuple[bytes, bytes]) -> None:
    """Answer with a page that says why there is no other, and close the connection."""
    headers = [(b"content-type", b"text/html; charset=utf-8"), (b"connection", b"close"), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": page.encode()})


async def whole_body(receive: Receive, most: int) -> bytes | None:
    """Return the whole body of a request, None once it has more bytes than that; Gone where the client leaves."""
    body: bytes = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        body += message.get("body", b"")
        if len(body) > most:
            return None
        if not message.get("more_body"):
            return body


def handing_on(body: bytes, receive: Receive) -> Receive:
    """Return a function that gives a body which was read already, then whatever else arrives."""
    waiting = [body]

    async def receive_whole() -> Message:
        if not waiting:
            return await receive()
        return {"type": "http.request", "body": waiting.pop(), "more_body": False}

    return receive_whole


@contextmanager
def serving(app: App) -> Iterator[str]:
    """Give the address of an app, served from a thread on a free port of this machine only."""
    door = listening("127.0.0.1", 0)
    server = uvicorn.Server(_config(app))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [door]}, daemon=True)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        yield f"http://127.0.0.1:{door.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(timeout=10)
        door.close()
