"""Marked sentences are those with a marker and a referent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from equipoise.measuring.markers import contrast_shares, is_marked, marked_types, marker_columns
from equipoise.records import Outcomes


def test_marked_outcomes_are_those_with_a_marker_and_a_referent(marked: Outcomes) -> None:
    has_marker = marked.group("marker") != ""
    assert is_marked(marked) and is_marked(marked.take(np.flatnonzero(has_marker)))
    assert not is_marked(marked.take(np.flatnonzero(~has_marker)))
    assert not is_marked(replace(marked, gold=np.full(len(marked), -1)))


def test_a_type_has_its_own_sentences_that_have_a_referent_and_were_asked_for_markers(marked: Outcomes) -> None:
    rows = np.arange(len(marked))
    kinds = np.where(rows % 2, "b", "a").astype(object)
    kinds[0] = "without referent"
    gold = np.where(rows < 3, -1, 0)
    augmentation = marked.group("augmentation").copy()
    augmentation[[5, 6]] = ""
    outcomes = replace(marked, gold=gold, groups={**marked.groups, "type": kinds, "augmentation": augmentation})
    usable = [row for row in rows if row >= 3 and row not in (5, 6)]
    assert [(kind, found.tolist()) for kind, found in marked_types(outcomes)] == [
        ("a", [row for row in usable if row % 2 == 0]),
        ("b", [row for row in usable if row % 2]),
    ]


def test_the_columns_of_markers(marked: Outcomes) -> None:
    columns = marker_columns(marked)
    assert list(columns) == ["marked", "subgroup", "marker", "privilege", "answered"]
    markers = ["", "old", "young"] * 4 + ["", ""]
    assert columns["marker"].tolist() == markers
    assert columns["marked"].tolist() == [float(marker != "") for marker in markers]
    assert columns["subgroup"].tolist() == [f"male, {marker}" if marker else "male" for marker in markers]
    sides = {"": "", "old": "disadvantaged", "young": "privileged"}
    assert columns["privilege"].tolist() == [sides[marker] for marker in markers]


def test_answered_is_what_is_as_certain_as_half_of_the_unmarked_sentences_of_the_type(marked: Outcomes) -> None:
    # Sentence n is more certain than n - 1; the median of the six unmarked ones lies between 2 and 3.
    number = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 5])
    assert marker_columns(marked)["answered"].tolist() == (number >= 3).astype(float).tolist()
    # Of five, the one in the middle is answered. Without unmarked sentences, a type has no answer.
    five = marked.take(np.arange(len(marked) - 1))
    assert marker_columns(five)["answered"].tolist() == (number[:-1] >= 2).astype(float).tolist()
    kinds = np.where(marked.group("marker") == "old", "b", "a").astype(object)
    answered = marker_columns(replace(marked, groups={**marked.groups, "type": kinds}))["answered"]
    assert np.isnan(answered).tolist() == (kinds == "b").tolist()
    assert answered[kinds == "a"].tolist() == (number >= 3).astype(float)[kinds == "a"].tolist()


def test_contrasts_of_a_marker_share_what_a_sentence_counts(marked: Outcomes) -> None:
    contrast = np.full(len(marked), "", dtype=object)
    contrast[[1, 4, 7, 10, 2, 5]] = ["x", "y", "z", "x", "x", "x"]  # three of old, one of young
    outcomes = replace(marked, groups={**marked.groups, "contrast": contrast})
    expected = np.ones(len(marked))
    expected[[1, 4, 7, 10]] = 1 / 3
    assert contrast_shares(outcomes, np.arange(len(marked))).tolist() == expected.tolist()
    assert contrast_shares(outcomes, np.array([4, 0, 1])).tolist() == [0.5, 1.0, 0.5], "of the rows alone"
    assert contrast_shares(marked, np.array([1, 2])).tolist() == [1.0, 1.0]
