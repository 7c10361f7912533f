"""The guard before the viewer: who may ask, from where, and what a browser may do with the answer. Plain ASGI."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from ..serving import STRICT, App, Gone, Message, Receive, Scope, Send, handing_on, refuse, whole_body

BODY_BYTES = 2**18
"""Size of what may be sent at most: a list of sentences."""

LONGEST = 8_000
"""Characters of an address at most: a comparison of a hundred runs."""

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; form-action 'self';"
    " base-uri 'none'; frame-ancestors 'none'"
)
"""What our own pages may do: nothing but our style sheet and script, and asking us."""

HEADERS = {**STRICT, "referrer-policy": "no-referrer", "cross-origin-resource-policy": "same-origin"}
POSTED = ("/ask.json", "/tokens.json", "/table.csv")
"""What may be posted to; everything else is only read."""


def report_policy(hashes: Sequence[str]) -> str:
    """Return what a run's page may do: run exactly our own scripts, whatever else is in it, and ask nobody."""
    scripts = " ".join(f"'sha256-{digest}'" for digest in hashes) or "'none'"
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {scripts}; base-uri 'none';"
        " form-action 'none'; frame-ancestors 'none'"
    )


@dataclass(frozen=True)
class Door:
    """Who may come in: those who know the `token`, under an address that is a number or one of these `names`."""

    token: str
    names: Collection[str] = ("localhost",)

    def refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Return the status and the reason why a request is refused; None where it is not."""
        headers: dict[bytes, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name, []).append(value.decode("latin-1"))
        hosts = headers.get(b"host", [])
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            return 421, "This address does not belong to the viewer."
        if len(scope.get("raw_path", b"")) + len(scope.get("query_string", b"")) > LONGEST:
            return 414, "The address is too long."
        first = str(scope["path"]).split("/")[1] if "/" in str(scope["path"]) else ""
        if not hmac.compare_digest(first.encode("utf-8", "replace"), self.token.encode()):
            return 403, "The viewer needs its token. Open the address that `equipoise view` printed."
        rest = str(scope["path"])[len(first) + 1 :]
        if scope["method"] not in ("GET", "HEAD") and not (scope["method"] == "POST" and rest in POSTED):
            return 405, "This cannot be done here."
        if _is_foreign(headers, hosts[0], scope["method"]):
            return 403, "Another site asked for this."
        return None

    def _is_ours(self, host: str) -> bool:
        """Return whether a host is a number or a name of ours: another name may have been bound to our number."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name in self.names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


def _is_foreign(headers: Mapping[bytes, Sequence[str]], host: str, method: str) -> bool:
    """Return whether a browser says that another site asks, other than by a link that somebody follows."""
    origins = headers.get(b"origin", [])
    if any(origin.partition("://")[2] != host for origin in origins):
        return True
    site = headers.get(b"sec-fetch-site", ["same-origin"])
    if site[0] in ("same-origin", "none") and len(site) == 1:
        return False
    followed = headers.get(b"sec-fetch-mode") == ["navigate"] and headers.get(b"sec-fetch-dest") == ["document"]
    return method != "GET" or not followed


class Guard:
    """An ASGI app around the viewer: refuses strangers and what is too large, and sets all headers."""

    def __init__(self, app: App, door: Door) -> None:
        self._app, self._door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def send_strictly(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _strict(message.get("headers", ()))
            await send(message)

        if refused := self._door.refusal(scope):
            await _refuse(send_strictly, *refused)
            return
        try:
            body = await whole_body(receive, BODY_BYTES)
        except Gone:
            return
        if body is None:
            await _refuse(send_strictly, 413, "This is too large.")
            return
        scope = {**scope, "path": str(scope["path"])[len(self._door.token) + 1 :] or "/"}
        await self._app(scope, handing_on(body, receive), send_strictly)


def _strict(given: Sequence[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the headers of an answer with ours; a page may have a policy of its own."""
    headers = [(name.lower(), value) for name, value in given]
    ours = {**HEADERS} if any(name == b"content-security-policy" for name, _ in headers) else {**HEADERS, **_PLAIN}
    return [*headers, *((name.encode(), value.encode()) for name, value in ours.items())]


_PLAIN = {"content-security-policy": POLICY}


async def _refuse(send: Send, status: int, text: str) -> None:
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Equipoise</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"></head>'
        f"<body><main><h1>{text}</h1></main></body></html>"
    )
    await refuse(send, status, page)
