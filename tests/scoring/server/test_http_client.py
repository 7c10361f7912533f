"""One client for `audit` and `build generate`: the same keys, addresses, redirects, retries, limits and error texts."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from server_loopback import Loopback
from threads import apart

from equipoise.cli import app
from equipoise.cli.errors import in_options
from equipoise.records import EquipoiseError, ModelError
from equipoise.scoring.server.http_client import Client, Limits, OutOfBudget

SECRET = "sk-very-secret"
QUOTA = {"error": {"code": "insufficient_quota", "message": "no credit"}}

Ended = tuple[int, str]
"""The status with which a command ended, and all that it printed."""


def audit(address: str, folder: Path) -> list[str]:
    return ["audit", "toy", "--server", address, "--task", "mcq", "--limit", "2", "--out", str(folder)]


def generate(address: str, folder: Path) -> list[str]:
    drafts = ["--samples", "1", "--pairs", "1", "--concurrency", "1", "--yes"]
    return ["build", "generate", str(folder), "--server", address, "--model", "toy", *drafts]


@pytest.fixture(params=[audit, generate], ids=["audit", "build generate"])
def command(request: pytest.FixtureRequest, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """Return a function that runs one of the two commands against an address."""

    def run(address: str, *more: str) -> Ended:
        words = [*request.param(address, tmp_path / "out"), "--quiet", *more]
        try:
            apart(lambda: app(words, standalone_mode=False))
        except EquipoiseError as error:
            return 2, "".join(capfd.readouterr()) + f"equipoise: {in_options(error)}"
        return 0, "".join(capfd.readouterr())

    return run


def keys_seen(server: Loopback) -> set[str]:
    return {value for headers in server.headers for name, value in headers.items() if name.lower() == "authorization"}


@pytest.mark.parametrize(
    ("set_keys", "sent"),
    [
        ({"EQUIPOISE_API_KEY": "ours", "OPENAI_API_KEY": "theirs"}, {"Bearer ours"}),
        ({"EQUIPOISE_API_KEY": "", "OPENAI_API_KEY": "theirs"}, {"Bearer theirs"}),
        ({}, set()),
    ],
)
def test_the_same_key_wins(
    command: Any, server: Loopback, set_keys: dict[str, str], sent: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in set_keys.items():
        monkeypatch.setenv(name, value)
    code, printed = command(server.url)
    assert code == 0, printed
    assert keys_seen(server) == sent


@pytest.mark.parametrize("password", ["user:pass%2Fword@", "token@"])
def test_a_password_in_the_address_is_refused_and_not_printed(command: Any, server: Loopback, password: str) -> None:
    code, printed = command(server.url.replace("//", f"//{password}"))
    assert code == 2 and "must not hold a password; set EQUIPOISE_API_KEY in the environment instead" in printed
    assert password[:-1] not in printed and not server.bodies


@pytest.mark.parametrize(
    "address", ["localhost:8000", "ftp://host/v1", "http://", "http://host:port/v1", "file:///etc/passwd"]
)
def test_what_is_no_address_is_refused(command: Any, address: str) -> None:
    code, printed = command(address)
    assert code == 2 and "server must be an http address such as http://127.0.0.1:8000/v1" in printed


FOR_GOOD = {
    "wrong key": (401, {"error": {"message": f"no such key: {SECRET}"}}, {}, "HTTP 401: no such key: …"),
    "text in place of JSON": (403, f"<p>not\n{SECRET}</p>", {}, "HTTP 403: <p>not …</p>"),
    "unknown address": (404, {"error": "no such path"}, {}, "HTTP 404: no such path"),
    "no credit": (429, QUOTA, {}, "HTTP 429: no credit"),
    "redirect": (
        *(307, "", {"location": "http://me:word@127.0.0.1:9/v1?token=1"}),
        "HTTP 307: it redirects to 'http://127.0.0.1:9/v1', which is not followed",
    ),
}


@pytest.mark.parametrize("name", FOR_GOOD)
def test_what_fails_for_good_is_asked_once_and_said_in_the_same_words(
    command: Any, server: Loopback, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    *answer, sentence = FOR_GOOD[name]
    server.script = [tuple(answer)] * 9  # type: ignore[list-item]
    code, printed = command(server.url)
    assert code == 2 and len(server.bodies) == 1
    assert re.search(rf"equipoise: {re.escape(server.url)}/[a-z/]+ answers {re.escape(sentence)}", printed), printed
    assert SECRET not in printed and "word" not in printed


PASSES = {
    "busy": [(503, "", {}), (500, "oops", {}), (529, "", {})],
    "rate limit, more often than there are attempts": [(429, "slow down", {})] * 9,
    "asks for a moment": [(503, "", {"retry-after": "0.05"})],
    "asks for a moment, as a date": [(429, "", {"retry-after": formatdate(time.time() - 5, usegmt=True)})],
    "not JSON": [(200, "<html>Welcome</html>", {})],
    "no object": [(200, [1, 2], {})],
    "cut off": [(0, {"choices": []}, {})],
}


@pytest.mark.parametrize("name", PASSES)
def test_what_may_pass_is_asked_again(command: Any, server: Loopback, name: str) -> None:
    server.script = list(PASSES[name])
    code, printed = command(server.url)
    assert code == 0, printed
    assert not server.script


LASTS = {
    "500 for ever": ([(500, {"error": {"message": "oops"}}, {})] * 99, "failed 6 times: HTTP 500: oops"),
    "never JSON": ([(200, "<html>", {})] * 99, "failed 6 times: its answer is not JSON"),
    "a wait that is too long": (
        [(429, "later", {"retry-after": "99999"})] * 9,
        "answers HTTP 429: later; waiting would take more than the budget of 3600 s",
    ),
}


@pytest.mark.parametrize("name", LASTS)
def test_what_lasts_is_given_up_in_the_same_words(command: Any, server: Loopback, name: str) -> None:
    server.script, sentence = list(LASTS[name][0]), LASTS[name][1]
    code, printed = command(server.url)
    assert code == 2
    assert re.search(rf"{re.escape(server.url)}/[a-z/]+ {re.escape(sentence)}", printed), printed


@pytest.mark.slow
def test_slow_bytes_run_into_the_total_time_limit(command: Any, server: Loopback) -> None:
    server.script = [(1, {"choices": []}, {})] * 99
    code, printed = command(server.url, "--timeout", "0.3")
    assert code == 2 and "failed 6 times: no complete answer within 0.3 s" in printed


@pytest.mark.slow
def test_a_server_that_does_not_listen(command: Any) -> None:
    code, printed = command("http://127.0.0.1:9/v1")
    assert code == 2 and "failed 6 times: ConnectError" in printed


def test_a_variable_of_the_user_s_own_is_the_only_one_that_is_read(
    server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EQUIPOISE_API_KEY", "ours")
    with pytest.raises(ModelError, match="the environment variable MY_KEY, named for the key, is not set"):
        Client(server.url, key_variable="MY_KEY")
    monkeypatch.setenv("MY_KEY", " mine\n")

    async def ask() -> None:
        async with Client(server.url, key_variable="MY_KEY") as client:
            await client.get(f"{client.url}/models")

    apart(lambda: asyncio.run(ask()))
    assert keys_seen(server) == {"Bearer mine"}


def test_a_rate_limit_spaces_requests_and_a_busy_server_holds_all_back(server: Loopback) -> None:
    now, waits = [0.0], []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        now[0] += seconds

    def client(**limits: Any) -> Client:
        return Client(server.url, Limits(**limits), sleep=sleep, clock=lambda: now[0])

    async def ask(asked: Client, times: int) -> None:
        async with asked:
            for _ in range(times):
                await asked.get(f"{asked.url}/models")

    apart(lambda: asyncio.run(ask(client(requests_per_minute=30), 4)))
    assert waits == [2.0, 2.0, 2.0]
    waits.clear()
    server.script = [(503, "", {"retry-after": "7"})]
    apart(lambda: asyncio.run(ask(client(), 2)))
    assert waits == [7.0]
    server.script = [(429, "", {"retry-after": "7"})] * 3
    with pytest.raises(OutOfBudget, match="more than the budget of 20 s"):
        apart(lambda: asyncio.run(ask(client(wait_budget=20), 1)))
