"""GGUF models as plain folders in the cache: dequantised on first use, so that later starts take seconds."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ..cache import cache_folder
from ..files import nearest
from ..options import EngineOptions
from .engine import Engine
from .weights import CHECKED, file_sha256, is_intact, seal
from .wheels import publish, work_folder

LARGER = 10
"""How many times as large as its GGUF file a model in float32 may be."""


def converted(folder: Path, gguf: Callable[[], Path]) -> Path:
    """Return the folder with a dequantised model, made on first use and again when a file in it has changed."""
    with ThreadPoolExecutor() as reader:  # the weights are read while torch is imported
        intact = reader.submit(is_intact, folder)
        from .huggingface.loading import dequantise
    if not intact.result():
        with work_folder(folder.parent) as work:
            dequantise(gguf(), work / "model")
            seal(work / "model")
            if folder.exists():
                os.rename(folder, work / "damaged")
            publish(work / "model", folder)
    return folder


def open_converted(path: Path, options: EngineOptions) -> Engine:
    """Return the engine of a GGUF file; where the disk has no room for it in float32, it is dequantised every time."""
    digest = file_sha256(path, content=options.verify_weights)
    folder = cache_folder() / "models" / f"{path.stem}-{digest[:12]}"
    weights = {"source": str(path), "sha256": digest, "quantisation": "dequantised GGUF"}
    weights["weights_checked"] = CHECKED[options.verify_weights]
    fits = folder.exists() or shutil.disk_usage(nearest(folder)).free > 2 * LARGER * path.stat().st_size
    if fits:
        converted(folder, lambda: path)
    from .huggingface.loading import open_folder, open_gguf

    if not fits:
        return open_gguf(path, options, weights)
    return open_folder(folder, options, name=path.stem, weights=weights)
