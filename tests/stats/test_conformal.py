"""Split-conformal sets: coverage over many draws, and what the thresholds are."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.records import UndefinedMetric
from equipoise.stats.conformal import halves, threshold, thresholds
from equipoise.uncertainty import inside_set


def test_the_threshold_is_the_probability_that_nine_of_ten_right_candidates_have() -> None:
    right = np.arange(1, 20) / 20  # 19 of them: the 18th highest of 20 places
    assert threshold(right, level=0.9) == pytest.approx(0.1)
    assert threshold(right[:5], level=0.9) == 0.0, "too few to rule anything out"


def test_a_cluster_is_in_one_half() -> None:
    clusters = np.repeat(np.arange(50), 4)
    first = halves(clusters)
    assert first.sum() == 100 and all(len(set(first[clusters == number])) == 1 for number in range(50))


@pytest.mark.parametrize("skill", [0.0, 3.0], ids=["guesses", "knows"])
def test_sets_hold_the_right_candidate_as_often_as_they_claim_over_500_draws(skill: float) -> None:
    # Three candidates, overconfident probabilities, two items in a cluster that share their difficulty.
    rng = np.random.default_rng(1)
    covered = []
    for draw in range(500):
        shared = np.repeat(rng.normal(0, 1, 60), 2)
        logits = 2 * rng.normal(0, 1, (120, 3))
        logits[:, 0] += skill * (1 + shared)
        probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        needed = thresholds(probs[:, 0], np.repeat(np.arange(60), 2), seed=draw)
        covered.append(inside_set(probs, needed)[:, 0].mean())
    # Nominal 0.9; the mean of 500 draws is off by 0.004 at most (three standard errors).
    assert np.mean(covered) >= 0.9 - 0.004
    assert np.mean(covered) < 0.96, "sets are not wider than they need to be"


def test_few_sentences_are_refused() -> None:
    with pytest.raises(UndefinedMetric, match="40 sentences"):
        thresholds(np.full(30, 0.8), np.arange(30))
