"""A rule that holds for the training data only is noticed on sentences from outside of it."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest
import torch

from equipoise.datasets import open_dataset
from equipoise.datasets.occupations import OCCUPATIONS
from equipoise.training import Plan, TrainingError, tune
from equipoise.training.grammar import grammar_dataset
from equipoise.training.outside import outside_sets
from tiny import make_model, make_tokenizer


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


def test_outside_sets_are_balanced_and_never_trained_on() -> None:
    sets = outside_sets()
    gold = [item.members[0].gold for item in sets]
    assert len(sets) == 266 and gold.count(0) == gold.count(1)
    few = [item.members[0].gold for item in outside_sets(10)]
    assert few.count(0) == few.count(1) == 5
    trained = {example.text for example in grammar_dataset().examples}
    assert not trained & {member.text for item in sets for member in item.members}


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
