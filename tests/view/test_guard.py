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


def reason(**asked: Any) -> tuple[int, str] | None:
    return Door(TOKEN).refusal(scope(**asked))


def test_every_refusal_says_what_is_wrong() -> None:
    assert reason(host="evil.test") == (421, "This address does not belong to the viewer.")
    assert reason(path=f"/{TOKEN}/" + "a" * LONGEST) == (414, "The address is too long.")
    token = "The viewer needs its token. Open the address that `equipoise view` printed."
    assert reason(path="/") == (403, token) == reason(path="")
    assert reason(method="PUT") == (405, "This cannot be done here.")
    assert reason(origin="http://evil.test") == (403, "Another site asked for this.")


def test_the_longest_address_is_read_with_its_question() -> None:
    start = f"/{TOKEN}/"
    asked = scope(path=start + "a" * (LONGEST - len(start) - 5))
    assert Door(TOKEN).refusal({**asked, "query_string": b"b" * 5}) is None
    assert Door(TOKEN).refusal({**asked, "query_string": b"b" * 6}) == (414, "The address is too long.")
    bare = {name: value for name, value in scope().items() if name != "raw_path"}
    assert Door(TOKEN).refusal(bare) is None


def test_what_is_posted_to_is_posted_to_and_nothing_else() -> None:
    for name in ("ask.json", "tokens.json", "table.csv"):
        assert refused(path=f"/{TOKEN}/{name}", method="POST") == 0
        assert refused(path=f"/{TOKEN}/{name}", method="PUT") == 405
        assert refused(path=f"/{TOKEN}/x/{name}", method="POST") == 405
    assert refused(method="HEAD") == 0


def test_a_name_is_told_once() -> None:
    twice = scope()
    twice["headers"] = [*twice["headers"], (b"host", b"127.0.0.1:8717")]
    assert Door(TOKEN).refusal(twice) is not None


def test_every_origin_and_every_site_that_is_told_counts() -> None:
    ours = scope(origin="http://127.0.0.1:8717", sec_fetch_site="same-origin")
    assert Door(TOKEN).refusal(ours) is None
    for name, value in ((b"origin", b"http://evil.test"), (b"sec-fetch-site", b"same-origin")):
        assert Door(TOKEN).refusal({**ours, "headers": [*ours["headers"], (name, value)]}) is not None
    assert refused(sec_fetch_site="none") == 0
    followed = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}
    assert refused(**followed, method="HEAD") == 403


def test_the_policy_of_a_page_names_its_scripts() -> None:
    rest = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    start = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src"
    assert report_policy(["a", "b"]) == f"{start} 'sha256-a' 'sha256-b'; {rest}"
    assert report_policy([]) == f"{start} 'none'; {rest}"


def test_what_is_just_small_enough_is_handed_on() -> None:
    ask = scope(path=f"/{TOKEN}/ask.json", method="POST")
    (start, body), seen = answered(ask, b"x" * BODY_BYTES)
    assert start["status"] == 200 and seen == ["/ask.json"] and body["body"] == b"shown"
    (start, body), seen = answered(ask, b"x" * (BODY_BYTES + 1))
    assert b"<h1>This is too large.</h1>" in body["body"]
    _, seen = answered(scope(path=f"/{TOKEN}"))
    assert seen == ["/"]


def test_a_refusal_is_a_page_of_its_own() -> None:
    (start, body), seen = answered(scope(path="/"))
    assert start["status"] == 403 and seen == []
    assert body["body"].decode().startswith('<!doctype html><html lang="en">') and b"needs its token" in body["body"]


def test_the_start_and_end_of_a_server_are_handed_on_and_one_who_is_gone_is_not_answered() -> None:
    seen: list[str] = []

    async def app(inner: Any, receive: Any, send: Any) -> None:
        seen.append(inner["type"])

    async def gone() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def ask(asked: dict[str, Any]) -> list[Any]:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        await Guard(app, Door(TOKEN))(asked, gone, send)
        return sent

    assert apart(lambda: asyncio.run(ask({"type": "lifespan"}))) == [] and seen == ["lifespan"]
    assert apart(lambda: asyncio.run(ask(scope()))) == [] and seen == ["lifespan"]


def test_the_first_thing_that_is_wrong_is_said() -> None:
    long = f"/{TOKEN}/" + "a" * LONGEST
    assert reason(host="evil.test", path=long) == (421, "This address does not belong to the viewer.")
    assert reason(path="/" + "a" * LONGEST) == (414, "The address is too long.")
    assert reason(method="PUT", origin="http://evil.test") == (405, "This cannot be done here.")
