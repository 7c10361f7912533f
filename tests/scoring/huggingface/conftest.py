"""A good model in a folder, and a copy of it to do damage to."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tiny import LLAMA, make_model, make_tokenizer


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a good model in it."""
    folder = tmp_path_factory.mktemp("models") / "good"
    tokenizer = make_tokenizer(template="<s> $A")
    make_model("LlamaConfig", len(tokenizer), **LLAMA).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the good model to do damage to."""
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    return Path(shutil.copytree(saved, tmp_path / "model"))
