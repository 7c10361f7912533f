"""Outcomes that several test files of this room share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from equipoise.records import Outcomes


@pytest.fixture
def marked(make_outcomes: Callable[..., Outcomes]) -> Outcomes:
    """Six sentences about a nurse without a marker, four of them also with one of two markers."""
    rows = [
        {"pair": f"s{n}+{marker}", "probs": (0.5 + n / 20, 0.5 - n / 20), "gold": 0, "gender": "male", "marker": marker}
        | {"occupation": "nurse", "side": "female", "stereotype": "anti", **facts}
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
