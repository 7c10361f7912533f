"""`equipoise ask`: what a newcomer types first."""

from __future__ import annotations

import io
import json
from types import SimpleNamespace

import pandas as pd
import pytest
from noted import noted, refusal, said
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.cli import ask as asking
from equipoise.options import RunOptions
from equipoise.records import EquipoiseError

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


def test_a_sentence_without_quotes_is_shown_with_them() -> None:
    assert refusal("ask", *LATE.split()) == f"put the sentence in quotes: equipoise ask '{LATE}'"
    assert "who may be meant in 'Hello'" in refusal("ask", "Hello")


def test_groups_and_candidates_are_lists() -> None:
    text = ask("The [old] king told the page that he left.", "--candidates", "king,page", "--groups", "old,young")
    assert "old: king" in text and "young: page" in text


def test_every_option_is_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame({"text": ["t"], "extra": [1], "probs": [[0.1234567890123, 0.5]], "certainty": [0.5]})
    made = SimpleNamespace(run="run", sentences=["s"], left_out=["l"], frame=frame)
    asked = noted(monkeypatch, "equipoise.asking.ask", made)
    shown = noted(monkeypatch, "equipoise.report.asked_text", "drawn")
    words = ("--candidates", "a,b", "--groups", "old", "--pronouns", "xe", "--chat", "--orders", "3")
    out, _ = said("ask", "One cook.", "Two cooks.", "--model", "planted", "--task", "mcq", *words)
    (((texts, model, task), named),) = asked
    assert (texts, model, task) == (["One cook.", "Two cooks."], "planted", "mcq") and out == "drawn\n"
    assert shown == [(("run", ["s"], ["l"]), {})]
    assert (named["candidates"], named["groups"], named["pronouns"]) == ("a,b", "old", "xe")
    assert named["chat"] is True and named["orders"] == 3
    out, _ = said("ask", "One.", "--json")
    assert asked[1][0] == (["One."], "smollm2", RunOptions.task) and len(shown) == 1
    assert json.loads(out) == [{"text": "t", "probs": [0.1234567890123, 0.5], "certainty": 0.5}]
    assert out.startswith('[\n  {\n    "text"')
    assert (asked[1][1]["pronouns"], asked[1][1]["candidates"]) == ("he,she,they", "")


def test_a_terminal_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.StringIO("a sentence")
    monkeypatch.setattr(stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(asking.sys, "stdin", stdin)
    sentence = 'type a sentence: equipoise ask "The nurse told the farmer that she was late."'
    with pytest.raises(EquipoiseError) as refused:
        asking._piped()
    assert str(refused.value) == sentence
    monkeypatch.setattr(asking.sys, "stdin", io.StringIO(" a \n\n b\n"))
    assert asking._piped() == ["a", "b"]
