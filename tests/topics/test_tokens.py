"""Token by token: the changes of tokens add up to that of the answers, and nothing is set beside what it is not."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept_texts import assert_kept

from equipoise.records.showing import Cell, Finding, Table
from equipoise.topics.tokens import Reading, Token, tokens

LOGS = st.floats(-12, -0.01)


def spread(text: str, values: list[float]) -> list[Token]:
    return list(zip(re.findall(r"\s*\S{1,3}", text), values, strict=False))


def tables(*readings: Reading) -> list[Table]:
    return list(tokens(readings).every(Table))


@given(st.lists(LOGS, min_size=4, max_size=4), st.lists(LOGS, min_size=4, max_size=4))
def test_the_changes_of_the_tokens_are_that_of_the_odds(old: list[float], new: list[float]) -> None:
    he, she = (
        Reading(word, {" nurse": spread(" nurse", values[:2]), " farmer": spread(" farmer", values[2:])})
        for word, values in (("he", old), ("she", new))
    )
    (table,) = tables(he, she)
    changes = [cell.content for row in table.rows if isinstance(cell := row.cells[-1], Cell)]
    nurse, farmer = changes[:2], changes[2:]
    total = math.fsum(new[:2]) - math.fsum(old[:2]) - (math.fsum(new[2:]) - math.fsum(old[2:]))
    assert math.isclose(math.fsum(nurse) - math.fsum(farmer), total, abs_tol=1e-9)  # type: ignore[arg-type]
    finding = next(tokens([he, she]).every(Finding))
    grown = f"{math.exp(abs(total)):.2g}-fold"
    assert ("grow" if total > 0 else "shrink") in finding.text and grown in finding.text
    largest = max(changes, key=abs)  # type: ignore[type-var]
    assert f"{math.exp(largest):.2g} times as probable" in finding.text  # type: ignore[arg-type]


def test_a_sentence_begins_at_the_first_word_that_differs_and_words_of_other_tokens_are_joined() -> None:
    answers = {" a": [(" a", -1.0)]}
    he = [(" told", -2.0), (" he", -0.5), (" was", -1.0), (".", -0.1)]
    zir = [(" told", -2.0), (" z", -1.5), ("ir", -3.0), (" was", -0.5), (".", -0.2)]
    _, sentence = tables(Reading("he", answers, he), Reading("zir", answers, zir))
    assert [row.cells[0] for row in sentence.rows] == ["he / zir", "was", "."]
    assert sentence.rows[0].cells[1:3] == (pytest.approx(math.exp(-0.5)), pytest.approx(math.exp(-4.5)))
    longer = [*zir[:3], (" himself", -1.0), *zir[3:]]
    assert len(tables(Reading("he", answers, he), Reading("zir", answers, longer))) == 1, "other numbers of words"


def test_one_group_word_has_no_change() -> None:
    (table,) = tables(Reading("at its place", {" a": [(" a", -1.0)], " b": [(" b", -2.0)]}))
    assert [column.title for column in table.columns] == ["answer", "token", "with “at its place”"]
    assert not any("fold" in str(finding) for finding in tokens([Reading("x", {"a": [("a", -1.0)]})]).every(Finding))


def test_what_is_described_is_as_it_was_kept() -> None:
    answers = {" nurse": [(" nur", -1.0), ("se", -0.1)], " farmer": [(" farmer", -2.0)], " clerk": [(" ", -3.0)]}
    others = {" nurse": [(" nur", -2.5), ("se", -0.1)], " farmer": [(" farmer", -1.0)], " clerk": [(" ", -3.0)]}
    before = [(" told", -2.0), (" he", -0.5), (" was", -1.0), (".", -0.1)]
    after = [(" told", -2.0), (" she", -1.5), (" was", -1.5), (".", -0.1)]
    he, she = Reading("he", answers, before), Reading("she", others, after)
    they = Reading("they", {" nurse": [(" nurse", -1.0)], " farmer": answers[" farmer"]}, after)
    several = [tokens([he, she]), tokens([she, he]), tokens([he, she, they]), tokens([he]), tokens([he, they])]
    assert_kept("topics/tokens", several, tokens([he, he]), tokens([Reading("he", answers), Reading("she", others)]))


def test_odds_are_told_of_two_answers_that_both_words_have() -> None:
    one, other = {" a": [(" a", -1.0)]}, {" a": [(" a", -1.0)], " b": [(" b", -2.0)]}

    def said(*several: dict[str, list[Token]]) -> int:
        readings = [Reading(str(at), answers) for at, answers in enumerate(several)]
        return sum("fold" in str(finding) for finding in tokens(readings).every(Finding))

    assert (said(other, other), said(one, one), said(other, one), said(other), said(other, other, one)) == (
        1,
        0,
        0,
        0,
        1,
    )


def test_the_largest_change_is_marked_where_there_are_several() -> None:
    def strong(*changes: float) -> list[bool]:
        old = [(f" t{at}", -5.0) for at in range(len(changes))]
        new = [(f" t{at}", -5.0 + change) for at, change in enumerate(changes)]
        (table,) = tables(Reading("he", {" a": old}), Reading("she", {" a": new}))
        return [row.cells[-1].strong for row in table.rows]

    assert strong(0.5, -1.0, 0.25) == [False, True, False] and strong(0.5) == [False]
    assert strong(0.0, 0.0) == [False, False] and strong(1.0, -1.0) == [True, True]
