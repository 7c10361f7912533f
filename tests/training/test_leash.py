"""The base's own answers as targets: the mean within sets, and zero loss where it is met."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from equipoise.training import Questions, candidate_logprobs, open_training_sets
from equipoise.training.leash import Reference, divergence, neutral_paragraphs, own_answers
from equipoise.training.trained_model import load_for_training


@pytest.mark.slow
def test_own_answers_are_the_means_of_sets(tiny_folder: Path) -> None:
    network, tokenizer = load_for_training(str(tiny_folder), device="cpu")
    sets = open_training_sets(markers=True)
    four = next(item for item in sets if len(item.members) == 4)
    batch = Questions(tokenizer).batch([*sets[:3], four])
    own = own_answers(Reference(network, network), batch)
    logprobs = candidate_logprobs(network, batch).detach()
    shares = torch.softmax(logprobs, dim=1)
    for rows in (slice(0, 2), slice(2, 4), slice(4, 6), slice(6, 10)):
        assert torch.allclose(own.averaged[rows], shares[rows].mean(dim=0).expand_as(shares[rows]), atol=1e-6)
    assert torch.allclose(own.log_mass, torch.logsumexp(logprobs, dim=1))


def test_the_divergence_is_zero_at_the_target_and_grows_away_from_it() -> None:
    target = torch.tensor([[0.7, 0.3], [1.0, 0.0]])
    raw = torch.log(torch.tensor([[0.07, 0.03], [0.1, 1e-9]]))
    assert divergence(raw, target) == pytest.approx([0.0, 0.0], abs=1e-6)
    assert divergence(torch.zeros(2, 2), target)[1] == pytest.approx(0.6931, abs=1e-4)


def test_neutral_paragraphs_are_whole() -> None:
    paragraphs = neutral_paragraphs()
    assert len(paragraphs) == 24 and all(text == text.strip() and text.endswith(".") for text in paragraphs)
