"""Steps lower the loss of the sets that they ask."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from kept_texts import assert_kept
from planted_training import Bigram, few_sets, neutral, plant, planted_logprobs, questions
from tiny import make_tokenizer

from equipoise.training import Limits, Plan, Questions, TrainingSet, candidate_logprobs, open_training_sets
from equipoise.training.leash import NeutralText, Reference, neutral_paragraphs
from equipoise.training.step_loss import StepLoss, _one_of_each, _some
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


def answered(item: TrainingSet) -> bool:
    return item.answerable and not item.decided


PLANS = {
    "usual": {},
    "labels": {"target": "labels"},
    "labels of one member": {"target": "labels", "task_members": "one"},
    "labels of the stereotype": {"target": "labels", "task_members": "stereotypical"},
    "labels without ucerf": {"target": "labels", "weight": 0.0},
    "base of decided sets": {"decided_target": "base", "mass": 0.7},
    "no decided sets, no leash": {"decided": 0, "leash": 0.0},
    "other weights": {"weight": 3.0, "leash": 0.25, "mass": 1.5, "temperature": 2.0, "parity": "signed"},
    "another estimator and seed": {"estimator": "margin", "seed": 4, "balanced": False},
}


def test_what_a_step_draws_and_loses_is_as_it_was_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    model = Bigram(len(make_tokenizer()))
    rows = {}
    for name, changes in PLANS.items():
        plan = replace(PLAN, **{"answerable": 5, "unanswerable": 3, "decided": 4, "leash_rows": 2, **changes})
        losses = StepLoss(few_sets(), questions(), neutral(), Reference(model), plan)
        rows[name] = [
            {
                "drawn": [item.id for item in losses.drawn(step)],
                "decided": [item.id for item in losses.drawn_decided(step)],
                "losses": {name: float(value.detach()) for name, value in losses.parts(model, step).items()},
            }
            for step in (0, 1, 2)
        ]
    assert_kept("training/steps", rows)


def test_the_loss_is_the_weighted_sum_of_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    plan = replace(PLAN, answerable=4, decided=2, weight=3.0, mass=0.5, leash=0.25)
    model = Bigram(len(make_tokenizer()))
    parts = StepLoss(few_sets(), questions(), neutral(), Reference(model), plan).parts(model, 1)
    assert list(parts) == ["task", "ucerf", "ucerf_unanswerable", "mass", "leash", "decided", "loss"]
    assert all(float(part.detach()) > 0 for part in parts.values())
    unfair = 3 * (parts["ucerf"] + parts["ucerf_unanswerable"])
    total = parts["task"] + unfair + parts["decided"] + 0.5 * parts["mass"] + 0.25 * parts["leash"]
    assert torch.allclose(parts["loss"], total)
    (gradient,) = torch.autograd.grad(parts["loss"], model.moved)
    assert gradient.abs().max() > 0


@pytest.mark.parametrize("target", ["base", "labels"])
def test_task_and_mass_are_those_of_a_plain_second_computation(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    model = Bigram(len(make_tokenizer()))
    plan = replace(PLAN, answerable=6, unanswerable=2, decided=0, target=target, leash=0.0)
    losses = StepLoss(few_sets(), questions(), neutral(), Reference(model), plan)
    batch = questions().batch(losses.drawn(2))
    with model.disable_adapter():
        own = planted_logprobs(model, batch).exp().detach().numpy()
    now = planted_logprobs(model, batch).exp().detach().numpy()
    gold, sets = batch["gold"].tolist(), batch["sets"].numpy()
    shares, wanted = now / now.sum(axis=1, keepdims=True), own / own.sum(axis=1, keepdims=True)
    task, mass = [], []
    for row, right in enumerate(gold):
        if target == "base":
            mean = wanted[sets == sets[row]].mean(axis=0)
            task.append((mean * np.log(mean / shares[row])).sum())
            mass.append(max(0.0, np.log(own[row].sum() / now[row].sum())))
        elif right >= 0:
            task.append(-np.log(shares[row, right]))
            mass.append(-np.log(now[row, right]))
    found = losses.parts(model, 2)
    without_answer = [-np.log(now[row].sum()) for row, right in enumerate(gold) if right < 0]
    assert float(found["task"].detach()) == pytest.approx(np.mean(task))
    expected = np.mean(mass) + (np.mean(without_answer) if target == "labels" else 0)
    assert float(found["mass"].detach()) == pytest.approx(expected)


def test_a_step_asks_both_positions_alike_and_no_more_than_there_is() -> None:
    def drawn(step: int, **changes: Any) -> list[TrainingSet]:
        return StepLoss(few_sets(), questions(), neutral(), None, replace(PLAN, **changes)).drawn(step)  # type: ignore[arg-type]

    for step, count in itertools.product(range(4), range(1, 8)):
        gold = [item.members[0].gold for item in drawn(step, answerable=count) if item.answerable]
        assert len(gold) == count and gold.count(1) - gold.count(0) in (0, 1)
    every = drawn(0, answerable=500, unanswerable=500)
    assert sorted(item.id for item in every) == sorted(item.id for item in few_sets() if not item.decided)
    assert [item for item in drawn(0, weight=0.0, target="labels") if not item.answerable] == []
    assert len([item for item in drawn(0, weight=0.0, target="base") if not item.answerable]) == 1
    assert len([item for item in drawn(0, weight=1.0, target="labels") if not item.answerable]) == 1
    alike = [item.members[0].gold for step in range(20) for item in drawn(step, answerable=1, balanced=False)]
    assert {0, 1} <= set(alike), "without balance any position may be drawn"


def test_sets_without_any_kind_are_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    model = Bigram(len(make_tokenizer()))
    for plan in (PLAN, replace(PLAN, target="labels")):
        for chosen, absent in (
            ([item for item in few_sets() if answered(item)], ("ucerf_unanswerable", "decided")),
            ([item for item in few_sets() if not item.answerable], ("ucerf", "decided")),
        ):
            parts = StepLoss(chosen, questions(), neutral(), Reference(model), plan).parts(model, 0)
            assert [name for name, value in parts.items() if not float(value.detach())] == [
                name
                for name in parts
                if name in absent or (name == "task" and plan.target == "labels" and "ucerf" in absent)
            ]


def test_one_of_each_takes_every_member_in_turn() -> None:
    sets = np.array([0, 0, 1, 1, 1, 2])
    seen = {tuple(_one_of_each(sets, np.random.default_rng(seed))) for seed in range(60)}
    assert seen == {(a, b, 5) for a in (0, 1) for b in (2, 3, 4)}


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_some_of_a_pool_are_different_and_no_more_than_there_are(count: int) -> None:
    for size in range(4):
        pool: Any = list("abc")[:size]
        for seed in range(10):
            drawn: Any = _some(pool, count, np.random.default_rng(seed))
            assert len(drawn) == len(set(drawn)) == min(count, size) and set(drawn) <= set(pool)
