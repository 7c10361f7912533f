"""What is written is what transformers itself generates, whatever else is in the batch."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from tiny import LLAMA, make_engine

from equipoise.scoring.huggingface.passes import Passes

CONTEXTS = ["The nurse told the driver", "A", "The nurse was late and the driver told the nurse that he", "He"] * 5
MODELS = {
    "llama": ("LlamaConfig", LLAMA),
    "gpt2": ("GPT2Config", {"n_positions": 512}),
    "a short window": ("MistralConfig", {**LLAMA, "sliding_window": 6}),
    "mamba": ("MambaConfig", {"state_size": 4}),
    "falcon": ("FalconConfig", {"alibi": True, "new_decoder_architecture": False}),
}


@pytest.mark.parametrize("stops", [None, 40, list(range(20, 220, 3))], ids=["never", "one", "many"])
@pytest.mark.parametrize("kind", MODELS)
def test_it_is_what_transformers_generates(kind: str, stops: Any) -> None:
    name, settings = MODELS[kind]
    engine = make_engine(name, **settings)
    engine._model.generation_config.eos_token_id = stops
    texts = engine.generate(CONTEXTS, 24)
    assert texts[:4] == texts[4:8] == [engine.generate([context], 24)[0] for context in CONTEXTS[:4]]
    with mock.patch.object(Passes, "steps", False):
        assert engine.generate(CONTEXTS, 24) == texts
    assert any(texts) and engine.generate([], 5) == []


def test_finished_texts_leave_the_batch() -> None:
    engine = make_engine("LlamaConfig", **LLAMA)
    engine._model.generation_config.eos_token_id = list(range(20, 220, 3))
    rows: list[int] = []
    model = engine._model
    model.register_forward_pre_hook(lambda _, __, inputs: rows.append(len(inputs["input_ids"])), with_kwargs=True)
    engine.generate(CONTEXTS[:16], 64)
    assert rows[0] == 16 and (rows[-1] < 16 or len(rows) < 64)


def test_more_contexts_than_fit_are_written_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = make_engine("LlamaConfig", **LLAMA)
    together = engine.generate(CONTEXTS, 8)
    monkeypatch.setattr("equipoise.scoring.huggingface.writing.CPU_TEXTS", 3)
    assert engine.generate(CONTEXTS, 8) == together
