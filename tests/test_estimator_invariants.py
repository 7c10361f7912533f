"""What holds for every estimator of certainty, whatever the distribution."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from equipoise.uncertainty import Estimator
from test_invariants import every_estimator, sizes


@st.composite
def distributions(draw: st.DrawFn, *, k: int | None = None) -> np.ndarray:
    """Draw one distribution over k candidates, as a row; zeros and ties included."""
    k = k or draw(st.integers(2, 8))
    weights = draw(st.lists(st.integers(0, 100), min_size=k, max_size=k).filter(any))
    return np.array([weights], dtype=np.float64) / sum(weights)


@every_estimator
@sizes
def test_certainty_is_0_at_uniform_and_1_at_one_hot(estimator: Estimator, k: int) -> None:
    # Of raw probabilities undecided means that no candidate is ever said.
    uniform, one_hot = np.full((1, k), 1e-9 if estimator.over == "raw" else 1 / k), np.eye(k)
    assert estimator.certainty(uniform) == pytest.approx([0.0], abs=1e-7)
    assert estimator.certainty(one_hot) == pytest.approx(np.ones(k), abs=1e-12)


@every_estimator
@sizes
def test_certainty_rises_all_the_way_from_uniform_to_one_hot(estimator: Estimator, k: int) -> None:
    steps = np.linspace(0, 1, 101)[:, None]
    path = (1 - steps) * np.full(k, 1 / k) + steps * np.eye(k)[0]
    steps_up, steps_down = np.diff(estimator.certainty(path)), np.diff(estimator.uncertainty(path))
    assert np.all(steps_up >= 0 if estimator.stepwise else steps_up > 0) and steps_up.sum() > 0
    assert np.all(steps_down <= 0 if estimator.stepwise else steps_down < 0)


@every_estimator
@given(probs=distributions())
def test_certainty_lies_between_0_and_1(estimator: Estimator, probs: np.ndarray) -> None:
    assert -1e-12 <= estimator.certainty(probs)[0] <= 1 + 1e-12


@every_estimator
@given(probs=distributions(), share=st.floats(0, 1))
def test_mixing_with_uniform_never_makes_surer(estimator: Estimator, probs: np.ndarray, share: float) -> None:
    flatter = (1 - share) * probs + share / probs.shape[1]
    assert estimator.certainty(flatter)[0] <= estimator.certainty(probs)[0] + 1e-7
    assert estimator.uncertainty(flatter)[0] >= estimator.uncertainty(probs)[0] - 1e-7


@every_estimator
@given(probs=distributions(), data=st.data())
def test_an_estimator_does_not_mind_which_candidate_is_which(
    estimator: Estimator, probs: np.ndarray, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(probs.shape[1])))
    assert estimator.certainty(probs[:, order]) == pytest.approx(estimator.certainty(probs), abs=1e-7)


@every_estimator
@given(first=distributions(k=3), second=distributions(k=3))
def test_certainty_and_uncertainty_order_items_oppositely(
    estimator: Estimator, first: np.ndarray, second: np.ndarray
) -> None:
    both = np.vstack([first, second])
    (sure, surer), (unsure, less) = estimator.certainty(both), estimator.uncertainty(both)
    assume(abs(sure - surer) > 1e-9)
    assert (sure < surer) == (unsure > less)


@every_estimator
def test_an_estimator_takes_each_row_by_itself(estimator: Estimator) -> None:
    probs = np.random.default_rng(0).dirichlet(np.ones(3), size=20)
    alone = np.concatenate([estimator.certainty(row[None]) for row in probs])
    np.testing.assert_allclose(estimator.certainty(probs), alone, atol=1e-12)


@every_estimator
def test_an_estimator_of_no_rows_gives_no_values(estimator: Estimator) -> None:
    assert estimator.certainty(np.empty((0, 2))).shape == (0,)
    assert estimator.uncertainty(np.empty((0, 2))).shape == (0,)
