"""Norms are fused only where they then give what the model's own give."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    Gemma3TextConfig,
    GPT2Config,
    LlamaConfig,
    MistralConfig,
    Olmo2Config,
    Qwen3Config,
)

from equipoise.scoring.huggingface.norms import FusedNorm, fuse_norms

SMALL = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "vocab_size": 60,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": 2,
}
KINDS = {"llama": (LlamaConfig, 5), "qwen": (Qwen3Config, 9), "mistral": (MistralConfig, 5), "olmo": (Olmo2Config, 9)}


def made(config: Any, dtype: torch.dtype) -> Any:
    """Return a model with norms that do something."""
    torch.manual_seed(1)
    model = AutoModelForCausalLM.from_config(config).to(dtype).eval()
    for name, weight in model.named_parameters():
        if "norm" in name or "ln_" in name:
            weight.data = torch.randn_like(weight) * 0.3 + 1.0
    return model


@torch.inference_mode()
def logits(model: Any) -> torch.Tensor:
    answered: torch.Tensor = model(torch.arange(40).reshape(2, 20)).logits.float()
    return answered


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_fused_norms_give_the_answers_of_the_model(kind: str, dtype: torch.dtype) -> None:
    config, norms = KINDS[kind]
    model = made(config(**SMALL), dtype)
    names, before = [name for name, _ in model.named_parameters()], logits(model)
    assert fuse_norms(model) == norms
    assert sum(isinstance(module, FusedNorm) for module in model.modules()) == norms
    assert [name for name, _ in model.named_parameters()] == names
    tolerance = {torch.float32: 1e-6, torch.float16: 2e-3, torch.bfloat16: 2e-2}[dtype]
    assert float((logits(model) - before).abs().max()) <= tolerance
    assert fuse_norms(model) == 0, "they are fused already"


@pytest.mark.parametrize(
    "config",
    [Gemma3TextConfig(**SMALL), GPT2Config(n_embd=32, n_layer=1, n_head=4, vocab_size=60, bos_token_id=0)],
    ids=["weights counted from 1", "another norm"],
)
def test_other_norms_stay_as_they_are(config: Any) -> None:
    model = made(config, torch.float32)
    before = logits(model)
    assert fuse_norms(model) == 0
    assert torch.equal(logits(model), before)


class GatedRMSNorm(torch.nn.Module):
    """A norm that may be given a gate."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.eps = torch.nn.Parameter(torch.ones(8)), 1e-6

    def forward(self, states: torch.Tensor, gate: torch.Tensor | None = None) -> torch.Tensor:
        normal = self.weight * states * states.pow(2).mean(-1, keepdim=True).add(1e-6).rsqrt()
        return normal if gate is None else normal * gate


def test_a_norm_that_is_given_more_than_states_stays_as_it_is() -> None:
    parent = torch.nn.Sequential(GatedRMSNorm())
    assert fuse_norms(parent) == 0
    states = torch.arange(8.0)
    assert torch.equal(parent[0](states, states), parent[0](states) * states)


class OddRMSNorm(torch.nn.Module):
    """A norm that is told by its name, and computes something else."""

    def __init__(self, **facts: Any) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(8))
        self.eps = 1e-6
        for name, fact in facts.items():
            setattr(self, name, fact)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        scale = states.pow(2).mean(-1, keepdim=True).add(1e-6).rsqrt()
        return self.weight * states * scale + getattr(self, "bias", 0.0) + getattr(self, "moved", 0.0)


@pytest.mark.parametrize(
    ("facts", "fused"),
    [
        ({}, 1),
        ({"eps": None}, 0),
        ({"eps": 1e-2}, 0),
        ({"moved": 1e-4}, 0),
        ({"bias": torch.nn.Parameter(torch.zeros(8))}, 0),
        ({"weight": torch.nn.Parameter(torch.ones(2, 8))}, 0),
    ],
    ids=["like others", "no epsilon", "another epsilon", "moved", "a bias", "a weight for each head"],
)
def test_a_norm_is_judged_by_what_it_computes(facts: dict[str, Any], fused: int) -> None:
    parent = torch.nn.Sequential(OddRMSNorm(**facts))
    assert fuse_norms(parent) == fused
