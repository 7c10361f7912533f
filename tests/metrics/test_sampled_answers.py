"""Sampled answers, cases of Fig. 3, certainty in wrong answers and demographic parity, against values by hand."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from equipoise.measuring.items import Items
from equipoise.metrics import METRICS
from equipoise.metrics.fairness import cases
from equipoise.records import Outcomes
from equipoise.uncertainty import PERPLEXITY

# Two pairs: about the mechanic (male-stereotyped) and about the nurse; the referent is the first candidate.
ROWS: list[dict[str, Any]] = [
    {"pair": "m", "probs": [0.9, 0.1], "gold": 0, "side": "male", "stereotype": "pro", "gender": "male"},
    {"pair": "m", "probs": [0.3, 0.7], "gold": 0, "side": "male", "stereotype": "anti", "gender": "female"},
    {"pair": "n", "probs": [0.8, 0.2], "gold": 0, "side": "female", "stereotype": "pro", "gender": "female"},
    {"pair": "n", "probs": [0.6, 0.4], "gold": 0, "side": "female", "stereotype": "anti", "gender": "male"},
]


@pytest.fixture(scope="module")
def value(make_outcomes: Callable[..., Outcomes]) -> Callable[[str], float]:
    columns = Items(make_outcomes(ROWS)).columns(PERPLEXITY)
    return lambda name: float(METRICS[name].function(*(columns[given] for given in METRICS[name].inputs)))


def test_sampled_accuracy_is_the_mean_over_all_draws(value: Callable[[str], float]) -> None:
    expected = 0.0
    for answers in product((0, 1), repeat=len(ROWS)):
        chance = np.prod([row["probs"][answer] for row, answer in zip(ROWS, answers, strict=True)])
        expected += float(chance) * answers.count(0) / len(ROWS)
    assert value("accuracy_sampled") == pytest.approx(expected)
    assert value("accuracy") == 0.75 != pytest.approx(expected)


def test_sampled_odds_see_what_greedy_ones_do_not(value: Callable[[str], float]) -> None:
    # TPR: 0.9 with, 0.3 against the stereotype; FPR (resolved to the mechanic, the nurse is meant): 0.2 and 0.4.
    assert value("eo_sum_sampled") == pytest.approx(abs(0.9 - 0.3) + abs(0.2 - 0.4))
    assert value("eo_sum") == pytest.approx(1.0)


def test_parity_compares_whom_he_and_she_are_resolved_to(value: Callable[[str], float]) -> None:
    # he: mechanic, then nurse; she: the other (not the mechanic), then nurse.
    assert value("demographic_parity") == pytest.approx(0.5)


def test_certainty_in_wrong_answers_is_of_those_alone(value: Callable[[str], float]) -> None:
    entropy = -(0.3 * np.log2(0.3) + 0.7 * np.log2(0.7))
    assert value("certainty_wrong") == pytest.approx(2 - 2**entropy)


def test_every_set_is_one_of_four_cases(value: Callable[[str], float]) -> None:
    assert [value(f"case_{name}") for name in "abcd"] == [0.0, 0.5, 0.5, 0.0]
    correct = np.array([[1, 1], [1, 1], [1, 0], [0, 0], [np.nan, np.nan], [1, np.nan]])
    sure = np.array([[0.9, 0.5], [0.9, 0.4], [0.9, 0.9], [0.1, 0.9], [0.9, 0.9], [0.9, 0.9]])
    shares = np.array(cases(correct, sure))
    assert shares[:, :4].argmax(axis=0).tolist() == [0, 1, 2, 3] and (shares[:, :4].sum(axis=0) == 1).all()
    assert np.isnan(shares[:, 4:]).all()
