"""Keeps every computed score: append-only, content-addressed, crash-safe.

One file of lines. Each line is the CRC-32 of its payload and the payload, a batch of scores as JSON. A batch is
acknowledged once its line is flushed to the disk. A line that a crash cut off, or that was changed later, fails its
checksum; it is removed when the store is next opened, and its batch is scored again.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from filelock import BaseFileLock

from ..garbage import existing_kept, uncollected
from ..records import Context, EquipoiseError, ModelError, Prompt, RunError, Score, ScoreLimits
from ..records.prompts import NO_REDUCTIONS
from .engine import Engine, identity_key
from .line_file import appended, damage_note, hold, read_lines, read_whole

Progress = Callable[[int, int], None]
"""Called with how much is done, and how much there is."""

Scorer = Callable[[Sequence[Prompt]], list[Score]]
"""Returns the score of every prompt, in order."""


class ScoreStore:
    """The scores of one run folder; a context manager that locks the folder against other writers."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes: list[str] = []
        self._scores: dict[str, Score] = {}
        self._asked: tuple[Sequence[Prompt], Sequence[int]] = (), ()
        self._waiting: set[int] = set()
        self._file: IO[bytes] | None = None
        self._lock: BaseFileLock | None = None

    @classmethod
    def kept(cls, path: Path) -> Self:
        """Return the scores of a run to look up; the file is not changed, and one with a damaged line is an error."""
        store = cls(path)
        read_whole(path, store._accept)
        return store

    def __enter__(self) -> Self:
        folder = self.path.parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = hold(self.path.with_suffix(".lock"))
        except (FileExistsError, FileNotFoundError, NotADirectoryError, PermissionError) as error:
            reason = str(error.strerror).lower()
            raise RunError(f"the run folder {folder} cannot be made ({reason}); choose another out") from None
        try:
            self._read()
            self._file = appended(self.path)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        file, lock, self._file, self._lock = self._file, self._lock, None, None
        # A million of them take half a gigabyte, which measuring needs.
        self._scores, self._asked, self._waiting = {}, ((), ()), set()
        try:
            if file is not None:
                file.close()  # fails again where a write has failed because the disk is full
        finally:
            if lock is not None:
                lock.release()

    def __len__(self) -> int:
        return len(self._scores)

    def scorer(self, engine: Engine, progress: Progress | None = None) -> Scorer:
        """Return a function that scores prompts with the engine, and asks it only for what is not kept yet."""
        return partial(self._score, engine, progress)

    def scored(self) -> set[str]:
        """Return the examples of which every prompt has a score, among those that an engine was asked last."""
        waiting = {prompt.example_id for prompt, number in zip(*self._asked, strict=True) if number in self._waiting}
        return {prompt.example_id for prompt in self._asked[0]} - waiting

    def _score(self, engine: Engine, progress: Progress | None, prompts: Sequence[Prompt]) -> list[Score]:
        """Return the score of every prompt; each batch is kept as soon as it is scored.

        Batches are planned over all prompts, so that a run that was killed computes the same batches as one that
        was not: their results are equal bit for bit. Where nothing is kept yet, keys are computed as scores come in, so
        that a GPU has work sooner.
        """
        identity = identity_key(engine)
        with uncollected():
            numbers = _numbered(prompts)
            questions = list(dict(zip(numbers, prompts, strict=True)).values())
            batches = engine.batches(questions)
            if self._scores:
                batches = [[i for i in batch if questions[i].key(identity) not in self._scores] for batch in batches]
        missing = [batch for batch in batches if batch]
        if missing:
            self._asked, self._waiting = (prompts, numbers), {i for batch in missing for i in batch}
        done = len(questions) - sum(len(batch) for batch in missing)
        if progress:
            progress(done, len(questions))
        with existing_kept():
            answers = engine.score([questions[i] for i in batch] for batch in missing)
            for scores, batch in zip(answers, missing, strict=True):
                self._append(scores)
                self._waiting.difference_update(batch)
                done += len(scores)
                if progress:
                    progress(done, len(questions))
        try:
            return [self._scores[prompt.key(identity)] for prompt in prompts]
        except KeyError:
            what = "`score` yields one for each, with the key `prompt.key(identity_key(self))`"
            raise ModelError(f"the engine {engine.name} gave no score for some prompts; {what}") from None

    def _append(self, scores: Iterable[Score]) -> None:
        if self._file is None:
            raise RunError("the score store is closed")
        scores = list(scores)
        rows = [_row(score) for score in scores]
        payload = json.dumps(rows, separators=(",", ":"), check_circular=False).encode()
        self._file.write(b"%08x %s\n" % (zlib.crc32(payload), payload))
        self._file.flush()
        os.fsync(self._file.fileno())
        self._scores.update([(score.prompt_key, score) for score in scores])

    def _read(self) -> None:
        """Read the intact lines; damaged ones are removed from the file, and a note says so."""
        with uncollected():
            removed = read_lines(self.path, self._accept)
        if removed:
            kept = f"{len(self._scores):,} scores are intact and kept; what is missing is scored again"
            self.notes.append(damage_note(self.path, removed, kept))

    def _accept(self, line: bytes) -> bool:
        """Take the scores of a line; return whether it is intact."""
        scores = _parse(line)
        if scores is None:
            return False
        self._scores.update((score.prompt_key, score) for score in scores)
        return True


def _numbered(prompts: Sequence[Prompt]) -> list[int]:
    """Return a number for each prompt: that of the first one that asks the same."""
    known: dict[tuple[Context, tuple[str, ...]], int] = {}
    return [known.setdefault((prompt.context, prompt.continuations), len(known)) for prompt in prompts]


def _row(score: Score) -> list[Any]:
    """Return the score as JSON; limits and stops come last, and only where there are some."""
    row = [score.prompt_key, score.token_logprobs, dict(score.reductions), score.flags]
    limits = None if score.limits is None else asdict(score.limits)
    if score.stops:
        return [*row, limits, score.stops]
    return row if limits is None else [*row, limits]


def _score(key: str, logprobs: Any, reductions: Any, flags: Any, limits: Any = None, stops: Any = ()) -> Score:
    tokens = tuple(tuple(map(float, candidate)) for candidate in logprobs)
    ends = tuple(map(float, stops))
    reductions = dict(reductions) or NO_REDUCTIONS
    if limits is None:
        return Score(str(key), tokens, reductions, tuple(flags), None, ends)
    low, high = (tuple(map(float, limits[name])) for name in ("low", "high"))
    known = ScoreLimits(low, high, tuple(map(int, limits["counts"])))
    return Score(str(key), tokens, reductions, tuple(flags), known, ends)


def _parse(line: bytes) -> list[Score] | None:
    """Return the scores of a line, None where it is cut off, changed or not made of scores."""
    checksum, _, payload = line.rstrip(b"\n").partition(b" ")
    if not line.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(payload):
        return None
    try:
        batch: Any = json.loads(payload)
        if not isinstance(batch, list):
            return None
        return [_score(*row) for row in batch]
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError, EquipoiseError):
        return None
