"""`equipoise plan`."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from noted import noted, refusal, said
from rich.console import Console
from typer.testing import CliRunner

from equipoise.cli import app, plan
from equipoise.metrics.requirement import parse_amount, parse_requirement
from equipoise.records import Estimate
from equipoise.suites.sizes import Planned, Wish
from equipoise.suites.status import duration


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["plan", "planted", "--data", "builtin", *words])
    return result.exit_code, " ".join((result.output + str(result.exception or "")).split())


@pytest.mark.slow
def test_a_plan_says_sets_prompts_and_time_and_draws_the_power() -> None:
    code, text = run("--detect", "flip_bias[type=type1]=0.05", "--width", "ucerf[type=type2]=0.1")
    assert code == 0 and "no: builtin · next-word has 244 such sets, you would need about" in text
    assert "yes: about" in text and "power" in text and "█" in text


def test_every_requirement_needs_a_true_value_and_nothing_is_no_plan() -> None:
    assert "every --require needs its --if-true" in run("--require", "flip_rate <= 0.1")[1]
    assert "plan for what?" in run()[1]
    assert "is not an amount" in run("--detect", "flip_bias")[1]


ASKED = ("--data", "fresh", "--task", "mcq", "--level", "0.9")


def test_every_option_is_handed_on(planted_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = noted(monkeypatch, "equipoise.suites.sizes.planned", [])
    wanted = ("--detect", "flip_bias=0.05", "--width", "ucerf=0.02", "--require", "flip_rate <= 0.1")
    said("plan", "planted", *ASKED, *wanted, "--if-true", "0.2", "--power", "0.7", "--like", planted_run)
    (((run, settings, wishes), named),) = asked
    assert (run.model, list(run.data), list(run.task), settings.level) == ("planted", ["fresh"], ["mcq"], 0.9)
    assert wishes == [
        Wish("detect", parse_amount("flip_bias=0.05"), 0.05),
        Wish("width", parse_amount("ucerf=0.02"), 0.02),
        Wish("require", parse_requirement("flip_rate <= 0.1"), 0.0, 0.2),
    ]
    assert named["power"] == 0.7 and named["like"].path == planted_run
    said("plan", "--width", "0.02")
    ((run, settings, wishes), named) = asked[1]
    assert named == {"power": 0.8, "like": None} and run.model == "smollm2" and settings.level == 0.95
    assert [(wish.requirement.metric, wish.amount) for wish in wishes] == [(name, 0.02) for name in plan.USUAL]


def test_what_cannot_be_planned_is_one_sentence() -> None:
    one = "every --require needs its --if-true: there are 2 and 1"
    words = ("--require", "flip_rate <= 0.1", "--require", "ucerf >= 0.1")
    assert refusal("plan", "planted", *words, "--if-true", "0.2") == one
    nothing = "plan for what? Give --detect flip_bias=0.05, --width 0.02, or --require with --if-true"
    assert refusal("plan", "planted") == nothing


def test_a_plan_is_a_table_with_what_is_not_known() -> None:
    power = [(100, Estimate(0.5, 0.5, 0.5, 0.95, 9, ""))]
    rows = [
        Planned("a wish", "here", 1200, 5000, "detect", 2400, 3700.0, power),
        Planned("another", "there", None, 9, "width", 10, None),
        Planned("a third", "there", 5, 9, "width", 10, 0.25),
    ]
    console = Console(width=300, record=True, file=io.StringIO())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "print_out", console.print)
        plan.show_plans(rows)
    lines = [line for line in console.export_text().splitlines() if line.strip()]
    cells = [re.split(r" {2,}", line.strip()) for line in lines[:4]]
    assert cells == [
        ["for", "of", "sets", "prompts", "time", "possible"],
        ["a wish", "here", "1,200", "2,400", duration(3700.0), "yes: about 1,200 of 5,000 sets"],
        ["another", "there", "–", "10", "not known", "no: no number of sets would show it"],
        ["a third", "there", "5", "10", duration(1.0), "yes: about 5 of 9 sets"],
    ]
    assert any("100 sets" in line and "█" in line for line in lines[4:])
