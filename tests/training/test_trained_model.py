"""A model that is trained: what is trainable, put back as it was, and written."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import torch

from equipoise.options import EngineOptions
from equipoise.records import EquipoiseError, ModelError
from equipoise.training import Plan, trained_model
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


def test_the_adapter_is_as_the_plan_says_and_names_the_base_as_the_user_did(tiny_folder: Path, tmp_path: Path) -> None:
    adapters = []
    for seed in (3, 3, 4):
        network, tokenizer = load_for_training(str(tiny_folder), device="cpu")
        torch.manual_seed(99)
        tuned, _ = prepare(network.eval(), "owner/name", Plan(rank=3, seed=seed))
        assert tuned.training
        adapters.append(trained_weights(tuned))
        assert all("lora" in name for name in adapters[-1]) and len(adapters[-1]) == 2 * 7 * 2
    first, again, other = adapters
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first), "the seed draws the adapter"
    save(tuned, tokenizer, Plan(), tmp_path)
    config = json.loads((tmp_path / "adapter_config.json").read_text())
    kept = {name: config[name] for name in ("r", "lora_alpha", "lora_dropout", "base_model_name_or_path", "task_type")}
    assert kept == {
        "r": 3,
        "lora_alpha": 6,
        "lora_dropout": 0.0,
        "base_model_name_or_path": "owner/name",
        "task_type": "CAUSAL_LM",
    }
    assert not (tmp_path / "tokenizer.json").exists()


def test_a_whole_model_is_trained_beside_a_frozen_copy(tiny_folder: Path, tmp_path: Path) -> None:
    network, tokenizer = load_for_training(str(tiny_folder), device="cpu")
    plan = Plan(method="full")
    tuned, reference = prepare(network.eval(), "owner/name", plan)
    assert tuned is network and tuned.training
    assert set(trained_weights(tuned)) == {name for name, _ in network.named_parameters()}
    with reference.model() as base:
        assert base is not network and not base.training
        assert not any(weight.requires_grad for weight in base.parameters())
    kept = trained_weights(tuned)
    assert not any(weight.requires_grad for weight in kept.values())
    save(tuned, tokenizer, plan, tmp_path)
    assert (tmp_path / "tokenizer.json").is_file() and (tmp_path / "config.json").is_file()
    with pytest.raises(EquipoiseError, match=r"^the checkpoint belongs to another model or method; give a new out"):
        set_trained_weights(tuned, dict(list(kept.items())[1:]))


def test_where_a_model_is_loaded_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[tuple[object, ...]] = []
    monkeypatch.setattr(trained_model, "load", lambda *asked: loaded.append(asked) or ("model", "tokenizer"))
    monkeypatch.setattr(trained_model, "model_folder", lambda: Path("default"))
    monkeypatch.setattr(trained_model, "only_cached", lambda spec: spec == "owner/cached")
    monkeypatch.setenv("HOME", str(tmp_path.parent))
    usual = EngineOptions(device="cpu", dtype="float32")
    cases = {
        "": ("default", {}),
        "smollm2": ("default", {}),
        str(tmp_path): (str(tmp_path), {}),
        f"~/{tmp_path.name}": (str(tmp_path), {}),
        "owner/cached": ("owner/cached", {"local_files_only": True}),
        "owner/other": ("owner/other", {"local_files_only": False}),
    }
    for spec, (source, extra) in cases.items():
        assert load_for_training(spec, device="cpu") == ("model", "tokenizer")
        assert loaded.pop() == (source, usual, extra)
    load_for_training("owner/other")
    assert loaded.pop()[1] == EngineOptions(device="auto", dtype="float32")
    for spec in ("planted", "planted?x=1", "./a", "/a", "~/a", "owner/MODEL.GGUF"):
        with pytest.raises(
            ModelError, match=rf"^{re.escape(spec)} cannot be trained; give smollm2, a folder with safe"
        ):
            load_for_training(spec)
