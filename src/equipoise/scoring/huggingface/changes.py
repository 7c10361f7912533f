"""Changes to a loaded model that a user may ask for: a LoRA adapter of peft, and weights in fewer bits by torchao."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from ...records import ModelError
from ..engine import EngineOptions
from ..weights import weights_sha256

QUANTIZED = ("int8", "int4")

GROUP = 32
"""Weights that share a scale at 4 bits."""


def changed(model: Any, options: EngineOptions) -> tuple[Any, dict[str, str]]:
    """Return the model with the adapter and the quantisation of the options, and what to record about them."""
    record: dict[str, str] = {}
    if options.adapter is not None:
        model = _adapted(model, Path(options.adapter).expanduser(), options)
        record = {"adapter": options.adapter, "adapter_sha256": _adapter_sha256(Path(options.adapter).expanduser())}
        record["adapter_merged"] = "yes" if options.merge_adapter else "no"
    elif options.merge_adapter:
        raise ModelError("merge_adapter needs an adapter")
    if options.quantize is not None:
        _quantize(model, options.quantize)
        record["quantize"] = options.quantize
    return model, record


def _adapted(model: Any, folder: Path, options: EngineOptions) -> Any:
    if not (folder / "adapter_config.json").is_file():
        raise ModelError(f"{folder} is not a folder with a peft adapter: it has no adapter_config.json")
    if not (folder / "adapter_model.safetensors").is_file() and not options.allow_pickle:
        raise ModelError(
            f"{folder} has no safetensors adapter; set allow_pickle to load a pickled one, which can run code"
        )
    try:
        from peft import PeftModel
    except ImportError:
        raise ModelError("an adapter needs peft: pip install 'equipoise[adapters]'") from None
    try:
        adapted = PeftModel.from_pretrained(model, str(folder), is_trainable=False)
        return adapted.merge_and_unload() if options.merge_adapter else adapted
    except Exception as error:  # peft raises many kinds where an adapter does not fit its model
        reason = " ".join(str(error).split())[:300]
        raise ModelError(f"the adapter {folder} cannot be loaded: {type(error).__name__}: {reason}") from error


def _adapter_sha256(folder: Path) -> str:
    files = [folder / "adapter_config.json", *sorted(folder.glob("adapter_model.*"))]
    return weights_sha256(files)


def _quantize(model: Any, kind: str) -> None:
    """Round the weights of all linear layers but the head: to 8 or 4 bits."""
    if kind not in QUANTIZED:
        raise ModelError(f"quantize must be {' or '.join(QUANTIZED)}, not {kind!r}")
    try:
        from torchao.quantization import Int8WeightOnlyConfig, IntxWeightOnlyConfig, PerGroup, quantize_
    except ImportError:
        raise ModelError("quantize needs torchao: pip install 'equipoise[quantize]'") from None
    head = model.get_output_embeddings()

    def inner(module: Any, _: str) -> bool:
        linear = isinstance(module, torch.nn.Linear) and module is not head
        return linear and (kind == "int8" or module.in_features % GROUP == 0)

    if not any(inner(module, "") for module in model.modules()):
        raise ModelError(f"the model has no linear layers that can be rounded to {kind}")

    four_bits = IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(GROUP))  # type: ignore[attr-defined]
    quantize_(model, Int8WeightOnlyConfig() if kind == "int8" else four_bits, filter_fn=inner)
