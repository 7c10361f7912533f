"""The control of understanding: a model that ignores the group word has one half, and a guard refuses it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from kept_texts import assert_kept
from planted_training import Bigram, few_sets, plant, questions

from equipoise.training import Limits, Questions
from equipoise.training import understanding as module
from equipoise.training.leash import Reference
from equipoise.training.trained_model import load_for_training
from equipoise.training.training_sets import control_sets
from equipoise.training.understanding import Control, mean_interval
from equipoise.training.validation import Validation

FINE = dict.fromkeys(
    ("loss", "accuracy", "ucerf", "signed", "flips", "flips_unanswerable", "certainty", "mass", "first", "perplexity"),
    0.5,
)


class Answering:
    """Stands for a model whose answers are known."""

    def __init__(self, chosen: str) -> None:
        self.chosen = chosen


def answers(model: Any, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    gold = batch["gold"]
    place = {"right": gold, "first": torch.zeros_like(gold), "wrong": 1 - gold}[model.chosen]
    return torch.nn.functional.one_hot(place, 2).float().log_softmax(dim=1)


@pytest.fixture
def control(tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Control:
    _, tokenizer = load_for_training(str(tiny_folder), device="cpu")
    monkeypatch.setattr(module, "candidate_logprobs", answers)
    base = Answering("right")
    return Control(control_sets(60), Questions(tokenizer), Reference(base, base))


def test_a_model_that_ignores_the_word_has_one_half(control: Control) -> None:
    blind = control.run(Answering("first"))
    assert blind.accuracy == 0.5
    assert blind.change_high < -0.4
    sighted = control.run(Answering("right"))
    assert (sighted.accuracy, sighted.male, sighted.female, sighted.other) == (1, 1, 1, 1)
    assert control.run(Answering("wrong")).accuracy == 0


def test_the_guard_refuses_a_model_that_learned_to_ignore_the_word(control: Control) -> None:
    before = Validation(**FINE, **control.run(Answering("right")).row())
    blind = Validation(**FINE, **control.run(Answering("first")).row())
    fault, about_markers = blind.faults(before, Limits())
    assert "where a marker of a person decides" in about_markers
    assert "went from 1.000 to 0.500" in fault
    assert "learns to ignore the group word" in fault


def of_word(accuracy: float, low: float, change: tuple[float, float] = (0.0, 0.0)) -> Validation:
    values = {"word_accuracy": accuracy, "word_low": low, "word_change_low": change[0], "word_change_high": change[1]}
    return Validation(**FINE, **values)


@pytest.mark.parametrize(
    ("change", "refused"),
    [((-0.019, 0.05), False), ((-0.021, 0.05), True), ((-0.3, -0.2), True), ((0.1, 0.3), False)],
)
def test_the_interval_decides_and_not_the_value(change: tuple[float, float], refused: bool) -> None:
    before, after = of_word(0.75, 0.7), of_word(0.76, 0.7, change)
    assert bool(after.faults(before, Limits())) == refused


def test_a_base_that_does_not_use_the_word_has_nothing_to_lose() -> None:
    assert of_word(0.45, 0.4, (-0.2, 0.0)).faults(of_word(0.52, 0.49), Limits()) == []


def test_a_marker_that_lost_its_meaning_is_noticed() -> None:
    before = replace(of_word(0.75, 0.7), word_marker=1.0, word_marker_low=0.9)
    lost = {"word_marker": 0.5, "word_marker_change_low": -0.6, "word_marker_change_high": -0.4}
    (fault,) = replace(before, **lost).faults(before, Limits())
    assert "where a marker of a person decides fell from 1.000 to 0.500, by -50.0 points [-60.0, -40.0]" in fault
    assert not replace(before, **{**lost, "word_marker_change_high": 0.0}).faults(before, Limits())
    assert not replace(before, **lost).faults(replace(before, word_marker_low=0.4), Limits())


def test_an_interval_without_differences_is_narrow_only_with_many_sets() -> None:
    few, many = (mean_interval(np.zeros(n)) for n in (20, 592))
    assert few[0] < -Limits().word < many[0] < 0 < many[1]


def test_the_interval_holds_the_truth() -> None:
    rng = np.random.default_rng(0)
    drawn = rng.choice([-0.5, 0.0, 0.5], p=[0.1, 0.7, 0.2], size=(2000, 300))
    inside = [low <= 0.05 <= high for low, high in map(mean_interval, drawn)]
    assert 0.94 <= np.mean(inside) <= 0.98


def test_an_interval_is_that_of_the_formula() -> None:
    values = np.array([1.0, 0.5, 0.0, 0.5, 1.0])
    spread = np.sqrt((0.16 * 2 + 0.01 * 2 + 0.36 + 0.5) / 5)
    low, high = mean_interval(values)
    assert (low, high) == pytest.approx((0.6 - 1.96 * spread / np.sqrt(5), 0.6 + 1.96 * spread / np.sqrt(5)))


def test_what_a_control_finds_is_as_it_was_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    model = Bigram(5, moved=4.0)
    decided = [item for item in few_sets() if item.decided]
    named = [item for item in decided if item.members[0].groups.get("clue") == "noun"]
    found = {}
    for name, sets in (("all", decided * 5), ("nouns", named), ("none", [])):
        for reference in (Reference(model), None):
            control = Control(sets, questions(), reference)
            values = control.run(model)
            assert repr(control.run(model)) == repr(values), "the base is asked once"
            found[f"{name}, {'with' if reference else 'without'} a base"] = values.row()
    assert_kept("training/understanding", found)


def test_each_word_has_a_share_of_its_own(control: Control, monkeypatch: pytest.MonkeyPatch) -> None:
    groups = [m.groups.get("gender", "") for item in control_sets(60) for m in item.members]
    clues = [item.members[0].groups.get("clue") for item in control_sets(60)]
    assert {"male", "female"} < set(groups)
    for name, wrong in (("male", {"male"}), ("female", {"female"}), ("other", set(groups) - {"male", "female"})):
        right = np.array([group not in wrong for group in groups], dtype=float)
        monkeypatch.setattr(control, "_right", lambda model, right=right: right)
        found = control.run(None)
        for word in ("male", "female", "other"):
            assert getattr(found, word) == (0 if word == name else 1)
    by_set = np.array([float(clue in module.MARKERS) for clue in clues])
    sets = np.array([number for number, item in enumerate(control_sets(60)) for _ in item.members])
    monkeypatch.setattr(control, "_right", lambda model: by_set[sets])
    found = control.run(None)
    assert found.marker == 1 and found.accuracy == pytest.approx(by_set.mean()) and 0 < found.accuracy < 1
