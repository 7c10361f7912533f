"""Weights in fewer bits are near the model's, and have keys of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny import LLAMA, make_model, make_tokenizer

from equipoise.options.table import EngineOptions
from equipoise.records import EquipoiseError, Prompt
from equipoise.scoring.engine import identity_key
from equipoise.scoring.huggingface.quantisation import GROUP, KINDS, RoundedLinear, round_weights
from equipoise.scoring.opening import open_engine

PROMPTS = [
    Prompt(f"{who}-{pronoun}", "task", "", f"The {who} told the clerk that {pronoun}", (" was late", f" is the {who}"))
    for who in ("nurse", "driver", "cook", "judge")
    for pronoun in ("he", "she")
]


@pytest.fixture(scope="module")
def folder(tiny_llama: Callable[..., Path]) -> Path:
    return tiny_llama()


def values(engine: Any) -> np.ndarray:
    (scores,) = engine.score([PROMPTS])
    return np.array([value for score in scores for tokens in score.token_logprobs for value in tokens])


def test_fewer_bits_are_near_the_model_and_have_keys_of_their_own(tmp_path: Path) -> None:
    folder, tokenizer = tmp_path / "model", make_tokenizer()
    make_model("LlamaConfig", len(tokenizer), scale=0.1, **{**LLAMA, "intermediate_size": 64}).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    plain, eight, four = (open_engine(str(folder), EngineOptions(quantize=kind)) for kind in (None, "int8", "int4"))
    exact = values(plain)
    near, far = (np.abs(values(engine) - exact).mean() for engine in (eight, four))
    assert 0 < near < 0.02 < far < 0.3
    assert len({identity_key(engine) for engine in (plain, eight, four)}) == 3
    assert eight.description["quantize"] == "int8"
    with pytest.raises(EquipoiseError, match="quantize must be int8 or int4, not 'int3'"):
        open_engine(str(folder), EngineOptions(quantize="int3"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bias", [False, True])
def test_weights_are_the_nearest_steps_of_their_group(kind: str, bias: bool) -> None:
    torch.manual_seed(3)
    layer = torch.nn.Linear(2 * GROUP, 5, bias=bias).requires_grad_(False)
    layer.weight[0, :GROUP] = 0.5  # a group without a spread
    layer.weight[1, GROUP:] *= 100
    rounded = RoundedLinear(layer, kind)
    weight = rounded(torch.eye(2 * GROUP)).t() - (layer.bias[:, None] if bias else 0)
    groups = layer.weight.reshape(5, 2, GROUP)
    low, high = groups.amin(dim=2, keepdim=True), groups.amax(dim=2, keepdim=True)
    step = (high - low) / KINDS[kind]
    steps = (weight.reshape(5, 2, GROUP) - low) / step.clamp(min=1e-12)
    assert torch.allclose(weight.reshape(5, 2, GROUP), groups, atol=float(step.max()) / 2 + 1e-5)
    assert ((weight.reshape(5, 2, GROUP) - groups).abs() <= step / 2 + 1e-5).all()
    spread = steps[step.expand_as(steps) > 0]
    assert torch.allclose(spread, spread.round(), atol=1e-2) and spread.round().min() == 0
    assert spread.round().max() == KINDS[kind]
    assert rounded._steps.dtype == torch.uint8
    assert rounded._steps.numel() == layer.weight.numel() // (2 if kind == "int4" else 1)


def test_layers_of_another_width_and_the_head_stay_as_they_are() -> None:
    model = make_model("LlamaConfig", 300, **LLAMA)
    head = model.get_output_embeddings()
    round_weights(model, "int8")
    layer = model.model.layers[0]
    assert isinstance(layer.self_attn.q_proj, RoundedLinear) and isinstance(layer.mlp.up_proj, RoundedLinear)
    assert type(layer.mlp.down_proj) is torch.nn.Linear, "48 is not a multiple of 32"
    assert model.get_output_embeddings() is head and type(head) is torch.nn.Linear
    with pytest.raises(EquipoiseError, match=r"^the model has no linear layers that can be rounded to int4$"):
        round_weights(model, "int4")
