"""Keeps what a model wrote when it was asked to reason: append-only, content-addressed, in the run's folder.

A line of JSON for each question: its key, the question and the reasoning. A line cut off by a crash is passed over,
and its question is asked again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from ..records import Context, ModelError
from .engine import Engine, identity_key

BATCH = 16
"""Questions generated together: what a crash can lose."""


@runtime_checkable
class Generates(Protocol):
    """An engine that can write."""

    def generate(self, prompts: Sequence[Context], max_new_tokens: int) -> list[str]:
        """Return what the model says next, word by word the most probable, at most so many tokens."""
        ...


def reason(
    engine: Engine,
    questions: Sequence[Context],
    *,
    budget: int,
    path: Path,
    progress: Callable[[int, int], None] | None = None,
) -> dict[Context, str]:
    """Return the model's reasoning on every question; what stands in the file at `path` is not asked again."""
    if not isinstance(engine, Generates):
        raise ModelError(f"{engine.name} cannot write text, so it cannot be asked to reason; use a task without -cot")
    identity = identity_key(engine)
    # Neighbours in length share a batch, so that little of it is padding.
    unique = sorted(dict.fromkeys(questions), key=lambda question: (len(str(question)), str(question)))
    keys = {question: _key(identity, question, budget) for question in unique}
    known = _read(path)
    missing = [question for question in unique if keys[question] not in known]
    done = len(unique) - len(missing)
    if progress:
        progress(done, len(unique))
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a", encoding="utf-8") as file:
        if path.stat().st_size and not path.read_bytes().endswith(b"\n"):
            file.write("\n")
        for start in range(0, len(missing), BATCH):
            batch = missing[start : start + BATCH]
            for question, text in zip(batch, engine.generate(batch, budget), strict=True):
                line = {"key": keys[question], "question": question, "reasoning": text}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
                known[keys[question]] = text
            file.flush()
            os.fsync(file.fileno())
            done += len(batch)
            if progress:
                progress(done, len(unique))
    return {question: known[keys[question]] for question in unique}


def _key(identity: str, question: Context, budget: int) -> str:
    content = json.dumps([identity, question, budget], ensure_ascii=False)
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _read(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    known = {}
    for line in path.read_bytes().split(b"\n"):
        try:
            entry: Mapping[str, Any] = json.loads(line)
            known[str(entry["key"])] = str(entry["reasoning"])
        except (ValueError, KeyError, TypeError):
            continue  # cut off by a crash: asked again
    return known
