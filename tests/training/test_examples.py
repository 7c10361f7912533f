"""The examples of docs/training.md run as printed, in order, on a tiny model."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from equipoise.training.trained_model import load_for_training

PAGE = Path(__file__).resolve().parents[2] / "docs" / "training.md"
HEADINGS = ("Plain torch", "Trainer of transformers", "TRL")


def block(heading: str) -> str:
    section = PAGE.read_text(encoding="utf-8").partition(f"### {heading}\n")[2]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)[0]


@pytest.mark.slow
def test_every_example_trains(tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    model, tokenizer = load_for_training(str(tiny_folder), device="cpu")
    tokenizer.pad_token = tokenizer.eos_token
    names: dict[str, object] = {"model": model, "tokenizer": tokenizer}
    for heading in HEADINGS:
        before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
        exec(compile(block(heading), heading, "exec"), names)
        changed = [name for name, weight in model.named_parameters() if not torch.equal(weight, before[name])]
        assert changed, f"the example {heading!r} changed no weight"
        assert all(torch.isfinite(weight).all() for weight in model.parameters())
