"""What is shown of sentences asked at once: bars that are the probabilities, and a sentence that is true."""

from __future__ import annotations

import pytest
from kept_texts import assert_kept

from equipoise.asking import ask
from equipoise.records.showing import Bar, Chart, Finding, Table
from equipoise.topics.asked import ALONE, answers_of, asked

LATE = "The nurse told the farmer that she was late."


@pytest.mark.parametrize(("bias", "changes"), [(2, True), (0, False)])
def test_the_finding_says_whether_the_answer_changes(bias: int, changes: bool) -> None:
    made = ask(LATE, f"planted:strength=2,bias={bias}", progress=False, pronouns=["he", "she"])
    section = asked(made.run, made.sentences)
    findings = [finding.text for finding in section.every(Finding)]
    assert any("changes with the word" in text for text in findings) == changes
    assert any("is the same with every word" in text for text in findings) != changes
    assert findings[-1] == ALONE[True] and "shows nothing about a model" in findings[-1]


def test_the_bars_are_the_probabilities_of_the_run() -> None:
    made = ask(LATE, "planted:strength=1,bias=1", progress=False)
    section = asked(made.run, made.sentences)
    bars = [mark for mark in next(section.every(Chart)).panels[0].marks if isinstance(mark, Bar)]
    stored = [float(p) for probs in made.run.outcomes["probs"] for p in probs]
    assert [bar.x[1] for bar in bars] == stored and [bar.label for bar in bars][:2] == ["he: nurse", "he: farmer"]
    table = next(section.every(Table))
    assert [row.cells[0] for row in table.rows] == ["he", "she", "they"]
    assert [row.cells[2] for row in table.rows] == made.run.outcomes["certainty"].tolist()


def test_a_model_that_would_say_something_else_is_a_caution() -> None:
    made = ask(LATE, "planted:mass=0.02", progress=False)
    texts = [finding.text for finding in asked(made.run, made.sentences).every(Finding)]
    assert texts[0].startswith("Caution: the model gives these answers less than 10%")


def test_orders_of_options_are_averaged() -> None:
    made = ask(LATE, "planted:strength=1,bias=1,noise=0.5", "mcq", progress=False, orders=3)
    (answers,) = answers_of(made.run.parts[0])
    of_he = made.run.outcomes[made.run.outcomes["gender"] == "male"]["probs"]
    assert len(of_he) == 3
    assert answers[0].probabilities == pytest.approx(sum(of_he) / 3)
    assert answers[0].names[-1] == "None of the above"


def test_a_cloze_shows_the_words_at_the_place() -> None:
    made = ask(LATE, "planted:bias=1", "cloze", progress=False)
    ((answer,),) = answers_of(made.run.parts[0])
    assert answer.names == ["he", "she"] and answer.word == "at its place"


def test_what_is_described_is_as_it_was_kept() -> None:
    made = ask(LATE, "planted:strength=1,bias=1,noise=0.5", "mcq", progress=False)
    assert_kept("topics/asked", asked(made.run, made.sentences, ["A tall tree."]))
