"""What an audit settled, read back: by the gate, on the page, in the terminal and in JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from stand_in_parts import StandIn
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.measuring.settling import Decision
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


DECISION = Decision(
    "flip_rate <= 0.1", "flip_rate", "all", "<=", 0.1, "passed", 0.05, 0.01, 0.09, 0.95, 40, 266, "at most"
)


def stopped(*decisions: Decision, dataset: str = "d") -> StandIn:
    settled = {dataset: [decision.as_json() for decision in decisions]}
    return StandIn([], tasks={"next-word": {"settled": settled}})


def test_decisions_come_back_as_they_were_kept() -> None:
    unknown = replace(DECISION, value=math.nan, low=math.nan, high=math.nan, needed=300, outcome="undecided")
    back = decisions_of(stopped(DECISION, unknown))  # type: ignore[arg-type]
    assert back[0] == DECISION and math.isnan(back[1].low) and asdict(back[1])["needed"] == 300
    assert decisions_of(stopped(DECISION, dataset="other")) == []  # type: ignore[arg-type]
    assert decisions_of(StandIn([], tasks={"next-word": {"settled": 3}})) == []  # type: ignore[arg-type]
    assert decisions_of(StandIn([], tasks={"mcq": {"settled": {"d": [{}]}}})) == []  # type: ignore[arg-type]


@pytest.mark.parametrize("other", [{"metric": "ucerf"}, {"group": "type=a"}, {"sign": "<"}, {"bound": 0.2}])
def test_a_decision_is_found_by_metric_group_sign_and_bound(other: dict[str, Any]) -> None:
    wanted = parse_requirement("flip_rate <= 0.10")
    assert decision_on(stopped(DECISION), wanted) == DECISION  # type: ignore[arg-type]
    assert decision_on(stopped(replace(DECISION, **other), DECISION), wanted) == DECISION  # type: ignore[arg-type]
    assert decision_on(stopped(replace(DECISION, **other)), wanted) is None  # type: ignore[arg-type]


def test_an_early_stop_is_told_with_what_still_holds() -> None:
    part = stopped(
        DECISION, replace(DECISION, metric="ucerf"), replace(DECISION, metric="accuracy", sets=266), DECISION
    )
    part.items = pd.DataFrame({"set_id": [f"s{n // 2}" for n in range(2400)]})
    (finding,) = stopping(part)  # type: ignore[arg-type]
    asked = (
        "The audit stopped after 1,200 sets, once its requirements were settled or its budget was spent. The intervals"
    )
    holds = (
        "of flip_rate, ucerf hold whenever one stops. All others describe the sets that were asked, and may be a little"
    )
    assert finding.text == f"{asked} {holds} too narrow." and finding.short == "1,200 sets"
    assert (finding.state, finding.name, finding.topic) == ("doubt", "stopped early", "validity")
    assert not list(stopping(stopped(replace(DECISION, sets=266))))  # type: ignore[arg-type]
