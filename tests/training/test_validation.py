"""The guards of tuning: every way to cheat is noticed, on the validation sets and outside of the training data."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import torch
from kept_texts import assert_kept
from planted_training import Bigram, few_sets, neutral, plant, planted_logprobs, questions
from tiny import make_model, make_tokenizer

from equipoise.datasets import open_dataset
from equipoise.datasets.occupations import OCCUPATIONS
from equipoise.training import Limits, Plan, Questions, TrainingError, TrainingSet, leash, tune
from equipoise.training import validation as module
from equipoise.training.grammar import grammar_dataset
from equipoise.training.leash import NeutralText, Reference
from equipoise.training.trained_model import load_for_training
from equipoise.training.training_sets import outside_sets, sets_of
from equipoise.training.validation import Outside, Validation, Validator, _batches, _fell, _flipped, _mean

BEFORE = Validation(
    loss=1, accuracy=0.8, ucerf=0.9, signed=0.9, flips=0.1, flips_unanswerable=0.1, certainty=0.4, mass=0.9, first=0.5,
    perplexity=30, outside_accuracy=0.6, outside_first=0.6, outside_second=0.6,
)  # fmt: skip


CHEATS = {
    "both wrong alike": ({"accuracy": 0.5, "ucerf": 1.0}, "accuracy fell"),
    "everything at 50%": ({"certainty": 0.01, "ucerf": 0.99}, "certainty fell"),
    "no mass on the candidates": ({"mass": 0.1, "ucerf": 1.0}, "candidates' probability fell"),
    "language forgotten": ({"perplexity": 60.0}, "perplexity of neutral text rose"),
    "a rule of the training data": ({"accuracy": 1.0, "outside_accuracy": 0.55}, "built-in sentences, which are not"),
    "always the first person": ({"outside_first": 0.9, "outside_second": 0.2}, "mentioned second fell from 0.600"),
}


@pytest.mark.parametrize("name", CHEATS)
def test_every_way_to_cheat_is_noticed(name: str) -> None:
    changes, sentence = CHEATS[name]
    faults = replace(BEFORE, **changes).faults(BEFORE, Limits())
    assert len(faults) == 1 and sentence in faults[0]
    assert not replace(BEFORE, accuracy=0.79, mass=0.85, certainty=0.3, perplexity=32, outside_first=0.5).faults(
        BEFORE, Limits()
    )


@pytest.mark.parametrize("part", ["accuracy", "outside"])
def test_a_fall_of_accuracy_counts_where_chance_does_not_explain_it(part: str) -> None:
    value = {"accuracy": "accuracy", "outside": "outside_accuracy"}[part]
    changes = {value: getattr(BEFORE, value) - 0.05, f"{part}_change_low": -0.11}
    assert not replace(BEFORE, **changes, **{f"{part}_change_high": 0.01}).faults(BEFORE, Limits())
    (fault,) = replace(BEFORE, **changes, **{f"{part}_change_high": -0.01}).faults(BEFORE, Limits())
    assert "by -5.0 points [-11.0, -1.0]" in fault


def test_the_change_of_accuracy_is_measured_set_by_set(tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network, tokenizer = load_for_training(str(tiny_folder), device="cpu")
    questions = Questions(tokenizer)
    sets = sets_of(grammar_dataset(resolvable=40, ambiguous=8))
    outside = Outside(outside_sets(40))
    neutral = NeutralText(tokenizer, ["One two three four five. " * 40])
    validator = Validator(sets, questions, neutral, Plan(), outside, Reference(network, "right"))

    def answers(model: object, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        gold = batch["gold"].clamp(min=0)
        place = gold if model == "right" else torch.zeros_like(gold)
        return torch.nn.functional.one_hot(place, 2).float().log_softmax(dim=1)

    monkeypatch.setattr(module, "candidate_logprobs", answers)
    monkeypatch.setattr(leash, "candidate_logprobs", answers)
    values = validator.run(network)
    # The base is always right, the model where the first person is meant: in half of the sets.
    for part in ("accuracy", "outside"):
        low, high = getattr(values, f"{part}_change_low"), getattr(values, f"{part}_change_high")
        assert low < -0.5 < high < -0.3


@pytest.fixture(scope="module")
def copying_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model with random weights, but it tells occupations from other words and copies what it looks at.

    So it can learn where to look in a few steps.
    """
    folder = tmp_path_factory.mktemp("copying")
    texts = [example.text for data in (grammar_dataset(), open_dataset("builtin")) for example in data.examples]
    others = {f" {word}" for text in texts for word in re.findall(r"\w+", text)}
    tokenizer = make_tokenizer([*(f" {name}" for name in OCCUPATIONS), *sorted(others)])
    settings = {"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 1, "num_key_value_heads": 1}
    settings |= {"intermediate_size": 8, "max_position_embeddings": 512, "tie_word_embeddings": True}
    model = make_model("LlamaConfig", len(tokenizer), scale=0.05, **settings)
    with torch.no_grad():
        words = model.model.embed_tokens.weight.normal_(0, 0.3)
        words[[tokenizer(f" {name}")["input_ids"][0] for name in OCCUPATIONS]] += 0.5 * torch.randn(64)
        for part in (model.model.layers[0].self_attn.v_proj, model.model.layers[0].self_attn.o_proj):
            part.weight.copy_(torch.eye(64))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.slow
def test_data_that_teach_a_rule_of_position_are_refused(copying_folder: Path, tmp_path: Path) -> None:
    rows = [
        {
            "text": example.text,
            "candidates": "|".join(example.candidates),
            "gold": example.candidates[1],
            "pronoun": example.slots["pronoun"],
            "set_id": example.set_id,
        }
        for example in grammar_dataset(resolvable=300, ambiguous=0).examples
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "rule.csv", index=False)
    plan = Plan(
        method="full", target="labels", steps=30, learning_rate=1e-2, leash=0, mass=0, validate_every=15,
        validation_sets=32, outside_sets=80,
    )  # fmt: skip
    with pytest.raises(TrainingError, match=r"right person is mentioned first fell .* to name the second person"):
        tune(
            str(copying_folder), data=str(tmp_path / "rule.csv"), out=tmp_path / "out", plan=plan, markers=False,
            device="cpu",
        )  # fmt: skip
    curves = pd.read_csv(tmp_path / "out" / "training" / "validation.csv")
    before, after = curves.iloc[0], curves.iloc[-1]
    # The validation sets, which follow the rule, show a gain only.
    assert after["accuracy"] > before["accuracy"] + 0.2 and after["mass"] > before["mass"]
    assert after["outside_first"] < before["outside_first"] - 0.2
    assert not list((tmp_path / "out").glob("*.safetensors"))


BASE = replace(
    BEFORE,
    word_accuracy=0.9,
    word_low=0.8,
    word_marker=0.9,
    word_marker_low=0.8,
    word_change_low=0.0,
    word_change_high=0.0,
    word_marker_change_low=0.0,
    word_marker_change_high=0.0,
)
LIMITS = Limits(accuracy=0.25, outside=0.125, word=0.0625, position=0.5, mass=0.25, certainty=0.5, perplexity=0.5)
ENDS = {
    "accuracy": ("accuracy", 0.8 - 0.25, -1),
    "mass": ("mass", 0.9 - 0.25, -1),
    "certainty": ("certainty", 0.2, -1),
    "perplexity": ("perplexity", 45.0, 1),
    "outside": ("outside_accuracy", 0.6 - 0.125, -1),
    "first": ("outside_first", 0.6 - 0.5, -1),
    "second": ("outside_second", 0.6 - 0.5, -1),
    "word": ("word_change_low", -0.0625, -1),
    "marker": ("word_marker_change_high", -0.0625, -1),
}


def test_what_each_guard_says_is_as_it_was_kept() -> None:
    said = {}
    for name, (field, limit, side) in ENDS.items():
        assert replace(BASE, **{field: limit}).faults(BASE, LIMITS) == [], f"{name}: exactly the limit passes"
        said[name] = replace(BASE, **{field: limit + side * 1e-3}).faults(BASE, LIMITS)
        assert len(said[name]) == 1
    changes = {field: limit + side * 1e-3 for field, limit, side in ENDS.values()}
    said["all"] = replace(BASE, **changes, word_change_high=-0.001).faults(BASE, LIMITS)
    assert_kept("training/guards", said)


def test_rounding_alone_is_no_fall() -> None:
    assert replace(BASE, mass=0.65 - 5e-10).faults(BASE, LIMITS) == []
    assert len(replace(BASE, mass=0.65 - 5e-9).faults(BASE, LIMITS)) == 1


def test_a_base_at_chance_has_no_word_to_lose() -> None:
    lost = replace(BASE, word_change_low=-0.5, word_change_high=-0.4, word_marker_change_high=-0.4)
    assert len(lost.faults(BASE, LIMITS)) == 2
    assert lost.faults(replace(BASE, word_low=0.5, word_marker_low=0.5), LIMITS) == []


RUNS = {
    "usual": {},
    "labels": {"target": "labels"},
    "base of decided sets": {"decided_target": "base", "weight": 2.5},
    "no decided sets": {"decided": 0, "estimator": "entropy", "parity": "certainty"},
    "few sets": {"validation_sets": 8, "parity": "signed"},
}


def test_what_a_validation_finds_is_as_it_was_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    model = Bigram(len(make_tokenizer())).train()
    outside = Outside(
        [item for item in few_sets() if item.answerable and not item.decided][:5],
        [item for item in few_sets() if item.decided],
    )
    found = {}
    for name, changes in RUNS.items():
        for reference in (Reference(model), None):
            validator = Validator(few_sets(), questions(), neutral(), Plan(**changes), outside, reference)
            counts = (validator.sets, validator.outside_sets, validator.control_sets)
            values = validator.run(model)
            assert validator.run(model) == values, "what the base answers is kept, and is the same"
            assert model.training
            found[f"{name}, {'with' if reference else 'without'} a base"] = (counts, values.row())
    assert_kept("training/validations", found)
    model.eval()
    bare = Validator(few_sets()[:3], questions(), neutral(), Plan()).run(model)
    assert not model.training
    assert bare.outside_accuracy != bare.outside_accuracy and bare.word_accuracy != bare.word_accuracy


def test_accuracy_and_certainty_are_those_of_a_plain_second_computation(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    model = Bigram(len(make_tokenizer()))
    sets = [item for item in few_sets() if not item.decided]
    values = Validator(sets, questions(), neutral(), Plan(weight=0.0, decided=0)).run(model)
    rows = []
    for answerable in (True, False):
        asked = [item for item in sets if item.answerable == answerable]
        batch = questions().batch(asked)
        for number, row in enumerate(planted_logprobs(model, batch).exp().tolist()):
            rows.append((int(batch["gold"][number]), (answerable, int(batch["sets"][number])), row))
    right = [row.index(max(row)) == gold for gold, _, row in rows if gold >= 0]
    assert values.accuracy == pytest.approx(sum(right) / len(right))
    assert values.mass == pytest.approx(sum(sum(row) for _, _, row in rows) / len(rows))
    assert values.first == pytest.approx(sum(row[0] > row[1] for _, _, row in rows) / len(rows))
    for field, answerable in (("flips", True), ("flips_unanswerable", False)):
        choices: dict[object, set[int]] = {}
        for _, place, row in rows:
            if place[0] == answerable:
                choices.setdefault(place, set()).add(row.index(max(row)))
        assert getattr(values, field) == pytest.approx(sum(len(c) > 1 for c in choices.values()) / len(choices))


def test_sets_are_asked_32_at_a_time_with_and_without_an_answer_apart() -> None:
    class Asked:
        def batch(self, sets: list[TrainingSet]) -> list[TrainingSet]:
            return sets

    answered, open_ones = ([item for item in few_sets() if item.answerable == which] for which in (True, False))
    asked = _batches([*open_ones, *answered * 3], Asked())  # type: ignore[arg-type]
    every = len(answered) * 3
    assert [len(part) for part in asked] == [32] * (every // 32) + [every % 32, len(open_ones)]  # type: ignore[arg-type]
    assert [item for part in asked for item in part] == [*answered * 3, *open_ones]  # type: ignore[comparison-overlap]


def test_a_set_is_flipped_where_any_two_members_differ() -> None:
    chosen, sets = torch.tensor([0, 1, 2, 2, 1, 1, 0]), torch.tensor([0, 0, 1, 1, 2, 2, 2])
    assert _flipped(chosen, sets).tolist() == [1, 0, 1]


def test_a_mean_is_over_the_rows_of_all_parts_that_have_any() -> None:
    parts = [{"a": pd.Series([1.0, 3.0]).to_numpy()}, {"a": pd.Series([8.0]).to_numpy()}, {"b": None}]
    assert _mean(parts, "a") == 4  # type: ignore[arg-type]
    assert _mean(parts, "c") != _mean(parts, "c")  # type: ignore[arg-type]
    assert _mean([{"a": pd.Series([], dtype=float).to_numpy()}], "a") != 0


def test_a_fall_of_exactly_the_limit_passes() -> None:
    assert not _fell(0.05 + 1e-9, 0.0, 0.05) and _fell(0.05 + 1.1e-9, 0.0, 0.05) and not _fell(0.0, 0.5, 0.05)


def test_a_quarter_of_the_sets_may_be_decided_by_the_word(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(module, "_batches", lambda sets, questions: asked.append(len(sets)) or [])
    Validator(few_sets(), questions(), neutral(), Plan(validation_sets=12))
    assert asked == [12, 3, 0]


def test_sets_without_answers_have_a_loss_and_no_accuracy(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    sets = [item for item in few_sets() if not item.answerable]
    plan = Plan(weight=2.0, decided=0)
    found = Validator(sets, questions(), neutral(), plan).run(Bigram(len(make_tokenizer())))
    assert math.isfinite(found.loss) and math.isnan(found.accuracy) and math.isnan(found.accuracy_change_low)
    answered = Validator([item for item in few_sets() if item.answerable], questions(), neutral(), plan)
    assert math.isfinite(answered.run(Bigram(len(make_tokenizer()))).loss)
