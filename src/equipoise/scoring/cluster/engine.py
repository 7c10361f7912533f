"""An engine made of engines: batches go to whichever actor is free, and come back in their order.

The answers and keys are those of one engine in one process. What is in work is bounded, however many prompts there are.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...options import EngineOptions
from ...records import Context, Example, ModelError, Prompt, Sampling, Score
from ..engine import BATCH_PROMPTS, EngineElsewhere, Opener, in_order, neighbours, noted
from .connection import Resources, connect, disconnect
from .pool import TRIES, Piece, Pool, Recipe, give_up

CHUNK_SECONDS = 0.5
"""How long an actor works on what it is sent at once: several small batches travel together, a large one alone."""

MOST_PROMPTS = 4096
"""Prompts that an actor is sent at once at most, unless one batch has more."""

PREFETCHED = 4
"""Chunks for each actor that may be in work, or done and waiting for an earlier one."""


class ClusterEngine(EngineElsewhere):
    """A model in many actors."""

    def __init__(self, pool: Pool, workers: int) -> None:
        super().__init__(pool.about, workers)
        self._pool, self._workers = pool, workers
        self._close = weakref.finalize(self, _end, pool)

    @property
    def description(self) -> Mapping[str, Any]:
        return {**self._about["description"], "workers": self._workers}

    def prepare(self, examples: Sequence[Example]) -> None:
        if some := noted(examples, self._about["prepares"]):
            self._pool.prepare(some)

    def batches(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        size = self._about["neighbours"]
        if size is not None:
            return neighbours(prompts, size=size)
        if self._about["in_order"]:
            return in_order(len(prompts), size=BATCH_PROMPTS)
        groups: list[list[int]] = self._pool.ask(Piece("batches", (list(prompts),)))
        return groups

    def score(self, batches: Iterable[Sequence[Prompt]]) -> Iterator[list[Score]]:
        work = _Work(iter(batches), prefetch=PREFETCHED * self._workers)
        with self._noting():
            for piece, (scores, seconds, (description, notes)) in self._pool.answers(work.next_piece, work.split):
                work.take(piece, scores, seconds)
                self._update(description, notes)
                yield from work.finished()
        # A piece that was given up has no answer, but what came after it waits for it.
        yield from work.finished()
        if work.deadly:
            ids = tuple(dict.fromkeys(prompt.example_id for prompt in work.deadly))
            self._notes.append(f"{len(ids)} examples end their worker every time and were left out: {', '.join(ids)}")
            fault = ModelError(f"these examples crash their worker every time: {', '.join(ids)}")
            fault.example_ids = ids
            raise fault

    def generate(self, contexts: Sequence[Context], max_new_tokens: int, sampling: Sampling | None = None) -> list[str]:
        size: int = self._about["texts_at_once"]
        parts = [list(contexts[start : start + size]) for start in range(0, len(contexts), size)]
        pieces = iter([Piece("generate", (part, max_new_tokens, sampling), key) for key, part in enumerate(parts)])
        texts: dict[int, list[str]] = {}
        for piece, (written, state) in self._pool.answers(lambda: next(pieces, None), give_up):
            texts[piece.key] = written
            self._update(*state)
        return [text for key in range(len(parts)) for text in texts[key]]

    def close(self) -> None:
        """End the actors, and a local cluster with them."""
        self._close()


def _end(pool: Pool) -> None:
    pool.close()
    disconnect()


class _Batch:
    """A batch in work: its prompts, and the scores that have arrived."""

    def __init__(self, prompts: Sequence[Prompt]) -> None:
        self.prompts = list(prompts)
        self.scores: list[Score | None] = [None] * len(self.prompts)
        self.open = len(self.prompts)


Share = list[tuple[int, list[int]]]
"""What a piece asks: numbers of batches, each with the places of its prompts."""


class _Work:
    """Batches on their way: cut into pieces, put together again in their order."""

    def __init__(self, batches: Iterator[Sequence[Prompt]], *, prefetch: int) -> None:
        self._source = batches
        self._prefetch = prefetch
        self._open: dict[int, _Batch] = {}
        self._next, self._due = 0, 0
        self._chunk_ends: deque[int] = deque()
        self._size = 1
        self._over: deque[Sequence[Prompt]] = deque()
        self.deadly: list[Prompt] = []

    def next_piece(self) -> Piece | None:
        """Return the next batches to score; None where there are none, or enough are on their way."""
        if len(self._chunk_ends) >= self._prefetch:
            return None
        share: Share = []
        count = 0
        while count < self._size:
            batch = self._over.popleft() if self._over else next(self._source, None)
            if batch is None:
                break
            if share and count + len(batch) > self._size:
                self._over.append(batch)
                break
            self._open[self._next] = _Batch(batch)
            share.append((self._next, list(range(len(batch)))))
            count += len(batch)
            self._next += 1
        if not share:
            return None
        self._chunk_ends.append(share[-1][0])
        return self._piece(share)

    def _piece(self, share: Share) -> Piece:
        prompts = [[self._open[number].prompts[place] for place in places] for number, places in share]
        return Piece("score", (prompts,), share)

    def take(self, piece: Piece, scores: Sequence[Sequence[Score]], seconds: float) -> None:
        """Put scores into their batches; how long they took says how many prompts to send at once."""
        speed = sum(map(len, scores)) / max(seconds, 1e-6)
        self._size = max(1, min(MOST_PROMPTS, int(speed * CHUNK_SECONDS)))
        for (number, places), several in zip(piece.key, scores, strict=True):
            batch = self._open[number]
            for place, score in zip(places, several, strict=True):
                batch.scores[place] = score
            batch.open -= len(places)

    def finished(self) -> Iterator[list[Score]]:
        """Yield the batches that are whole, in their order; prompts that were given up are not among their scores."""
        while self._due in self._open and not self._open[self._due].open:
            batch = self._open.pop(self._due)
            if self._chunk_ends[0] == self._due:
                self._chunk_ends.popleft()
            self._due += 1
            scores = [score for score in batch.scores if score is not None]
            if scores:
                yield scores

    def split(self, piece: Piece) -> Sequence[Piece] | None:
        """Return what to try after an actor died with a piece: its batches one by one, then its prompts one by one."""
        share: Share = piece.key
        if len(share) > 1:
            return [self._piece([part]) for part in share]
        if piece.deaths < TRIES:
            return None
        ((number, places),) = share
        if len(places) > 1:
            return [self._piece([(number, [place])]) for place in places]
        batch = self._open[number]
        batch.open -= 1
        self.deadly.append(batch.prompts[places[0]])
        return []


def open_cluster(spec: str, options: EngineOptions, opener: Opener) -> ClusterEngine:
    """Return the engine of a model in actors: one for each GPU of the cluster, or for each `worker_cores` cores."""
    cores = options.worker_cores
    resources = connect(str(options.cluster), cores=max(1, options.workers) * cores, timeout=options.timeout)
    try:
        gpus = resources.gpus if options.device in ("auto", "cuda", "all") else 0
        workers = options.workers or gpus or max(1, resources.cores // cores)
        _check_room(workers, cores, gpus, resources)
        device = "auto" if options.device == "all" else options.device
        inside = replace(options, cluster=None, workers=0, worker_cores=1, device=device)
        pool = Pool(Recipe(opener, spec, inside, cores, gpus), workers)
    except BaseException:
        disconnect()
        raise
    return ClusterEngine(pool, workers)


def _check_room(workers: int, cores: int, gpus: int, resources: Resources) -> None:
    """Refuse more workers than the cluster can ever hold: they would wait for ever."""
    if gpus:
        if workers > gpus:
            raise ModelError(f"{workers} workers need a GPU each, the cluster has {gpus}")
    elif workers * cores > resources.cores:
        raise ModelError(
            f"{workers} workers with {cores} cores each need {workers * cores}, the cluster has {resources.cores}"
        )
