"""Models on disk, and the sentence with which one is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
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
    """Return the folder, with a model of that kind and random weights in it."""
    tokenizer = make_tokenizer()
    config = getattr(transformers, kind.replace("ForConditionalGeneration", "").replace("ForMaskedLM", "") + "Config")
    model = getattr(transformers, kind)(config(vocab_size=len(tokenizer), **settings))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
