"""Marked sentences are those with a marker and a referent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from equipoise.measuring.markers import is_marked, marked_types
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
