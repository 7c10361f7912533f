"""Models in memory are engines; they are left as they were."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, pipeline

from equipoise.records import ModelError, Prompt
from equipoise.scoring.engine import EngineOptions, identity_key
from equipoise.scoring.opening import open_engine
from equipoise.scoring.planted import PlantedEngine

PROMPTS = [Prompt(f"e{n}", "task", "", f"The nurse {n} told the clerk that", (" he", " she was")) for n in range(9)]


@pytest.fixture(scope="module")
def folder(tiny_llama: Callable[..., Path]) -> Path:
    return tiny_llama()


@pytest.fixture
def parts(folder: Path) -> tuple[Any, Any]:
    return AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)


def scores(engine: Any) -> list[tuple[tuple[float, ...], ...]]:
    return [score.token_logprobs for batch in engine.score([PROMPTS]) for score in batch]


def test_a_model_and_its_tokenizer_a_pipeline_and_a_path_give_the_same_scores(folder: Path, parts: Any) -> None:
    expected = scores(open_engine(folder))
    pipe = pipeline("text-generation", model=parts[0], tokenizer=parts[1])
    for given in (parts, list(parts), parts[::-1], pipe):
        engine = open_engine(given)
        assert [pytest.approx(row[0], abs=1e-4) for row in expected] == [row[0] for row in scores(engine)]
        assert engine.name == folder.name
        assert engine.description["source"] == "LlamaForCausalLM in memory"
    planted = PlantedEngine()
    assert open_engine(planted) is planted


def test_the_model_is_left_as_it_was(parts: Any) -> None:
    model, _ = parts
    model.train()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    engine = open_engine(parts)
    scores(engine)
    engine.generate(["The nurse"], 3)
    assert model.training
    assert all(type(module) is torch.nn.Linear for name, module in model.named_modules() if name.endswith("_proj"))
    after = model.state_dict()
    assert before.keys() == after.keys() and all(torch.equal(before[name], after[name]) for name in before)


def test_its_key_follows_its_weights(parts: Any) -> None:
    key = identity_key(open_engine(parts))
    assert identity_key(open_engine(parts)) == key
    weight = parts[0].model.layers[1].mlp.down_proj.weight
    with torch.no_grad():
        row = weight[3].clone()
        weight[3], weight[4] = weight[4].clone(), row  # the same numbers at other places
    assert identity_key(open_engine(parts)) != key


def test_a_peft_model_is_one_too(parts: Any) -> None:
    tuned = get_peft_model(parts[0], LoraConfig(r=2, target_modules=["q_proj"]))
    engine = open_engine((tuned, parts[1]))
    assert [row[0] for row in scores(engine)] == [row[0] for row in scores(open_engine((tuned, parts[1])))]
    assert engine.description["source"] == "PeftModel in memory"


def test_anything_else_is_one_sentence(parts: Any) -> None:
    with pytest.raises(ModelError, match=r"a LlamaForCausalLM needs its tokenizer: pass \(model, tokenizer\)"):
        open_engine(parts[0])
    for given in (None, 3, object(), (1, 2, 3)):
        with pytest.raises(ModelError, match="model must be a name"):
            open_engine(given)
    with pytest.raises(ModelError, match=r"model must be \(model, tokenizer\) of transformers, not \(int, int\)"):
        open_engine((1, 2))
    with pytest.raises(ModelError, match="dtype is for models that are loaded by name"):
        open_engine(parts, EngineOptions(dtype="bfloat16"))
