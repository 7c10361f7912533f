"""Choices that tuning cannot use are one sentence."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept_texts import assert_kept

from equipoise.options import TuningOptions
from equipoise.options.option import options_of
from equipoise.records import EquipoiseError
from equipoise.training import Plan, TrainingError
from equipoise.training.certainty import CERTAINTIES
from equipoise.training.tune_plan import TASK_MEMBERS

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


def test_every_choice_of_a_table_is_taken() -> None:
    for name, choices in (("task_members", TASK_MEMBERS), ("estimator", tuple(CERTAINTIES))):
        for choice in choices:
            assert getattr(Plan(**{name: choice}), name) == choice
        with pytest.raises(TrainingError, match=f"^{name} 'luck' is not one of {', '.join(choices)}$"):
            Plan(**{name: "luck"})


@pytest.mark.parametrize("name", ["answerable", "checkpoint_every", "leash_rows"])
def test_some_numbers_are_at_least_one(name: str) -> None:
    assert getattr(Plan(**{name: 1}), name) == 1
    with pytest.raises(TrainingError, match=f"^{name} must be at least 1, not 0$"):
        Plan(**{name: 0})


NUMBERS = [field.name for field in fields(Plan) if isinstance(field.default, int | float) and field.default is not True]


@pytest.mark.parametrize("name", NUMBERS)
def test_no_number_is_below_zero_or_without_end(name: str) -> None:
    for value in (-1, float("inf"), float("nan")):
        with pytest.raises(EquipoiseError, match=f"^{name} must be "):
            Plan(**{name: value})


def test_numbers_of_the_plan_itself_may_be_zero() -> None:
    for name in ("unanswerable", "mass", "warmup", "held_out"):
        assert getattr(Plan(**{name: 0}), name) == 0
        with pytest.raises(TrainingError, match=re.escape(f"{name} must be a number of at least 0, not -1")):
            Plan(**{name: -1})


def test_a_learning_rate_of_0_is_that_of_the_method() -> None:
    assert (Plan().rate, Plan(method="full").rate) == (5e-4, 1e-4)
    assert Plan(learning_rate=0.02).rate == Plan(method="full", learning_rate=0.02).rate == 0.02


@given(st.integers(0, 30), st.integers(1, 60), st.floats(1e-6, 1.0))
def test_the_rate_rises_to_the_chosen_one_and_falls_to_a_tenth(warmup: int, steps: int, rate: float) -> None:
    plan = Plan(warmup=warmup, steps=steps, learning_rate=rate)
    rising = [plan.rate_at(step) for step in range(warmup)]
    assert rising == pytest.approx([rate * (step + 1) / warmup for step in range(warmup)])
    assert plan.rate_at(warmup) == pytest.approx(rate)
    if steps > warmup:
        left = steps - warmup
        falling = [plan.rate_at(warmup + done) for done in range(left + 1)]
        assert falling == pytest.approx([rate * (1 - 0.9 * done / left) for done in range(left + 1)])


def test_a_plan_without_room_for_a_fall_keeps_its_rate() -> None:
    choices: dict[str, Any] = {"learning_rate": 1.0, "warmup": 3}
    assert [Plan(steps=3, **choices).rate_at(step) for step in (2, 3)] == [1.0, 1.0]
    assert [Plan(steps=4, **choices).rate_at(step) for step in (3, 4)] == pytest.approx([1.0, 0.1])


def test_the_options_of_tuning_are_as_they_were_kept() -> None:
    assert_kept("tables/tuning", options_of(TuningOptions))


def test_the_first_value_that_is_allowed_beside_the_last_that_is_not() -> None:
    for option in options_of(TuningOptions).values():
        if option.least is not None:
            assert getattr(Plan(**{option.name: option.least}), option.name) == option.least
            with pytest.raises(EquipoiseError, match=f"^{option.name} must be at least {option.least:g}, not"):
                Plan(**{option.name: option.least - 1})
        for choice in option.choices:
            assert getattr(Plan(**{option.name: choice}), option.name) == choice
