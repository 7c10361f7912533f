"""How long a cell will take when its model has not been seen yet: a rough figure from the size of its weights."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from ..scoring.engine import DEFAULT_MODEL
from .rehearsal import Rehearsal

CELL_SECONDS = 5.0
"""What a cell takes whatever its size: measuring and the page."""

PLANTED_PROMPTS = 5000.0
"""Prompts that a planted engine answers in a second."""

CORE_RATE = 1.3e11
"""Parameters x tokens x 2 that a core does in a second: SmolLM2 answers 29 prompts/s on two (docs/scale.md)."""

GPU_RATE = 1.2e15
"""The same of an H200 in bfloat16: 2,200 prompts/s of a model of 8 billion parameters (docs/scale.md)."""

CHARACTERS = 4.0
"""Characters of a token. Shared beginnings, which are computed once, are part of the two rates."""

SMALL = 135e6
"""Parameters of the default model."""

GGUF_BYTES = 0.65
"""Bytes of a parameter in a GGUF file of four bits."""

BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}


def forecast(spec: str, rehearsal: Rehearsal, *, device: str) -> float | None:
    """Return the seconds that a cell will take, within a factor of about three; None where nothing is known."""
    if spec.partition(":")[0] == "planted":
        return CELL_SECONDS + rehearsal.prompts / PLANTED_PROMPTS
    weights = parameters(spec)
    if weights is None or rehearsal.texts:
        return None
    on_gpu = device != "cpu" and shutil.which("nvidia-smi") is not None
    rate = GPU_RATE if on_gpu else CORE_RATE * (os.cpu_count() or 1)
    return CELL_SECONDS + 2 * weights * rehearsal.characters / CHARACTERS / rate


def parameters(spec: str) -> float | None:
    """Return about how many parameters a model has, from the size of its files; None where they are not here."""
    if spec in ("", DEFAULT_MODEL, "default:"):
        return SMALL
    path = Path(spec.removeprefix("hf:").removeprefix("gguf:")).expanduser()
    if path.suffix.lower() == ".gguf" and path.is_file():
        return path.stat().st_size / GGUF_BYTES
    size = sum(file.stat().st_size for file in path.glob("*.safetensors")) if path.is_dir() else 0
    return size / _bytes_of_a_parameter(path / "config.json") if size else None


def _bytes_of_a_parameter(config: Path) -> int:
    try:
        settings = json.loads(config.read_text(encoding="utf-8"))
        return BYTES.get(str(settings.get("dtype") or settings.get("torch_dtype")), 2)
    except (OSError, ValueError, AttributeError):
        return 2
