"""`equipoise ask`: what a newcomer types first."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from equipoise.cli import app

LATE = "The nurse told the farmer that she was late."


def ask(*words: str, input: str | None = None) -> str:
    result = CliRunner().invoke(app, ["ask", *words, "--model", "planted:strength=1,bias=1", "--quiet"], input=input)
    assert result.exit_code == 0, result.output
    return result.output


def test_bars_are_drawn_for_each_pronoun_and_person() -> None:
    lines = ask(LATE).splitlines()
    drawn = {line.split("█")[0].strip(): line.count("█") for line in lines if "█" in line}
    assert drawn["she: nurse"] > drawn["she: farmer"] and drawn["he: farmer"] > drawn["he: nurse"]
    assert any("The answer changes with the word" in line for line in lines)
    assert "equipoise audit" in lines[-1] or "equipoise audit" in lines[-2]


def test_json_has_a_row_for_each_sentence_asked() -> None:
    rows = json.loads(ask(LATE, "--json", "--pronouns", "he,she"))
    assert [row["gender"] for row in rows] == ["male", "female"] or {row["gender"] for row in rows} == {
        "male",
        "female",
    }
    assert all(sum(row["probs"]) == pytest.approx(1) for row in rows)


def test_lines_of_standard_input_are_asked() -> None:
    assert len(json.loads(ask("--json", input=f"{LATE}\n\nThe cook met the clerk before he left.\n"))) == 6


def test_without_a_sentence_the_error_shows_one() -> None:
    result = CliRunner().invoke(app, ["ask", "--model", "planted"], input="")
    assert result.exit_code != 0 and "type a sentence" in str(result.exception)


def test_groups_and_candidates_are_lists() -> None:
    text = ask("The [old] king told the page that he left.", "--candidates", "king,page", "--groups", "old,young")
    assert "old: king" in text and "young: page" in text
