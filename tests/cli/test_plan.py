"""`equipoise plan`."""

from __future__ import annotations

from typer.testing import CliRunner

from equipoise.cli import app


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["plan", "planted", "--data", "builtin", *words])
    return result.exit_code, " ".join((result.output + str(result.exception or "")).split())


def test_a_plan_says_sets_prompts_and_time_and_draws_the_power() -> None:
    code, text = run("--detect", "flip_bias[type=type1]=0.05", "--width", "ucerf[type=type2]=0.1")
    assert code == 0 and "no: builtin · next-word has 244 such sets, you would need about" in text
    assert "yes: about" in text and "power" in text and "█" in text


def test_every_requirement_needs_a_true_value_and_nothing_is_no_plan() -> None:
    assert "every --require needs its --if-true" in run("--require", "flip_rate <= 0.1")[1]
    assert "plan for what?" in run()[1]
    assert "is not an amount" in run("--detect", "flip_bias")[1]
