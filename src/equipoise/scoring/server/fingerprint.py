"""Recognises a served model by its answers to fixed probes, so that another model under the same name is noticed.

Answers vary a little from start to start. The first answers of a model are kept in the cache; later ones that agree
within a tolerance get the same fingerprint, others a new one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from filelock import FileLock

from ...cache import cache_folder
from ...files import sha256, write_file

TOLERANCE = 0.02
"""Nats by which answers of one model may differ from start to start."""

SHARED = 0.8
"""Share of the answers that must be about the same tokens."""


def fingerprint(model: str, answers: Mapping[str, float]) -> str:
    """Return the fingerprint of these answers: a known one where they agree with it, else a new one."""
    fresh = sha256(json.dumps(sorted(answers.items())))[:16]
    path = cache_folder() / "servers" / (sha256(model)[:16] + ".json")
    try:
        with FileLock(path.with_suffix(".lock")):  # makes the folder
            known = _read(path)
            for name, before in known.items():
                if _agree(before, answers):
                    return name
            write_file(path, json.dumps({**known, fresh: dict(answers)}).encode())
    except OSError:
        pass  # without a cache every start has its own fingerprint, and scores are computed again
    return fresh


def _agree(before: Mapping[str, float], after: Mapping[str, float]) -> bool:
    shared = set(before) & set(after)
    enough = len(shared) >= SHARED * max(len(before), len(after), 1)
    return enough and all(abs(before[name] - after[name]) <= TOLERANCE for name in shared)


def _read(path: Any) -> dict[str, dict[str, float]]:
    try:
        known = json.loads(path.read_text())
        return {name: {token: float(value) for token, value in answers.items()} for name, answers in known.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}
