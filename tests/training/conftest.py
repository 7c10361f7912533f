"""A tiny model with random weights, saved as a folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny import LLAMA, make_model, make_tokenizer

WORDS = (" nurse", " driver", " the", "The", " he", " she", " pronoun", " refers", " to", " because", " had", " asked")


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    tokenizer = make_tokenizer(WORDS)
    make_model("LlamaConfig", len(tokenizer), **LLAMA).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
