"""Certainty in torch is the certainty of `equipoise.uncertainty`."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from equipoise.records import EquipoiseError
from equipoise.training.certainty import CERTAINTIES, certainty, length
from equipoise.uncertainty import ESTIMATORS, renormalise


@pytest.mark.parametrize("estimator", CERTAINTIES)
def test_every_estimator_agrees_with_its_twin(estimator: str) -> None:
    logprobs = np.random.default_rng(7).normal(-3, 2, size=(3000, 3))
    logprobs[0], logprobs[1] = -1.0, [-60.0, -0.1, -70.0]
    sure = ESTIMATORS[estimator].certainty(renormalise(logprobs))
    assert np.abs(certainty(torch.tensor(logprobs), estimator=estimator).numpy() - sure).max() < 1e-6


def test_the_length_of_nothing_has_a_gradient() -> None:
    rows = torch.tensor([[0.0, 0.0], [3.0, 4.0]], requires_grad=True)
    lengths = length(rows)
    (gradient,) = torch.autograd.grad(lengths.sum(), rows)
    assert lengths.tolist() == [0.0, 5.0]
    assert gradient[0].tolist() == [0.0, 0.0] and gradient[1].tolist() == pytest.approx([0.6, 0.8])


def test_each_certainty_is_that_of_its_formula() -> None:
    rows = torch.tensor([[0.5, 0.3, 0.2, 0.0001], [0.25, 0.25, 0.25, 0.25], [0.9, 0.05, 0.03, 0.02]]).double()
    probs = rows / rows.sum(dim=1, keepdim=True)
    bits = -(probs * probs.log()).sum(dim=1)
    best = probs.sort(dim=1, descending=True).values
    root = probs.sqrt().sum(dim=1)
    expected = {
        "perplexity": (4 - bits.exp()) / 3,
        "entropy": 1 - bits / math.log(4),
        "renyi": 1 - 2 * root.log() / math.log(4),
        "fisher-rao": (root / 2).clamp(max=1).acos() / math.acos(0.5),
        "margin": best[:, 0] - best[:, 1],
        "top-probability": (4 * best[:, 0] - 1) / 3,
    }
    assert set(expected) == set(CERTAINTIES)
    for name, values in expected.items():
        assert certainty(probs.log() - 3, estimator=name).tolist() == pytest.approx(values.tolist(), abs=1e-6), name
    with pytest.raises(EquipoiseError, match=r"^estimator 'luck' is not one of perplexity, entropy, renyi, fisher-rao"):
        certainty(probs.log(), estimator="luck")


@pytest.mark.parametrize("estimator", CERTAINTIES)
def test_rows_may_be_in_tables(estimator: str) -> None:
    values = torch.log_softmax(torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(3)), dim=-1)
    rows = certainty(values.reshape(10, 4), estimator=estimator)
    assert torch.allclose(certainty(values, estimator=estimator), rows.reshape(2, 5))
    assert torch.allclose(length(values), length(values.reshape(10, 4)).reshape(2, 5))
