"""Keeps every score that was computed: append-only, content-addressed, crash-safe.

One file of lines. Each line is the CRC-32 of its payload and the payload, a batch of scores as JSON. A batch is
acknowledged once its line is flushed to the disk; a line cut off by a crash fails its checksum and is cut away, and
the batch is scored again.
"""

from __future__ import annotations

import json
import os
import socket
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from ..records import Prompt, RunError, Score
from .engine import Engine, identity_key

try:
    import fcntl
except ImportError:  # pragma: no cover  (Windows has no flock; a second writer is then not noticed)
    fcntl = None  # type: ignore[assignment]

Progress = Callable[[int, int], None]


class ScoreStore:
    """The scores of one run folder; a context manager that holds the folder against other writers."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes: list[str] = []
        self._scores: dict[str, Score] = {}
        self._file: IO[bytes] | None = None
        self._lock: IO[str] | None = None

    def __enter__(self) -> Self:
        folder = self.path.parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = _hold(self.path.with_suffix(".lock"))
        except (FileExistsError, FileNotFoundError, NotADirectoryError, PermissionError) as error:
            reason = str(error.strerror).lower()
            raise RunError(f"the run folder {folder} cannot be made ({reason}); choose another --out") from None
        try:
            good = self._read()
            self._file = open(self.path, "ab")
            if self.path.is_file() and good < self.path.stat().st_size:
                self._file.truncate(good)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        file, lock, self._file, self._lock = self._file, self._lock, None, None
        try:
            if file is not None:
                file.close()  # fails, too, where a write has failed for want of room
        finally:
            if lock is not None:
                lock.close()

    def __len__(self) -> int:
        return len(self._scores)

    def fill(self, engine: Engine, prompts: Sequence[Prompt], progress: Progress | None = None) -> list[Score]:
        """Return the score of every prompt, asking the engine only for what is missing, and keeping each batch.

        Batches are planned over all prompts, so that a run that was killed computes the same batches as one that
        was not: their results are equal bit for bit.
        """
        identity = identity_key(engine)
        keys = [prompt.key(identity) for prompt in prompts]
        unique = dict(zip(keys, prompts, strict=True))
        names, questions = list(unique), list(unique.values())
        batches = engine.batches(questions)
        missing = [[i for i in batch if names[i] not in self._scores] for batch in batches]
        missing = [batch for batch in missing if batch]
        done = len(names) - sum(len(batch) for batch in missing)
        if progress:
            progress(done, len(names))
        for scores in engine.score([questions[i] for i in batch] for batch in missing):
            self._append(scores)
            done += len(scores)
            if progress:
                progress(done, len(names))
        return [self._scores[key] for key in keys]

    def _append(self, scores: Iterable[Score]) -> None:
        if self._file is None:
            raise RunError("the score store is closed")
        scores = list(scores)
        payload = json.dumps(
            [[s.prompt_key, s.token_logprobs, dict(s.reductions), s.flags] for s in scores], separators=(",", ":")
        ).encode()
        self._file.write(b"%08x %s\n" % (zlib.crc32(payload), payload))
        self._file.flush()
        os.fsync(self._file.fileno())
        self._scores.update((score.prompt_key, score) for score in scores)

    def _read(self) -> int:
        """Take in the good lines; return where the last one that was written in full ends."""
        if not self.path.exists() or not self.path.is_file():
            return 0
        good, position, damaged = 0, 0, 0
        with open(self.path, "rb") as lines:
            for line in lines:
                position += len(line)
                scores = _parse(line)
                if scores is None:
                    damaged += 1
                    continue
                good = position
                self._scores.update((score.prompt_key, score) for score in scores)
        if damaged:
            kept = f"{len(self._scores):,} scores are intact and kept; what is missing is scored again"
            self.notes.append(f"{self.path.name}: {damaged} damaged part{'s'[: damaged > 1]} found; {kept}")
        return good


def _parse(line: bytes) -> list[Score] | None:
    """Return the scores of a line, or None for one that is cut off or altered."""
    checksum, _, payload = line.rstrip(b"\n").partition(b" ")
    if not line.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(payload):
        return None
    batch: list[Any] = json.loads(payload)
    return [
        Score(key, tuple(tuple(tokens) for tokens in logprobs), reductions, tuple(flags))
        for key, logprobs, reductions, flags in batch
    ]


def _hold(path: Path) -> IO[str]:
    """Return the lock file, held by this process; another holder is named in the error."""
    handle = open(path, "a+")  # noqa: SIM115  (held open as long as the store is)
    if fcntl is None:
        return handle
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        handle.seek(0)
        holder = handle.read().strip() or "another process"
        handle.close()
        raise RunError(f"{path.parent} is being written by {holder}; wait for it, or choose another --out") from None
    handle.truncate(0)
    handle.write(f"process {os.getpid()} on {socket.gethostname()}")
    handle.flush()
    return handle
