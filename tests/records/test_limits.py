"""Limits that cannot be are refused."""

from __future__ import annotations

import pytest

from equipoise.records import ModelError, Score, ScoreLimits


@pytest.mark.parametrize(
    "limits",
    [
        ScoreLimits((0.1,), (0.2,)),
        ScoreLimits((0.2, 0.0), (0.1, 1.0)),
        ScoreLimits((0.0, 0.0), (1.0, 1.5)),
        ScoreLimits(counts=(1, 2)),
        ScoreLimits(counts=(1, 2, -1)),
    ],
)
def test_limits_that_cannot_be_are_refused(limits: ScoreLimits) -> None:
    with pytest.raises(ModelError):
        Score("key", ((-1.0,), (-2.0,)), limits=limits)
