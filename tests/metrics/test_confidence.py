"""Coreference confidence against its closed form, and what must hold of it for any probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.metrics.confidence import coreference_confidence, pair_confidence
from equipoise.records import ABSENT


def test_the_definition() -> None:
    logprobs = np.log([[0.5, 0.1], [0.5, 0.1], [0.2, 0.2]])
    gold = np.array([0, 1, 0])
    assert coreference_confidence(gold, logprobs) == pytest.approx([0.4, -0.4, 0.0])
    assert pair_confidence(gold, logprobs) == pytest.approx([0.4 / 0.6, -0.4 / 0.6, 0.0])


def test_without_a_referent_there_is_none() -> None:
    logprobs = np.log([[0.5, 0.1], [0.4, 0.3]])
    assert np.isnan(coreference_confidence(np.array([ABSENT, 0]), logprobs)).tolist() == [True, False]


def test_of_three_candidates_the_most_probable_other_counts() -> None:
    assert coreference_confidence(np.array([1]), np.log([[0.1, 0.3, 0.4]])) == pytest.approx([-0.1])
    assert pair_confidence(np.array([1]), np.log([[0.1, 0.3, 0.4]])) == pytest.approx([-0.1 / 0.7])


@given(data=st.data())
def test_what_holds_for_any_probabilities(data: st.DataObject) -> None:
    n, k = data.draw(st.integers(1, 20)), data.draw(st.integers(2, 4))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    probs = rng.dirichlet(np.ones(k + 1), size=n)[:, :k] + 1e-9
    gold = rng.integers(0, k, size=n)
    raw, pair = coreference_confidence(gold, np.log(probs)), pair_confidence(gold, np.log(probs))
    assert (np.abs(raw) <= 1).all() and (np.abs(pair) <= 1 + 1e-12).all()
    assert ((raw > 0) == (probs.argmax(axis=1) == gold)).all()
    # Mass that leaves the candidates alike shrinks the raw value and leaves the normalised one as it is.
    thinned = np.log(probs * 0.3)
    assert coreference_confidence(gold, thinned) == pytest.approx(0.3 * raw)
    assert pair_confidence(gold, thinned) == pytest.approx(pair)
    order = rng.permutation(k)
    moved = np.argsort(order)[gold]
    assert coreference_confidence(moved, np.log(probs)[:, order]) == pytest.approx(raw)
