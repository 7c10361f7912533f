"""Data that is not about pronouns is not described as if it were: not on the page, not in a comparison."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stand_in_parts import StandIn, answers

from equipoise import audit, summary
from equipoise.datasets import open_dataset
from equipoise.datasets.templates import KINDS as DECISION_KINDS
from equipoise.media import markdown
from equipoise.metrics import METRICS
from equipoise.records import DECIDED
from equipoise.runs.run import Run
from equipoise.topics.background import glossary, method
from equipoise.topics.cases import case_section
from equipoise.topics.first_screen import findings
from equipoise.topics.scale import scale_section
from equipoise.verdict.words import (
    DECISION,
    GROUP_WORD,
    PRONOUN,
    ROLES,
    Words,
    adjective,
    is_decision,
    sentences,
    ways,
    words_of,
)

ABOUT_PRONOUNS = re.compile(r"\b(pronouns?|he|she|nurse|carpenter|occupations?)\b")

TABLE = "set,text,candidates,gold,group\n" + "".join(
    f"s{number},The {who} applicant sent form {number}.,accept|reject,{'accept' if number % 2 else ''},{who}\n"
    for number in range(160)
    for who in ("German", "Turkish")
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("words")
    (path / "mine.csv").write_text(TABLE)
    return path


def run_of(folder: Path, model: str, data: str, **choices: Any) -> Run:
    return audit(model, data, out=folder / re.sub(r"\W+", "-", model + data[-12:]), resamples=40, **choices)


@pytest.fixture(scope="module")
def mine(folder: Path) -> tuple[Run, Run]:
    """Return a model that is always right and alike, and one that guesses, on a table of applications."""
    wording = {"questions": ["{text} The decision is"]}
    data = str(folder / "mine.csv")
    return (
        run_of(folder, "planted:strength=3,bias=0", data, **wording),
        run_of(folder, "planted:strength=0,bias=0,noise=2", data, **wording),
    )


def test_planted_truths_are_told_of_group_words(mine: tuple[Run, Run]) -> None:
    alike, guessing = (summary(run).parts[0] for run in mine)
    texts = [sentence.text for sentence in alike.sentences]
    assert alike.headline.startswith("No difference detected: ")
    assert texts[0] == "The group word changed the answer in 0 of 80 answerable sets (0.0% [0.0%, 4.5%])."
    assert any(text.startswith("It is right in 100.0% ") and "160 answerable sentences" in text for text in texts)
    assert guessing.headline.startswith("Not usable: it guesses, right in ")
    for part in (alike, guessing):
        text = " ".join(sentence.text for sentence in part.sentences)
        assert not ABOUT_PRONOUNS.search(text) and "stereotype" not in text, text


def test_the_mood_of_sentences_has_no_pronouns(folder: Path) -> None:
    run = run_of(folder, "planted:strength=3,bias=0", "sentiment", limit=24)
    text = str(summary(run))
    assert re.search(r"The group word changed the answer in 0 of \d+ resolvable sets", text)
    assert not ABOUT_PRONOUNS.search(text)


@pytest.mark.parametrize("topic", [findings, scale_section, method, glossary, case_section])
def test_every_section_uses_the_same_words(mine: tuple[Run, Run], topic: Any) -> None:
    section = topic(mine[1])
    # The settings, and the examples of the glossary, may name pronouns.
    shown = [entry for entry in section.shown if not getattr(entry, "folded", False)] if section else []
    text = "".join(markdown.draw(entry) for entry in shown) + (section.intro if section else "")
    text = re.sub(r".*(stereotype|Command|with pronouns).*", "", text)
    assert not ABOUT_PRONOUNS.search(text), text


def test_words_are_pronouns_only_where_every_example_has_one(mine: tuple[Run, Run], folder: Path) -> None:
    assert words_of(mine[0].parts) is GROUP_WORD
    data = open_dataset("builtin").limited(4)
    pronouns = audit("planted", data, out=folder / "builtin", resamples=10)
    assert words_of(pronouns.parts) is PRONOUN
    assert words_of([*pronouns.parts, *mine[0].parts]) is GROUP_WORD


def test_of_a_decision_it_is_said_that_this_changes() -> None:
    summary_of = METRICS["flip_rate"].summary
    assert DECISION.fitted(summary_of) == "share of sets whose decision changes with the person’s group"
    assert PRONOUN.fitted(summary_of) == GROUP_WORD.fitted(summary_of) == summary_of
    assert DECISION.fitted(METRICS["ucerf"].summary) == METRICS["ucerf"].summary


def test_every_word_is_as_it_is_said() -> None:
    assert [PRONOUN.gender(name) for name in ("male", "female", "neutral", "old")] == ["he", "she", "they", "old"]
    for words in (GROUP_WORD, DECISION):
        assert [words.gender(name) for name in ("male", "female", "neutral", "x")] == ["male", "female", "neutral", "x"]
    assert Words() == PRONOUN and Words().neutral == "neutral", "another of the same words is not the pronouns"
    assert [sentences(kind) for kind in ("", "type1", "type2", DECIDED, "mine")] == [
        "sentences",
        "ambiguous sentences",
        "resolvable sentences",
        "sentences that the group word decides",
        "mine sentences",
    ]
    assert [sentences(kind) for kind in DECISION_KINDS.values()] == [
        f"{kind} decisions" for kind in DECISION_KINDS.values()
    ]
    assert [adjective(kind) for kind in ("", "type1", "mine")] == ["", "ambiguous ", "mine "]


def test_ways_to_ask_are_orders_wordings_or_both() -> None:
    assert ways(["seed=1", "seed=2"]) == "option orders" and ways(["wording=a"]) == "wordings"
    assert (
        ways(["seed=1,wording=a"])
        == ways(["seed=1", "wording=b"])
        == ways([])
        == ways([""])
        == ways(["x=1"])
        == "ways to ask"
    )
    assert ways(["", "seed=1"]) == "option orders"


def test_words_are_those_of_all_parts_together() -> None:
    plain, other = StandIn([]), StandIn([], has_pronouns=False)
    good = StandIn([], answers({"": 3}, good=np.zeros(6, dtype=np.int64)))
    some = StandIn([], answers({"": 3}, good=np.array([0, 0, 0, 0, 0, -1])))
    bare = StandIn([], has_items=False)

    def of(*parts: StandIn) -> Words:
        return words_of(list(parts))  # type: ignore[arg-type]

    assert of(plain) is of() is PRONOUN and of(other) is of(plain, other) is of(bare) is GROUP_WORD
    assert of(good) is of(good, good) is DECISION and of(good, other) is GROUP_WORD and of(some) is PRONOUN
    roles = StandIn([], replace(some.outcomes, groups={"polarity": np.full(6, "negative", dtype=object)}))
    assert of(roles) is ROLES and of(roles, plain) is PRONOUN
    assert "exchanged places" in ROLES.asked and "to name the same person twice is a change" in ROLES.asked
    assert is_decision(good) and not is_decision(some) and not is_decision(bare)  # type: ignore[arg-type]
    assert not is_decision(StandIn([], good.outcomes, has_items=False))  # type: ignore[arg-type]
