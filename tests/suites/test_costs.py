"""What --dry-run tells before anything is spent."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from server_loopback import Loopback
from tiny import make_tokenizer
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.options import RunOptions
from equipoise.settings import Settings
from equipoise.suites.costs import expect, expected_share
from equipoise.suites.rates import Meter, remember

PLAIN = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}</s>{% endfor %}<|assistant|>"
THINKING = PLAIN.replace("m.content", "m.content.split('</think>')[-1]") + "<think>\n"


def counted(*options: str) -> tuple[list[int], str]:
    """Return the prompts and the texts that a dry run of two sentences with two pronouns each counts."""
    command = ["audit", *options, "--limit", "2", "--dry-run"]
    told = CliRunner().invoke(app, command, catch_exceptions=False).output
    (row,) = [line.split() for line in told.splitlines() if line.startswith("builtin")]
    return [int(cell) for cell in row[4:6]], told


def test_the_reasoning_of_a_thinking_model_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    for name, template in (("plain", PLAIN), ("thinker", THINKING)):
        make_tokenizer(chat=template).save_pretrained(tmp_path / name)
    assert counted(str(tmp_path / "thinker"), "--chat")[0] == [4, 4]
    assert counted(str(tmp_path / "thinker"))[0] == counted(str(tmp_path / "plain"), "--chat")[0] == [4, 0]
    counts, told = counted("owner/unknown", "--chat")
    assert counts == [4, 0] and "is not known before it is loaded" in told


def test_the_reasoning_of_a_served_model_is_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path))
    servers = {template: Loopback(template=template) for template in ("text", "ids", "")}
    texts: dict[str, Any] = {name: counted("--server", server.url, "--chat")[0] for name, server in servers.items()}
    assert texts == {"text": [4, 4], "ids": [4, 4], "": [4, 0]}
    for server in servers.values():
        assert server.paths["/v1/completions"] == 0, "nothing is asked of the model"
        server.close()
    assert "is not known before it is loaded" in counted("--server", "http://127.0.0.1:9/v1", "--chat")[1]


def test_every_drawn_text_of_a_chain_of_thought_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path))
    assert counted("planted", "--task", "next-word-cot")[0] == [4, 4]
    assert counted("planted", "--task", "next-word-cot", "--samples", "3")[0] == [12, 12]


def test_the_expected_share_falls_with_the_sentences_and_rises_with_the_precision() -> None:
    shares = [expected_share(width, 16_000, level=0.95) for width in (0.05, 0.02, 0.01)]
    assert 0.1 < shares[0] < 0.35 < shares[1] < shares[2] < 1
    assert expected_share(0.02, 1000, level=0.95) > shares[1]


@pytest.mark.parametrize("sentences", [1, 2, 10, 500])
@pytest.mark.parametrize("width", [0.05, 0.01])
def test_the_share_follows_its_formula(width: float, sentences: int) -> None:
    needed = 8 * 0.19 * math.log(2 / 0.05) / width**2
    assert expected_share(width, sentences, level=0.95) == pytest.approx(needed / (needed + max(1, sentences / 2)))


def test_what_an_audit_costs_is_counted_for_each_dataset_and_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path))
    asked = RunOptions(model="planted", data=("builtin", "sentiment"), task=("next-word", "mcq"))
    settings = Settings(limit=10)
    told = expect(asked, settings)
    assert [(c.dataset, c.task, c.sentences, c.prompts, c.texts, c.measured) for c in told.costs] == [
        ("builtin", "next-word", 10, 20, 0, False),
        ("builtin", "mcq", 10, 20, 0, False),
        ("sentiment", "next-word", 10, told.costs[2].prompts, 0, False),
        ("sentiment", "mcq", 10, told.costs[3].prompts, 0, False),
    ]
    first = told.costs[0]
    assert first.seconds == pytest.approx(5 + 20 / 5000) and told.reasons is False
    assert list(first.at_widths) == [round(20 * expected_share(width, 10, level=0.95)) for width in (0.05, 0.02, 0.01)]
    many = expect(replace(asked, task=("next-word",)), replace(settings, dropout=0.1, passes=3))
    assert many.costs[0].seconds == pytest.approx(3 * (5 + 20 / 5000))
    meter = Meter(lambda *step: None, clock=iter([0.0, 10.0]).__next__)
    for done in (0, 100):
        meter("builtin · next-word", done, 100)
    remember("planted", settings.engine, meter)
    fast = expect(asked, settings).costs
    assert (fast[0].seconds, fast[0].measured) == (2.0, True) and fast[1].measured is False


def test_a_served_model_has_no_forecast_and_is_asked_whether_it_reasons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path))
    told: list[str] = []
    monkeypatch.setattr("equipoise.suites.costs.thinks", lambda model, options: told.append(model))
    settings = Settings(limit=2, server="http://127.0.0.1:1")
    for task, chat, asked in (("next-word", False, 0), ("open", False, 1), ("next-word", True, 2)):
        result = expect(RunOptions(model="m", data=("builtin",), task=(task,)), replace(settings, chat=chat))
        assert len(told) == asked and result.reasons is (None if asked else False)
        assert [cost.seconds for cost in result.costs] == [None]
