"""Steps lower the loss of the sets that they ask."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from equipoise.training import Limits, Plan, Questions, candidate_logprobs, open_training_sets
from equipoise.training.leash import NeutralText, neutral_paragraphs
from equipoise.training.step_loss import StepLoss
from equipoise.training.trained_model import load_for_training, prepare
from equipoise.training.tuning import TuneRun
from equipoise.training.validation import Validator

PLAN = Plan(
    steps=12, answerable=2, unanswerable=1, leash_rows=1, validate_every=3, checkpoint_every=3, validation_sets=8,
    rank=4, learning_rate=5e-3, patience=9, outside_sets=8,
)  # fmt: skip


ANY = Limits(accuracy=1, outside=1, position=1, mass=1, certainty=0, perplexity=1e9)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["base", "labels"])
def test_steps_lower_the_loss_of_the_sets_that_they_ask(target: str, tiny_folder: Path) -> None:
    plan = replace(PLAN, target=target, answerable=12, learning_rate=1e-2)
    network, tokenizer = load_for_training(str(tiny_folder), device="cpu")
    network, reference = prepare(network, "tiny", plan)
    sets = open_training_sets(markers=False)
    neutral = NeutralText(tokenizer, neutral_paragraphs())
    losses = StepLoss(sets, Questions(tokenizer), neutral, reference, plan)
    gold = [item.members[0].gold for item in losses.drawn(3)]
    assert (gold.count(0), gold.count(1), gold.count(None)) == (6, 6, 1)
    run = TuneRun(network, losses, Validator(sets[:2], Questions(tokenizer), neutral, plan), plan, ANY)
    values = [run.step(0)["loss"] for _ in range(8)]
    assert values[-1] < 0.98 * values[0]


@pytest.mark.slow
@pytest.mark.parametrize("target", ["base", "labels"])
def test_each_sentence_that_the_word_decides_has_a_target_of_its_own(target: str, tiny_folder: Path) -> None:
    plan = replace(PLAN, decided=3, decided_target=target, mass=0.0)
    network, tokenizer = load_for_training(str(tiny_folder), device="cpu")
    network, reference = prepare(network, "tiny", plan)
    questions, neutral = Questions(tokenizer), NeutralText(tokenizer, neutral_paragraphs())
    sets = open_training_sets(markers=False)
    losses = StepLoss(sets, questions, neutral, reference, plan)
    drawn = losses.drawn_decided(1)
    assert len(drawn) == 3
    assert all(item.decided for item in drawn)
    assert not any(item.decided for item in losses.drawn(1))
    batch = questions.batch(drawn)
    logprobs = torch.log_softmax(candidate_logprobs(network, batch), dim=1)
    wanted = 0.0 if target == "base" else -float(logprobs.gather(1, batch["gold"][:, None]).mean())
    # A model that has not been tuned gives the base's own answers, so that loss is 0 for each sentence, not averaged.
    assert float(losses.parts(network, 1)["decided"].detach()) == pytest.approx(wanted, abs=1e-5)
    without = StepLoss(sets, questions, neutral, reference, replace(plan, decided=0))
    assert float(without.parts(network, 1)["decided"]) == 0
