"""Remembers which models have passed their trial, so that the next start of the same model scores at once.

Only a trial without any fault is remembered: for the same weights, configuration, tokenizer and options, the same code
that scores and versions of what it uses, and the same processor or GPU. Whatever could change an answer means a new
trial.
"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
import transformers

from ...cache import cache_folder
from ...files import sha256, write_file

FOLDER = "trials"
HERE = Path(__file__).parent


def circumstances(model: Any, identity: Mapping[str, Any], **chosen: Any) -> dict[str, Any] | None:
    """Return all that the outcome of a trial depends on; None where the model's weights or code are not known."""
    has_hash = re.fullmatch(r"[0-9a-f]{64}", str(identity.get("weights")))
    if not has_hash or not type(model).__module__.startswith("transformers.models."):
        return None
    device = next(model.parameters()).device
    return {
        "identity": dict(identity),
        "code": _code_sha256(),
        "versions": [torch.__version__, transformers.__version__],
        "machine": _processor() if device.type == "cpu" else torch.cuda.get_device_name(device),
        **chosen,
    }


def has_passed(facts: Mapping[str, Any] | None) -> bool:
    """Return whether a model has passed its trial before, in the same circumstances."""
    try:
        return facts is not None and _file(facts).read_text(encoding="utf-8") == _text(facts)
    except (OSError, ValueError):
        return False


def remember(facts: Mapping[str, Any] | None) -> None:
    """Keep that a model has passed its trial."""
    with suppress(OSError):  # without a cache every start tries the model again
        if facts is not None:
            write_file(_file(facts), _text(facts).encode())


def _code_sha256() -> str:
    """Return the hash of the code that scores."""
    files = [file for folder in (HERE, HERE.parent / "packing") for file in sorted(folder.glob("*.py"))]
    return sha256(b"".join(file.read_bytes() for file in files))


def _processor() -> str:
    return f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}"


def _file(facts: Mapping[str, Any]) -> Path:
    return cache_folder() / FOLDER / f"{sha256(_text(facts))[:32]}.json"


def _text(facts: Mapping[str, Any]) -> str:
    return json.dumps(facts, sort_keys=True, indent=1)
