"""Loads a model to be trained, puts a LoRA adapter on it, and writes what was trained."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..files import at_home
from ..options import EngineOptions
from ..records import EquipoiseError, ModelError
from ..scoring.default_model import model_folder
from ..scoring.engine import DEFAULT_MODEL
from ..scoring.huggingface.loading import load, only_cached
from .leash import Reference
from .tune_plan import Plan


def load_for_training(spec: str, *, device: str = "auto") -> tuple[Any, Any]:
    """Return (model, tokenizer) in float32: `smollm2`, a folder, or a hub's model; every failure is one sentence."""
    source, extra = _source(spec)
    return load(source, EngineOptions(device=device, dtype="float32"), extra)


def _source(spec: str) -> tuple[str, dict[str, Any]]:
    if spec in ("", DEFAULT_MODEL):
        return str(model_folder()), {}
    folder = at_home(spec)
    if folder.is_dir():
        return str(folder), {}
    if spec.startswith(("planted", ".", "/", "~")) or spec.lower().endswith(".gguf"):
        raise ModelError(f"{spec} cannot be trained; give smollm2, a folder with safetensors weights, or a hub's model")
    return spec, {"local_files_only": only_cached(spec)}


def prepare(model: Any, spec: str, plan: Plan) -> tuple[Any, Reference]:
    """Return the model with what is to be trained set trainable, and its base for the leash."""
    if plan.method == "full":
        frozen = deepcopy(model).eval().requires_grad_(False)
        return model.train(), Reference(model, frozen)
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(plan.seed)
    config = LoraConfig(
        r=plan.rank, lora_alpha=2 * plan.rank, lora_dropout=0.0, target_modules="all-linear", task_type="CAUSAL_LM"
    )
    tuned = get_peft_model(model, config)
    # The name that the user gave, not the folder of a cache on this machine.
    tuned.peft_config["default"].base_model_name_or_path = spec
    return tuned.train(), Reference(tuned)


def trained_weights(model: Any) -> dict[str, Tensor]:
    """Return a copy of the weights that are being trained, by name."""
    return {name: weight.detach().cpu().clone() for name, weight in model.named_parameters() if weight.requires_grad}


def set_trained_weights(model: Any, weights: Mapping[str, Tensor]) -> None:
    """Put weights back that `trained_weights` returned."""
    known = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    if set(known) != set(weights):
        raise EquipoiseError("the checkpoint belongs to another model or method; give a new out folder")
    with torch.no_grad():
        for name, weight in weights.items():
            known[name].copy_(weight)


def save(model: Any, tokenizer: Any, plan: Plan, folder: Path) -> None:
    """Write the adapter, or with method "full" the whole model and its tokenizer, into the folder."""
    if plan.method == "full":
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    else:
        # The embeddings are not trained; to find that out, peft would ask the hub for a model of the base's name.
        model.save_pretrained(folder, save_embedding_layers=False)
