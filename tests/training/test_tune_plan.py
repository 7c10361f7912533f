"""Choices that tuning cannot use are one sentence."""

from __future__ import annotations

import pytest

from equipoise.records import EquipoiseError
from equipoise.training import Plan

FAULTS = [
    ({"steps": 0}, "steps must be at least 1"),
    ({"weight": -1.0}, "weight must be at least 0, not -1"),
    ({"learning_rate": float("nan")}, "learning_rate must be at least 0, not nan"),
    ({"estimator": "luck"}, "estimator 'luck' is not one of perplexity"),
    ({"method": "luck"}, "method must be lora or full, not 'luck'"),
    ({"task_members": "luck"}, "task_members 'luck'"),
]


@pytest.mark.parametrize(("choices", "sentence"), FAULTS)
def test_bad_choices_are_one_clear_sentence(choices, sentence: str) -> None:
    with pytest.raises(EquipoiseError, match=sentence):
        Plan(**choices)
