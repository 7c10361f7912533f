"""What runs in an actor: one engine, loaded once. Errors come back as sentences; only a killed process is a fault."""

from __future__ import annotations

import os
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...options import EngineOptions
from ...records import Context, EquipoiseError, Example, ModelError, Prompt, Sampling, Score
from ..engine import Opener, facts_of, local_path

Answer = dict[str, Any]
"""`{"value": …}` with what was asked for, or `{"error": …}` with an error that is a sentence."""

State = tuple[dict[str, Any], list[str]]
"""The description and the notes of an engine."""

MISSING = "missing"
"""In an answer: the model's files are not on this node."""


def pack_files(path: Path) -> dict[str, bytes]:
    """Return the files of a model by their names, for nodes that cannot see them."""
    if path.is_file():
        return {path.name: path.read_bytes()}
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


def unpack_files(files: Mapping[str, bytes], name: str) -> Path:
    """Return the path of these files, written to a new folder of this node under the model's own name."""
    folder = Path(tempfile.mkdtemp(prefix="equipoise-model-")) / name
    single = list(files) == [name]
    for inside, content in files.items():
        place = folder if single else folder / inside
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    return folder


def _answered(work: Callable[[], Any]) -> Answer:
    try:
        return {"value": work()}
    except EquipoiseError as error:
        return {"error": error}
    except Exception as error:  # anybody's model code
        traceback.print_exc()
        return {"error": ModelError(f"a worker of the cluster failed: {type(error).__name__}: {error}")}


class Scorer:
    """An engine in a process of its own."""

    def __init__(self, opener: Opener, cores: int) -> None:
        self._opener = opener
        # Before torch is imported: it reads this once.
        os.environ["OMP_NUM_THREADS"] = str(cores)
        self._engine: Any = None

    def open(self, spec: str, options: EngineOptions, files: Mapping[str, bytes] | None = None) -> Answer:
        """Open the engine, and return what there is to know of it; `files` are used where the path is not here."""
        path = local_path(spec)
        if files is not None:
            spec = str(unpack_files(files, path.name))
        elif path.is_absolute() and not path.exists():
            return {MISSING: True}
        return _answered(lambda: self._open(spec, options))

    def _open(self, spec: str, options: EngineOptions) -> dict[str, Any]:
        self._engine = self._opener(spec, options)
        return facts_of(self._engine)

    def prepare(self, examples: Sequence[Example]) -> Answer:
        """Let the engine take note of examples."""
        return _answered(lambda: self._engine.prepare(examples))

    def batches(self, prompts: Sequence[Prompt]) -> Answer:
        """Return the engine's batches."""
        return _answered(lambda: self._engine.batches(prompts))

    def expect(self, prompts: int) -> None:
        """Tell the engine how many prompts there are."""
        if hasattr(self._engine, "expect"):
            self._engine.expect(prompts)

    def score(self, batches: Sequence[Sequence[Prompt]]) -> Answer:
        """Return the scores of each batch, the seconds that they took, and what the engine says of its work."""
        return _answered(lambda: self._score(batches))

    def _score(self, batches: Sequence[Sequence[Prompt]]) -> tuple[list[list[Score]], float, State]:
        began = time.perf_counter()
        scores = list(self._engine.score(batches))
        return scores, time.perf_counter() - began, self._state()

    def generate(self, contexts: Sequence[Context], max_new_tokens: int, sampling: Sampling | None) -> Answer:
        """Return what the model writes after each context."""
        return _answered(lambda: (self._engine.generate(contexts, max_new_tokens, sampling), self._state()))

    def _state(self) -> State:
        return dict(self._engine.description), list(self._engine.notes)
