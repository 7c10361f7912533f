"""Facts of a model: an encoder is known by its architecture."""

from __future__ import annotations

from pathlib import Path

import pytest
<<<<<<< HEAD
import torch
from tiny import make_tokenizer

from equipoise.options.table import EngineOptions
from equipoise.records import ModelError
from equipoise.scoring.opening import open_engine

BERT = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}


def refusal(spec: Path | str, **options: Any) -> str:
    """Return the sentence with which a model is refused."""
    with pytest.raises(ModelError) as caught:
        open_engine(str(spec), EngineOptions(**options))
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert len(sentence) < 600
    return sentence


def save(kind: str, folder: Path, **settings: Any) -> Path:
    import transformers

    tokenizer = make_tokenizer()
    config = getattr(transformers, kind.replace("ForConditionalGeneration", "").replace("ForMaskedLM", "") + "Config")
    model = getattr(transformers, kind)(config(vocab_size=len(tokenizer), **settings))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
=======
from saved_models import BERT, refusal, save
>>>>>>> scoring


@pytest.mark.parametrize("kind", ["Bert", "Roberta", "Electra"])
def test_an_encoder_is_refused_by_its_architecture(tmp_path: Path, kind: str) -> None:
    folder = save(f"{kind}ForMaskedLM", tmp_path / "masked", **BERT)
    refused = f"masked is not a causal language model: {kind.lower()} is an encoder, which predicts masked words"
    assert refusal(folder) == refused


def test_an_encoder_with_a_decoder_is_refused(tmp_path: Path) -> None:
    t5 = save("T5ForConditionalGeneration", tmp_path / "t5", d_model=32, num_layers=1, num_heads=2, d_ff=32, d_kv=16)
    assert refusal(t5) == f"the model {t5} cannot be loaded: it is not a causal language model"
