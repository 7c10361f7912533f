"""Marked sentences are those with a marker and a referent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from equipoise.measuring.markers import is_marked
from equipoise.records import Outcomes


def test_marked_outcomes_are_those_with_a_marker_and_a_referent(marked: Outcomes) -> None:
    has_marker = marked.group("marker") != ""
    assert is_marked(marked) and is_marked(marked.take(np.flatnonzero(has_marker)))
    assert not is_marked(marked.take(np.flatnonzero(~has_marker)))
    assert not is_marked(replace(marked, gold=np.full(len(marked), -1)))
