"""What probabilities may be as well: tests of counts against scipy, and what is put in place of what."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, chi2_contingency

from equipoise.measuring.leeway.alternatives import (
    DIFFERENT,
    DOUBT,
    _exchanged,
    _homogeneous,
    may_be_on_top,
    missed,
    pooled,
    sampled_alternatives,
    undecided,
)
from equipoise.records import ABSENT, Limits, Outcomes
from equipoise.records.limits import NO_CLASS, PSEUDOCOUNT

counted = st.lists(st.lists(st.integers(0, 30), min_size=3, max_size=3), min_size=1, max_size=4).map(np.array)


def sampled(make_outcomes, counts: list[list[int]]) -> tuple[Outcomes, Limits]:
    """Return outcomes of these counts of two candidates and other answers, a set for every two."""
    rows = []
    for at, given_counts in enumerate(counts):
        shares = np.array(given_counts[:2]) + 0.5
        rows.append({"pair": f"s{at // 2}", "probs": tuple(shares / shares.sum())})
    outcomes = make_outcomes(rows)
    limits = Limits(counts=np.array(counts))
    return replace(outcomes, limits=limits), limits


@given(counted)
def test_a_candidate_may_be_on_top_where_chance_names_it_so_seldom(counts: np.ndarray) -> None:
    for candidate in range(3):
        tail = [binom.cdf(row[candidate], row[candidate] + row.max(), 0.5) for row in counts]
        assert may_be_on_top(counts, candidate).tolist() == [chance >= DOUBT for chance in tail]
        order = _exchanged(counts, candidate)
        for row, places, chance in zip(counts, order, tail, strict=True):
            top = int(row.argmax())
            expected = [0, 1, 2]
            if chance >= DOUBT:
                expected[candidate], expected[top] = top, candidate
            assert places.tolist() == expected


@given(counted)
def test_what_the_test_misses_is_the_chance_of_those_that_it_rules_out(counts: np.ndarray) -> None:
    tails = [sorted(binom.cdf(hits, hits + row.max(), 0.5) for hits in row)[:-1] for row in counts]
    lost = np.mean([sum(tail for tail in several if tail < DOUBT) for several in tails])
    assert missed(Limits(counts=counts), 3) == pytest.approx(lost)


@pytest.mark.parametrize("seed", range(6))
def test_sets_are_alike_where_the_likelihood_ratio_does_not_tell_them_apart(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(30, [0.5, 0.3, 0.2], size=(5, 3)).astype(float)
    counts[1, 0], counts[2, :, 2] = (1, 1, 28), 0.0
    inside = np.ones((5, 3), dtype=bool)
    inside[3, 2], counts[3, 2] = False, 0.0
    for place, told in enumerate(_homogeneous(counts, inside)):
        table = counts[place][inside[place]]
        table = table[:, table.sum(axis=0) > 0]
        assert told == (chi2_contingency(table, correction=False, lambda_="log-likelihood").pvalue >= DIFFERENT)


def test_sets_that_may_be_alike_have_their_joint_counts(make_outcomes) -> None:
    outcomes, limits = sampled(make_outcomes, [[6, 4, 0], [4, 5, 1], [30, 0, 0], [0, 30, 0]])
    sets = np.array([[0, 1], [2, 3]])
    alike, chosen = pooled(outcomes, limits, sets)
    assert chosen.tolist() == [True, True, False, False] and alike.limits is None
    means = np.array([5.0, 4.5, 0.5])
    joint = np.log((means + PSEUDOCOUNT) / (means + PSEUDOCOUNT).sum())[:2]
    assert alike.logprobs[:2] == pytest.approx(np.stack([joint] * 2))
    assert np.array_equal(alike.logprobs[2:], outcomes.logprobs[2:])
    assert np.allclose(alike.probs[2:], outcomes.probs[2:])
    for where, of in ((limits, np.zeros((0, 2), dtype=int)), (Limits(counts=np.full((4, 3), NO_CLASS)), sets)):
        same, none = pooled(outcomes, where, of)
        assert same is outcomes and not none.any()
    _, alone = pooled(outcomes, limits, np.array([[0, 1, ABSENT]]))
    assert alone.tolist() == [True, True, False, False]


@pytest.mark.parametrize("marked", [False, True])
def test_each_candidate_is_put_on_top_where_the_counts_allow_it(make_outcomes, marked: bool) -> None:
    outcomes, limits = sampled(make_outcomes, [[6, 4, 0], [30, 0, 0], [5, 5, 0], [5, 5, 0]])
    with_marker = outcomes.logprobs - 1.0
    outcomes = replace(outcomes, logprobs_with_marker=with_marker if marked else None)
    every = sampled_alternatives(outcomes, limits)
    assert every.logprobs.shape == (3, 4, 2) and np.array_equal(every.probs[0], outcomes.probs)
    assert np.array_equal(every.logprobs[2, 0], outcomes.logprobs[0, ::-1]), (
        "the second may be on top of the first item"
    )
    assert np.array_equal(every.logprobs[2, 1], outcomes.logprobs[1]), "and of the second item not"
    for candidate in (0, 1):
        assert (every.probs[candidate + 1, 2:].argmax(axis=1) == candidate).all(), "a tie goes to the candidate"
    if marked:
        assert every.with_marker is not None and np.array_equal(every.with_marker[2, 0], with_marker[0, ::-1])
        assert np.array_equal(every.with_marker[0], with_marker)
    else:
        assert every.with_marker is None
    filled = every.fill(np.array([2, 0, 1, 2]))
    assert np.array_equal(filled.probs, every.probs[[2, 0, 1, 2], range(4)]) and filled.limits is None


def test_an_answer_is_not_settled_where_counts_or_limits_allow_another(make_outcomes) -> None:
    outcomes, _ = sampled(make_outcomes, [[6, 4, 0], [30, 0, 0], [5, 5, 0], [20, 2, 0]])
    assert undecided(outcomes).tolist() == [True, False, True, False]
    low = np.array([[0.6, 0.1], [0.3, 0.3], [0.5, 0.2], [0.4, 0.4]])
    high = np.array([[0.7, 0.6], [0.4, 0.35], [0.6, 0.5], [0.4, 0.4]])
    within = replace(outcomes, limits=Limits(low=low, high=high))
    assert undecided(within).tolist() == [False, True, False, False], "an upper end at the lower one is not above it"
    assert not undecided(replace(outcomes, limits=None)).any()
