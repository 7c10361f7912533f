"""Attention in segments gives what one mask for the row gives, and a borrowed model keeps its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from exactness import plain_scores
from tiny import LLAMA, make_model, make_tokenizer

from equipoise.options import EngineOptions
from equipoise.records import Prompt
from equipoise.scoring.huggingface import attention
from equipoise.scoring.huggingface.attention import grouped_attention, segment_views
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


def plain_attention(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    """Return the attention of one query by repeating keys and values for all heads that share them."""
    times = query.shape[1] // key.shape[1]
    keys, values = (part.repeat_interleave(times, dim=1) for part in (key, value))
    scores = (query @ keys.transpose(2, 3)) * scale
    if mask is not None:
        part = mask[:, :, :, : key.shape[2]]
        scores = scores.masked_fill(~part, -1e30) if part.dtype == torch.bool else scores + part
    return (scores.softmax(dim=-1) @ values).transpose(1, 2)


@pytest.mark.parametrize("scaling", [None, 0.9])
@pytest.mark.parametrize("kind", ["none", "bool", "added"])
def test_heads_that_share_keys_are_multiplied_with_them_together(kind: str, scaling: float | None) -> None:
    torch.manual_seed(1)
    query, key, value = torch.randn(3, 6, 1, 4), torch.randn(3, 2, 5, 4), torch.randn(3, 2, 5, 7)
    seen = torch.rand(3, 1, 1, 8) < 0.6
    seen[..., 0] = True
    mask = {"none": None, "bool": seen, "added": torch.where(seen, 0.0, -1e30)}[kind]
    chosen = {} if scaling is None else {"scaling": scaling}
    output, weights = grouped_attention(None, query, key, value, mask, **chosen)
    assert weights is None and output.shape == (3, 1, 6, 7)
    assert torch.allclose(output, plain_attention(query, key, value, mask, scaling or 0.5), atol=1e-5)


@pytest.mark.parametrize("settings", [{"softcap": 1.0}, {"s_aux": 1}, {"position_bias": 1}, {"dropout": 0.5}, {}])
def test_what_is_unusual_is_left_to_transformers(settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(attention, "sdpa_attention_forward", lambda *given, **named: asked.append(named) or ("o", None))
    queries = 1 if settings else 2
    query, key = torch.randn(1, 2, queries, 4), torch.randn(1, 2, 5, 4)
    assert grouped_attention("module", query, key, key, None, **settings) == ("o", None)
    assert asked == [settings]


def test_what_the_nodes_of_a_segment_see() -> None:
    ends = np.array([6, 3, 3, 6, 5, 6])
    depths = np.array([0, 1, 2, 1, 2, 2])
    for fresh in (np.arange(6), np.array([2, 4, 5]), np.array([0, 1])):
        parts = prefix_tree.segments(depths, ends)
        views = segment_views(parts, torch.tensor(ends), torch.tensor(fresh), torch.float32)
        covered = [place for view in views for place in range(view.start, view.stop)]
        assert covered == list(range(len(fresh)))
        for view in views:
            for place in range(view.start, view.stop):
                node = fresh[place]
                row = view.mask[0, 0, place - view.start]
                visible = {int(other) for other, value in zip(view.seen, row, strict=True) if value == 0}
                assert visible == {other for other in range(6) if other <= node < ends[other]}
                assert set(row[row != 0].tolist()) <= {float(torch.finfo(torch.float32).min)}
