"""A model that is trained: what is trainable, put back as it was, and written."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from equipoise.records import EquipoiseError, ModelError
from equipoise.training import Plan
from equipoise.training.trained_model import load_for_training, prepare, save, set_trained_weights, trained_weights


@pytest.mark.parametrize(("method", "file"), [("lora", "adapter_model.safetensors"), ("full", "model.safetensors")])
def test_weights_are_put_back_and_the_base_stays(method: str, file: str, tiny_folder: Path, tmp_path: Path) -> None:
    network, tokenizer = load_for_training(str(tiny_folder), device="cpu")
    plan = Plan(method=method, rank=2)
    tuned, reference = prepare(network, "owner/name", plan)
    kept = trained_weights(tuned)
    ids = torch.tensor([[1, 2, 3]])
    with torch.no_grad():
        before = tuned(input_ids=ids).logits
        for weight in tuned.parameters():
            if weight.requires_grad:
                weight.add_(0.1)
        changed = tuned(input_ids=ids).logits
        with reference.model() as base:
            assert torch.allclose(base(input_ids=ids).logits, before, atol=1e-5)
        set_trained_weights(tuned, kept)
        assert torch.equal(tuned(input_ids=ids).logits, before) and not torch.allclose(changed, before)
    save(tuned, tokenizer, plan, tmp_path)
    assert (tmp_path / file).is_file()
    with pytest.raises(EquipoiseError, match="another model or method"):
        set_trained_weights(tuned, {"nothing": torch.zeros(1)})


@pytest.mark.parametrize("spec", ["planted", "./model.gguf", "/no/such/folder"])
def test_what_cannot_be_trained_is_one_sentence(spec: str) -> None:
    with pytest.raises(ModelError, match="cannot be trained; give smollm2"):
        load_for_training(spec)
