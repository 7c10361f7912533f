"""Certainty in torch is the certainty of `equipoise.uncertainty`."""

from __future__ import annotations

import numpy as np
import pytest
import torch

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
