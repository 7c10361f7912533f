"""Who may ask the viewer, from where, and what a browser may do with the answer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from threads import apart

from equipoise.view.guard import BODY_BYTES, HEADERS, LONGEST, POLICY, Door, Guard, report_policy

TOKEN = "a-token-of-at-least-128-bits"


def scope(path: str = f"/{TOKEN}/index.html", method: str = "GET", **headers: str) -> dict[str, Any]:
    named = {"host": "127.0.0.1:8717", **{name.replace("_", "-"): value for name, value in headers.items()}}
    pairs = [(name.encode(), value.encode("latin-1")) for name, value in named.items() if value != "-"]
    return {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "headers": pairs}


def refused(**asked: Any) -> int:
    refusal = Door(TOKEN).refusal(scope(**asked))
    return refusal[0] if refusal else 0


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:1", "localhost:8717", "[::1]:8717", "192.168.1.4:80"])
def test_numbers_and_our_own_name_are_ours(host: str) -> None:
    assert refused(host=host) == 0


@pytest.mark.parametrize(
    "host",
    ["evil.test", "127.0.0.1.evil.test", "localhost.evil.test:8717", "", "-", "[::1", "a@b", "127.1.evil", "évil"],
)
def test_any_other_name_is_refused_even_if_it_leads_here(host: str) -> None:
    assert refused(host=host) == 421


def test_a_name_can_be_allowed() -> None:
    assert Door(TOKEN, {"viewer.lab"}).refusal(scope(host="viewer.lab:80")) is None


@pytest.mark.parametrize(
    "path", ["/", "/index.html", "//", "/wrong/", f"/{TOKEN[:-1]}/", f"/{TOKEN}x/", f"//{TOKEN}/", f"/x/{TOKEN}/", "é"]
)
def test_without_the_token_nothing_is_shown(path: str) -> None:
    assert refused(path=path) == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"])
def test_pages_are_only_read(method: str) -> None:
    assert refused(method=method) == 405


def test_sentences_may_be_sent_by_our_own_pages_only() -> None:
    ask = f"/{TOKEN}/ask.json"
    assert refused(path=ask, method="POST", origin="http://127.0.0.1:8717") == 0
    for origin in ("http://evil.test", "null", "http://127.0.0.1:9999", "https://127.0.0.1"):
        assert refused(path=ask, method="POST", origin=origin) == 403
    assert (
        refused(
            path=ask, method="POST", sec_fetch_site="cross-site", sec_fetch_mode="navigate", sec_fetch_dest="document"
        )
        == 403
    )


def test_a_shared_link_may_be_followed_but_not_embedded() -> None:
    foreign = {"sec_fetch_site": "cross-site"}
    assert refused(**foreign, sec_fetch_mode="navigate", sec_fetch_dest="document") == 0
    for mode, kind in (("navigate", "iframe"), ("no-cors", "script"), ("no-cors", "image"), ("cors", "empty")):
        assert refused(**foreign, sec_fetch_mode=mode, sec_fetch_dest=kind) == 403
    assert refused(sec_fetch_site="same-site") == 403, "another port of this machine is another site"


def test_an_address_of_any_length_is_not_read() -> None:
    assert refused(path=f"/{TOKEN}/" + "a" * LONGEST) == 414


async def _answer(app: Any, asked: dict[str, Any], body: bytes = b"") -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(asked, receive, send)
    return sent


def answered(asked: dict[str, Any], body: bytes = b"", headers: list[tuple[bytes, bytes]] | None = None) -> Any:
    seen: list[str] = []

    async def app(inner: Any, receive: Any, send: Any) -> None:
        seen.append(inner["path"])
        assert (await receive())["body"] == body
        await send({"type": "http.response.start", "status": 200, "headers": headers or []})
        await send({"type": "http.response.body", "body": b"shown"})

    # In a thread: the browser of other tests leaves a loop running in this one.
    return apart(lambda: asyncio.run(_answer(Guard(app, Door(TOKEN)), asked, body))), seen


def test_every_answer_has_all_headers_and_the_app_never_sees_the_token() -> None:
    for asked in (scope(), scope(path="/no/")):
        (start, _), seen = answered(asked)
        given = {name.decode(): value.decode() for name, value in start["headers"]}
        assert HEADERS.items() <= given.items() and given["content-security-policy"] == POLICY
        assert seen in ([], ["/index.html"])
    own = [(b"Content-Security-Policy", report_policy(["abc"]).encode())]
    (start, _), _ = answered(scope(), headers=own)
    policies = [value for name, value in start["headers"] if name == b"content-security-policy"]
    assert policies == [report_policy(["abc"]).encode()] and b"'sha256-abc'" in policies[0]


def test_what_is_too_large_is_not_kept_and_sockets_are_closed() -> None:
    ask = scope(path=f"/{TOKEN}/ask.json", method="POST")
    (start, _), seen = answered(ask, b"x" * (BODY_BYTES + 1))
    assert start["status"] == 413 and seen == []
    sent, seen = answered({**scope(), "type": "websocket"})
    assert sent == [{"type": "websocket.close", "code": 1008}] and seen == []
