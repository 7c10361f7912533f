"""Attention in segments gives what one mask for the row gives, and a borrowed model keeps its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from exactness import plain_scores
from tiny import LLAMA, make_model, make_tokenizer

from equipoise.options import EngineOptions
from equipoise.records import Prompt
from equipoise.scoring.huggingface.loading import open_in_memory
from equipoise.scoring.packing import prefix_tree
from equipoise.scoring.packing.shape import CPU_ROW_TOKENS, DENSE_ROW_TOKENS

PROMPTS = [
    Prompt(f"{who}-{whom}", "task", "", f"The {who} told the {whom} that {pronoun} was", (" late", " a nurse"))
    for who in ("driver", "cook", "judge")
    for whom in ("nurse", "clerk")
    for pronoun in ("he", "she")
]


def engine_of(kind: str, **settings: Any) -> Any:
    tokenizer = make_tokenizer()
    return open_in_memory((make_model(kind, len(tokenizer), **settings), tokenizer), EngineOptions())


def values(engine: Any) -> list[float]:
    (scores,) = engine.score([PROMPTS])
    return [value for score in scores for tokens in score.token_logprobs for value in tokens]


def test_segments_give_what_one_mask_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefix_tree, "START_COST", 10)  # many segments
    engine = engine_of("LlamaConfig", **LLAMA)
    in_segments = values(engine)
    assert engine._passes.segmented and engine.shape.row_tokens == CPU_ROW_TOKENS
    engine._passes.attend_densely()
    assert engine.shape.row_tokens == DENSE_ROW_TOKENS
    np.testing.assert_allclose(in_segments, values(engine), atol=1e-5)


def test_a_model_that_does_not_hand_segments_on_has_one_mask() -> None:
    engine = engine_of("LlamaConfig", **LLAMA)
    forward = engine._model.model.forward
    engine._model.model.forward = lambda *given, segments=None, **named: forward(*given, **named)
    expected = [value for score in plain_scores(engine, PROMPTS) for tokens in score.token_logprobs for value in tokens]
    np.testing.assert_allclose(values(engine), expected, atol=1e-5)
    assert not engine._passes.segmented and engine.shape.row_tokens == DENSE_ROW_TOKENS
    assert engine.description["scoring"] == "packed prefix trees" and not engine.notes


def test_a_model_that_does_not_choose_its_attention_has_one_mask() -> None:
    engine = engine_of("GPTJConfig", n_embd=32, n_layer=2, n_head=4, rotary_dim=4, n_positions=512)
    assert not engine._passes.segmented and engine.shape.row_tokens == DENSE_ROW_TOKENS


def test_a_borrowed_model_has_its_own_attention_afterwards() -> None:
    engine = engine_of("LlamaConfig", **LLAMA)
    values(engine)
    assert engine._passes.segmented and engine._model.config._attn_implementation == "sdpa"
    engine.generate(["The nurse said that"], 3)
    assert engine._model.config._attn_implementation == "sdpa"
