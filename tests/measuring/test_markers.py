"""Marked sentences are those with a marker and a referent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from equipoise.measuring.markers import is_marked
from equipoise.records import Outcomes


def row(pair: str, *probs: float, **facts: Any) -> dict[str, Any]:
    return {"pair": pair, "probs": probs, **facts}


@pytest.fixture
def marked(make_outcomes) -> Outcomes:
    """Six sentences about a nurse without a marker, four of them also with one of two markers."""
    rows = [
        row(f"s{n}+{marker}", 0.5 + n / 20, 0.5 - n / 20, gold=0, gender="male", marker=marker, **facts)
        | {"occupation": "nurse", "side": "female", "stereotype": "anti"}
        for n in range(6)
        for marker, facts in (
            ("", {"augmentation": "none"}),
            ("old", {"augmentation": "R", "attribute": "age", "privilege": "disadvantaged"}),
            ("young", {"augmentation": "R", "attribute": "age", "privilege": "privileged"}),
        )
        if n < 4 or not marker
    ]
    outcomes = make_outcomes(rows)
    return replace(outcomes, cluster_id=np.array([name.partition("+")[0] for name in outcomes.set_id], dtype=object))


def test_marked_outcomes_are_those_with_a_marker_and_a_referent(marked: Outcomes) -> None:
    has_marker = marked.group("marker") != ""
    assert is_marked(marked) and is_marked(marked.take(np.flatnonzero(has_marker)))
    assert not is_marked(marked.take(np.flatnonzero(~has_marker)))
    assert not is_marked(replace(marked, gold=np.full(len(marked), -1)))
