"""What is shown of sentences asked at once: bars that are the probabilities, and a sentence that is true."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from kept_texts import assert_kept

from equipoise.asking import ask
from equipoise.records.showing import Bar, Chart, Finding, Table
from equipoise.topics.asked import ALONE, Answer, _answer, _chart, _findings, _group_word, answers_of, asked

SAME = "The answer is the same with every word: a."
CAUTION = "Caution: the model gives these answers less than 10% of the probability together;"
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


def answer(word: str, chosen: str, certainty: float = 0.5, mass: float = 0.9) -> Answer:
    return Answer(word, "text", ["a", "b"], [0.5, 0.5], certainty, mass, chosen)


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ([answer("he", "a")], []),
        (
            [answer("he", "a", 0.2), answer("she", "a", 0.7)],
            [f"{SAME} It is least certain with “he” (0.20) and most certain with “she” (0.70)."],
        ),
        ([answer("he", "a", 0.701), answer("she", "a", 0.704)], [f"{SAME} So is its certainty."]),
        (
            [answer("he", ""), answer("she", "")],
            ["The answer is the same with every word: a tie. So is its certainty."],
        ),
        ([answer("he", "a"), answer("she", "")], ["The answer changes with the word: “he”: a, “she”: a tie."]),
        ([answer("he", "a", mass=0.1), answer("she", "a", mass=0.9)], [f"{SAME} So is its certainty."]),
        ([answer("he", "a", mass=0.0999)], [f"{CAUTION} it would rather say something else."]),
    ],
)
def test_every_finding_about_a_sentence_is_told(answers: list[Answer], told: list[str]) -> None:
    assert [finding.text for finding in _findings(answers)] == told


@pytest.mark.parametrize(
    ("groups", "pronoun", "word"),
    [
        ({"gender": "male"}, "he", "he"),
        ({"gender": "neutral"}, "them", "them"),
        ({"gender": "male"}, "xe", "male"),
        ({"gender": "old"}, "he", "old"),
        ({}, "he", "he"),
        ({}, "", ""),
    ],
)
def test_the_word_of_a_set_is_the_pronoun_of_its_group(groups: dict[str, str], pronoun: str, word: str) -> None:
    example = {"groups": json.dumps(groups), "slots": json.dumps({"pronoun": pronoun} if pronoun else {})}
    assert _group_word(example) == word


def test_colours_are_those_of_pronouns_or_of_the_order() -> None:
    part: Any = SimpleNamespace(about=dict)
    (panel,) = _chart(part, [answer("he", "a"), answer("old", "a"), answer("they", "a")]).panels
    assert [bar.tone for bar in panel.marks_of(Bar)] == ["he", "he", 1, 1, "they", "they"]
    assert [bar.y for bar in panel.marks_of(Bar)][:2] == [(-0.35, 0.35), (0.65, 1.35)]


@pytest.mark.parametrize(("predicted", "chosen"), [([-1], ""), ([-1, -1], "cook"), ([0], "cook")])
def test_one_answer_may_be_a_tie_and_a_mean_of_several_is_none(predicted: list[int], chosen: str) -> None:
    example = {"candidates": ["nurse", "cook"], "groups": "{}", "slots": '{"pronoun": "she"}', "text": "T."}
    rows = pd.DataFrame(
        {
            "probs": [np.array([0.5 - at / 10, 0.4 + at / 10, 0.1]) for at in range(1, len(predicted) + 1)],
            "flags": ["", "open-answer"][: len(predicted)],
            "sides": "",
            "predicted": predicted,
            "certainty": [0.2 * at for at in range(1, len(predicted) + 1)],
            "candidate_mass": 0.5,
        }
    )
    answer = _answer(example, rows)
    assert answer.chosen == chosen and answer.names == ["nurse", "cook", "None of the above"]
    assert answer.certainty == pytest.approx(0.2 if len(rows) == 1 else 0.3) and answer.word == "she"
    assert answer.probabilities == pytest.approx([0.4, 0.5, 0.1] if len(rows) == 1 else [0.35, 0.55, 0.1])
