"""Engines of models that are in memory already: (model, tokenizer), or a pipeline. The models are not changed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from ...options import EngineOptions
from ...records import ModelError
from .engine import HuggingFaceEngine
from .model import parameters_sha256

ABOUT_LOADING = (
    "device",
    "dtype",
    "revision",
    "adapter",
    "merge_adapter",
    "quantize",
    "trust_remote_code",
    "allow_pickle",
)


def open_in_memory(parts: Sequence[Any], options: EngineOptions) -> HuggingFaceEngine:
    """Return the engine of a model and its tokenizer, given in any order."""
    models = [part for part in parts if hasattr(part, "get_output_embeddings")]
    tokenizers = [part for part in parts if hasattr(part, "convert_ids_to_tokens")]
    if len(parts) != 2 or len(models) != 1 or len(tokenizers) != 1:
        kinds = ", ".join(type(part).__name__ for part in parts)
        raise ModelError(f"model must be (model, tokenizer) of transformers, not ({kinds})")
    usual = EngineOptions()
    loading = [name for name in ABOUT_LOADING if getattr(options, name) != getattr(usual, name)]
    if loading:
        raise ModelError(f"{loading[0]} is for models that are loaded by name; this model is in memory already")
    (model,), (tokenizer,) = models, tokenizers
    name = PurePath(str(getattr(model.config, "_name_or_path", ""))).name or type(model).__name__
    weights = {"source": f"{type(model).__name__} in memory", "sha256": parameters_sha256(model)}
    return HuggingFaceEngine(model, tokenizer, name=name, weights=weights, options=options, borrowed=True)
