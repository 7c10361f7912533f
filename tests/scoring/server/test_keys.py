"""A key is sent, and shown nowhere."""

from __future__ import annotations

import copy
import html
import pickle
import traceback
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from server_loopback import Loopback
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.records import ModelError
from equipoise.scoring.server.http_client import Client
from equipoise.scoring.server.keys import Key

SECRET = "sk-a/very\\secret+key"


def sent(key: Key) -> str | None:
    header: str | None = key(httpx.Request("GET", "http://127.0.0.1/")).headers.get("authorization")
    return header


def test_a_key_is_sent_and_no_one_else_can_see_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIPOISE_API_KEY", f" {SECRET}\n")
    key = Key.from_environment()
    assert sent(key) == f"Bearer {SECRET}" and sent(Key()) is None
    shown = [repr(key), str(key), f"{key!s}", repr([key]), repr(vars(Client("http://127.0.0.1/v1")))]
    assert not any(SECRET in text for text in shown)
    for store in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="a key is not stored"):
            store(key)


def test_a_key_is_taken_out_of_what_a_server_says_in_every_spelling() -> None:
    key = Key(SECRET)
    spellings = [SECRET, SECRET.replace("\\", "\\\\"), SECRET.replace("/", "\\/"), "sk-a/very%5Csecret%2Bkey"]
    spellings += [quote(SECRET, safe=""), quote(SECRET).lower(), SECRET.replace("+", "\\u002B").replace("\\s", "\\\\s")]
    spellings += ["".join(f"&#x{ord(c):X};" if c in "/+\\" else c for c in SECRET)]
    for text in spellings:
        assert key.hidden(f"no such key: {text}.") == "no such key: …."
    assert Key("sk-a&b<'c'").hidden(html.escape("bad: sk-a&b<'c'")) == "bad: …"
    assert Key("EMPTY").hidden('{"token": "EMPTY"}') == '{"token": "EMPTY"}', "a placeholder is no secret"
    assert Key("EMPTY").hidden("bad key EMPTY", shortest=1) == "bad key …"
    assert Key().hidden("abc", shortest=0) == "abc"


@pytest.mark.parametrize("text", ["sk-schlüssel", "sk-two words", "sk-\x00zero", "sk-line\nbreak", "sk-“quoted”"])
def test_a_key_that_no_header_can_carry_is_refused_before_the_first_request(
    text: str, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "\x00" in text:
        monkeypatch.setattr("os.environ", {"EQUIPOISE_API_KEY": text})
    else:
        monkeypatch.setenv("EQUIPOISE_API_KEY", text)
    with pytest.raises(ModelError, match="the key in EQUIPOISE_API_KEY holds a space or a character") as caught:
        Client(server.url)
    trace = "".join(traceback.format_exception(caught.value))
    assert text not in trace and not server.bodies


@pytest.mark.parametrize("query", ["?api_key=sk-in-address", "/?token=sk-in-address#x", "#sk-in-address"])
def test_an_address_that_may_hold_a_key_is_refused_and_not_repeated(query: str, tmp_path: Path) -> None:
    words = ["audit", "toy", "--server", f"http://127.0.0.1:9/v1{query}", "--out", str(tmp_path / "run")]
    result: Any = CliRunner().invoke(app, words)
    assert result.exit_code and "without a query" in str(result.exception)
    assert "sk-in-address" not in result.output + str(result.exception)
    assert not any("sk-in-address" in file.read_text() for file in tmp_path.rglob("*") if file.is_file())
