"""Keeps the texts that a model wrote: append-only, content-addressed, in the run's folder.

One line of JSON for each text: its key, the question, the text and a checksum of these. A line that a crash cut off,
or that was changed later, is removed once, and its question is asked again.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

from ..records import Context, Message, Sampling
from .engine import Engine, identity_key
from .line_file import appended, damage_note, lines_of, read_lines, read_whole
from .score_store import Progress

Written = tuple[Context, str]
"""A question, and what the model wrote after it."""


class TextStore:
    """The texts of one run folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes: list[str] = []
        self._kept: dict[str, Written] | None = None

    @classmethod
    def kept(cls, path: Path) -> Self:
        """Return the texts of a run to look up; the file is not changed, and one with a damaged line is an error."""
        store = cls(path)
        store._kept = {}
        read_whole(path, partial(_accept, store._kept))
        return store

    @property
    def texts(self) -> list[Written] | None:
        """The questions that were answered in writing, with their texts; None where nothing was asked so."""
        return None if self._kept is None else list(self._kept.values())

    def writer(self, engine: Engine, progress: Progress | None = None) -> StoredWriter:
        """Return a function that lets the engine write, and asks it only for texts that are not kept yet."""
        return StoredWriter(self, engine, progress)

    def write(
        self, engine: Engine, contexts: Sequence[Context], limits: tuple[Any, ...], progress: Progress | None
    ) -> dict[Context, str]:
        """Return the text after each context: kept ones, and new ones of the engine, which are kept, too."""
        identity = identity_key(engine)
        # Neighbours in length share a batch, so that little of it is padding.
        unique = sorted(dict.fromkeys(contexts), key=lambda context: (len(str(context)), str(context)))
        keys = {context: _key(identity, context, limits) for context in unique}
        kept = self._kept = self._read() if self._kept is None else self._kept
        missing = [context for context in unique if keys[context] not in kept]
        done = len(unique) - len(missing)
        if progress:
            progress(done, len(unique))
        size = engine.texts_at_once
        for start in range(0, len(missing), size):
            batch = missing[start : start + size]
            written = zip(batch, engine.generate(batch, *limits), strict=True)
            entries = {keys[context]: (context, text) for context, text in written}
            self._append(entries)
            kept.update(entries)
            done += len(batch)
            if progress:
                progress(done, len(unique))
        return {context: kept[keys[context]][1] for context in unique}

    def _append(self, entries: dict[str, Written]) -> None:
        with appended(self.path) as file:
            for key, (question, text) in entries.items():
                entry = {"key": key, "question": question, "reasoning": text}
                line = json.dumps({**entry, "crc32": _checksum(entry)}, ensure_ascii=False)
                file.write(line.encode("utf-8", "backslashreplace") + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def _read(self) -> dict[str, Written]:
        """Return the intact texts by key; damaged lines are removed from the file, and a note says so."""
        texts: dict[str, Written] = {}
        removed = read_lines(self.path, partial(_accept, texts))
        if removed:
            kept = f"{len(texts):,} texts are intact and kept; what is missing is asked again"
            self.notes.append(damage_note(self.path, removed, kept))
        return texts


@dataclass(frozen=True)
class StoredWriter:
    """Lets an engine write, and keeps the texts."""

    store: TextStore
    engine: Engine
    progress: Progress | None = None

    @property
    def thinks(self) -> bool:
        """Whether the model reasons before it answers."""
        return bool(self.engine.description.get("thinks"))

    def __call__(
        self, contexts: Sequence[Context], max_new_tokens: int, sampling: Sampling | None = None, /
    ) -> dict[Context, str]:
        # Greedy texts are asked for and kept as before there was sampling.
        limits = (max_new_tokens,) if sampling is None else (max_new_tokens, sampling)
        return self.store.write(self.engine, contexts, limits, self.progress)


def read_texts(path: Path) -> Iterator[Written]:
    """Yield the question and the text of every intact line of a run's file; the file is not changed."""
    for line in lines_of(path):
        if entry := _parse(line):
            yield entry[1]


def _accept(texts: dict[str, Written], line: bytes) -> bool:
    """Take the text of a line by its key; return whether the line is intact."""
    entry = _parse(line)
    texts.update([] if entry is None else [entry])
    return entry is not None


def _parse(line: bytes) -> tuple[str, Written] | None:
    """Return the key and what a line holds, None where it is changed or not a text."""
    try:
        entry: Any = json.loads(line)
        if not isinstance(entry, dict) or entry.pop("crc32", None) != _checksum(entry):
            return None
    except (ValueError, TypeError, RecursionError):
        return None
    key, text = entry.get("key"), entry.get("reasoning")
    question: Any = entry.get("question")
    if not isinstance(key, str) or not isinstance(text, str) or not _is_question(question):
        return None
    return key, (question if isinstance(question, str) else tuple(Message(*turn) for turn in question), text)


def _is_question(question: Any) -> bool:
    """Return whether a value is a text, or a list of turns with a role and a content each."""
    if not isinstance(question, list):
        return isinstance(question, str)
    return all(isinstance(turn, list) and len(turn) == 2 and all(isinstance(t, str) for t in turn) for turn in question)


def _key(identity: str, context: Context, limits: tuple[Any, ...]) -> str:
    content = json.dumps([identity, context, *limits], ensure_ascii=False)
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _checksum(entry: dict[str, Any]) -> str:
    content = json.dumps(entry, sort_keys=True).encode()
    return f"{zlib.crc32(content):08x}"
