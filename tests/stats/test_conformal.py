"""Split-conformal sets: coverage over many draws, and what the thresholds are."""

from __future__ import annotations

import numpy as np
import pytest
from kept_texts import assert_kept

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


def test_thresholds_of_drawn_values_are_kept() -> None:
    right = np.random.default_rng(2).beta(5, 2, 120)
    right[::9] = np.nan
    clusters = np.arange(120) // 2
    made = {
        f"{level}, seed {seed}": np.unique(thresholds(right, clusters, level=level, seed=seed))
        for level in (0.5, 0.9, 0.99)
        for seed in (0, 1)
    }
    made["halves"] = [halves(clusters, seed).astype(int)[:40] for seed in (0, 1)]
    made["default"] = np.unique(thresholds(right, clusters))
    assert_kept("stats/conformal", made)


def test_the_threshold_is_the_last_that_the_level_needs() -> None:
    right = np.arange(1, 10) / 10
    # The eighth and the ninth highest of nine; a tenth there is not.
    assert [threshold(right, level=level) for level in (0.75, 0.8, 0.9, 0.91)] == [0.2, 0.2, 0.1, 0.0]
    assert threshold(right[::-1], level=0.5) == 0.5 and threshold(right) == 0.1


def test_twenty_clusters_in_each_half_are_enough() -> None:
    right = np.linspace(0.1, 0.9, 40)
    assert set(thresholds(right, np.arange(40))) <= set(right) | {0.0}
    for few in (right[:39], np.where(np.arange(40) == 3, np.nan, right)):
        with pytest.raises(UndefinedMetric, match=r"^conformal sets need 40 sentences with a right answer$"):
            thresholds(few, np.arange(len(few)))
    assert halves(np.array([], dtype=np.int64)).tolist() == []
    assert [int(halves(np.arange(n)).sum()) for n in (1, 2, 3, 10)] == [0, 1, 1, 5]
