"""A model that is not causal is found out by its answers."""

from __future__ import annotations

import pytest
from saved_models import BERT
from tiny import make_model, make_tokenizer

from equipoise.records import ModelError, Prompt
from equipoise.scoring.huggingface.engine import HuggingFaceEngine

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
