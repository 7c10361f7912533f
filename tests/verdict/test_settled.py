"""What an audit settled, read back: by the gate, on the page, in the terminal and in JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.metrics.requirement import parse_requirement
from equipoise.report import run_page
from equipoise.runs import Run
from equipoise.verdict.gate import gate
from equipoise.verdict.settled import decision_on, decisions_of, stopping
from equipoise.verdict.summary import run_json

PASSES, FAILS = "flip_rate[type=type2] <= 0.10", "flip_rate[type=type1] <= 0.01"
CHOICES = ["--data", "builtin", "--resamples", "50", "--by", "gender", "--no-html"]


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from equipoise.run import audit

    out = tmp_path_factory.mktemp("settled") / "run"
    audit("planted:strength=2,bias=0.6", "builtin", out=out, until=[PASSES, FAILS], by=["gender"], resamples=50)
    return out


def test_the_gate_reads_what_was_settled_however_it_is_written(settled: Path) -> None:
    checks = gate(settled, ["flip_rate[type=type2]<=0.1", FAILS])
    assert [check.outcome for check in checks] == ["passed", "FAILED"]
    assert checks[0].found.startswith("passed after ") and "of 266 sets" in checks[0].found
    assert gate(settled) == gate(settled, [PASSES, FAILS]), "without requirements, what the audit was asked for"
    (other,) = gate(settled, ["flip_rate[type=type2] <= 0.5"])
    assert other.tested == "high", "what was not asked for is checked by its interval, as ever"
    (point,) = gate(settled, [PASSES], test_at="value")
    assert point.tested == "value"
    (part,) = Run(settled).parts
    assert decision_on(part, parse_requirement("flip_rate[type=type2] < 0.1")) is None


def test_page_json_and_checks_say_how_it_stopped_and_what_holds(settled: Path) -> None:
    run = Run(settled)
    (part,) = run.parts
    (finding,) = stopping(part)
    assert finding.state == "doubt" and "flip_rate hold whenever one stops" in finding.text
    page = run_page(run)
    assert "What was settled" in page and "hold whenever one stops" in page
    (verdict,) = json.loads(run_json(run))["verdicts"]
    assert [entry["outcome"] for entry in verdict["settled"]] == ["passed", "FAILED"]


def test_an_audit_that_was_not_asked_for_anything_says_nothing_of_it(make_run: Callable[..., Path]) -> None:
    run = Run(make_run("plain", limit=40, by=[]))
    assert not decisions_of(run.parts[0]) and not list(stopping(run.parts[0]))
    assert "What was settled" not in run_page(run)


@pytest.mark.parametrize(
    ("until", "more", "code"),
    [
        ([PASSES], [], 0),
        ([PASSES, FAILS], [], 1),
        (["flip_rate[type=type2] <= 0.02"], ["--at-most", "40"], 3),
    ],
)
def test_the_exit_code_of_an_audit_is_that_of_a_gate(
    until: list[str], more: list[str], code: int, tmp_path: Path
) -> None:
    words = ["audit", "planted:strength=2,bias=0.6", *CHOICES, *more, "--out", str(tmp_path / "run")]
    result = CliRunner().invoke(app, [*words, *(word for text in until for word in ("--until", text))])
    assert result.exit_code == code, result.output
    assert "What was settled" in result.output
