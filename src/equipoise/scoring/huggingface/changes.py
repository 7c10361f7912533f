"""Changes to a loaded model that a user may ask for: a LoRA adapter of peft, and weights in fewer bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...options import EngineOptions
from ...records import ModelError
from ..weights import weights_sha256
from .rounding import round_weights


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
        round_weights(model, options.quantize)
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
