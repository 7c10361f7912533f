"""A model that is not causal is found out by its answers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from saved_models import BERT
from tiny import make_model, make_tokenizer
from tokenizers import Tokenizer
from tokenizers.models import BPE
from transformers import PreTrainedTokenizerFast

from equipoise.records import ModelError, Prompt
from equipoise.scoring.encoding import Encoder
from equipoise.scoring.huggingface.engine import HuggingFaceEngine
from equipoise.scoring.huggingface.trial import PROMPTS, Trial, check_tokenizer

PROMPT = Prompt("a", "task", "", "The nurse told the driver that she", (" was", " refers to the driver"))


@pytest.mark.parametrize("scale", [0.5, 0.02, 0.01])
def test_a_model_that_sees_later_words_is_found_out_however_small_its_logits(
    scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = make_tokenizer()
    settings = {"is_decoder": True, **BERT}
    causal = make_model("BertConfig", len(tokenizer), scale=scale, **settings)
    masked = make_model("BertConfig", len(tokenizer), scale=scale, **{**settings, "is_decoder": False})
    list(HuggingFaceEngine(causal, tokenizer, name="bert", weights={"sha256": "0"}).score([[PROMPT]]))
    monkeypatch.setattr("equipoise.scoring.huggingface.engine.is_encoder", lambda config: False)
    engine = HuggingFaceEngine(masked, tokenizer, name="bert", weights={"sha256": "0"})
    with pytest.raises(ModelError, match="bert is not a causal language model: its answer at a word depends on"):
        list(engine.score([[PROMPT]]))


class Told:
    """A schedule whose answers are known: plain ones in padded rows, others in packed ones."""

    def __init__(self, packed: Any) -> None:
        self.packed, self.asked = packed, []  # type: ignore[var-annotated]

    def one_by_one(self, batch: Any) -> None:
        self.asked.append((batch.plan.mode, len(batch.plan.counts)))
        plan = batch.plan
        values = [-0.01 * first for first, tokens in zip(plan.firsts, plan.lengths, strict=True) for _ in range(tokens)]
        if batch.plan.mode != "padded":
            values = self.packed(values)
        batch.values = np.array(values)[:, None]


def trial(packed: Any, dtype: torch.dtype = torch.float32, row_tokens: int = 100) -> Trial:
    questions = Encoder(make_tokenizer()).questions(PROMPTS)
    passes = SimpleNamespace(dtype=dtype, shape=SimpleNamespace(row_tokens=row_tokens))
    return Trial(passes, Told(packed), questions, name="m")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("dtype", "shift", "everywhere", "fine"),
    [
        (torch.float32, 0.9e-3, True, True),
        (torch.float32, 1.1e-3, False, False),
        (torch.bfloat16, 0.19, True, True),
        (torch.bfloat16, 0.21, True, False),
        (torch.bfloat16, 1.0, False, True),
    ],
)
def test_other_answers_than_the_plain_ones_are_a_fault(
    dtype: torch.dtype, shift: float, everywhere: bool, fine: bool
) -> None:
    asked = trial(
        lambda values: [value + shift * (everywhere or place == 0) for place, value in enumerate(values)], dtype
    )
    fault = asked.fault("packed")
    assert fault == ("" if fine else f"m gives other answers in packed prefix trees (by {shift:.2g} nats)")
    assert asked._schedule.asked == [("padded", 7), ("packed", 32)]  # type: ignore[attr-defined]
    asked.fault("cached")
    assert asked._schedule.asked[2:] == [("cached", 32)], "plain answers are computed once"  # type: ignore[attr-defined]


def test_a_model_that_cannot_run_a_mode_is_told_and_one_that_is_too_large_refused() -> None:
    def failing(error: Exception) -> Any:
        def answers(values: list[float]) -> list[float]:
            raise error

        return answers

    assert trial(failing(KeyError("mask"))).fault("packed") == "m cannot run packed prefix trees (KeyError)"
    with pytest.raises(ModelError, match="no room"):
        trial(failing(ModelError("no room"))).fault("packed")


def test_a_tokenizer_that_is_not_the_model_s_is_refused() -> None:
    tokenizer = make_tokenizer()
    encoder, config = Encoder(tokenizer), {"n_positions": 64}
    fits = make_model("GPT2Config", len(tokenizer), **config)
    check_tokenizer(encoder, fits, "m")
    largest = max(map(max, encoder.contexts([prompt.context for prompt in PROMPTS])))
    check_tokenizer(encoder, make_model("GPT2Config", largest + 1, **config), "m")
    smaller = make_model("GPT2Config", largest, **config)
    said = rf"^m and its tokenizer do not belong together: it has {largest} tokens, not {largest + 1}$"
    with pytest.raises(ModelError, match=said):
        check_tokenizer(encoder, smaller, "m")
    with pytest.raises(ModelError, match=said):
        list(HuggingFaceEngine(smaller, tokenizer, name="m", weights={"sha256": "1"}).score([[PROMPT]]))
    without_words: list[Any] = [Encoder(PreTrainedTokenizerFast(tokenizer_object=Tokenizer(BPE())))]
    without_words.append(SimpleNamespace(contexts=lambda contexts: [[0] for _ in contexts]))
    for encoder in without_words:
        with pytest.raises(ModelError, match=r"^the tokenizer of m knows no words; its files may be missing"):
            check_tokenizer(encoder, fits, "m")
