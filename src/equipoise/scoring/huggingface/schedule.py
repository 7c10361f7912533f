"""Runs batches of questions through a model: rows of consecutive batches fill passes, batches come back in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ...records import ModelError, Prompt
from ..packing.prefix_tree import Row
from ..packing.rules import RowPlan
from .passes import Passes

Logprobs = tuple[tuple[float, ...], ...]
"""The log-probability of every token of every continuation of a prompt."""


@dataclass
class Batch:
    """A batch in progress: its prompts, its plan, and the values of its predicted tokens so far.

    The values are those of the first sequence's tokens, then those of the second one's, and so on (`Passes.run`).
    """

    prompts: Sequence[Prompt]
    plan: RowPlan
    values: NDArray[np.float64] = field(init=False)
    left: int = field(init=False)

    def __post_init__(self) -> None:
        self.values = np.empty((0, 0))
        self.left = len(self.plan.rows)

    def take(self, row: Row, values: NDArray[np.float64]) -> None:
        """Store the values of a row's predictions."""
        if not len(self.values):
            self.values = np.full((sum(self.plan.lengths), values.shape[1]), np.nan)
        self.values[row.places] = values
        self.left -= 1

    def logprobs(self) -> Iterator[Logprobs]:
        """Yield the log-probabilities of each question: one for every token of every sequence."""
        # A probability of one rounds to a log-probability a little above zero.
        values = iter(np.minimum(self.values[:, 0], 0.0).tolist())
        sequences = iter([tuple(islice(values, length)) for length in self.plan.lengths])
        return (tuple(islice(sequences, count)) for count in self.plan.counts)

    def sums(self) -> Iterator[list[float]]:
        """Yield the sums over the vocabulary at the first predicted token of each question."""
        ends = np.cumsum(self.plan.lengths)
        firsts = np.cumsum([0, *self.plan.counts[:-1]])
        return iter(self.values[(ends - self.plan.lengths)[firsts], 1:].tolist())


class Running(NamedTuple):
    """A pass that the device is computing: the values it will have, and the rows they belong to."""

    values: torch.Tensor
    counts: NDArray[np.int64]
    rows: Sequence[tuple[Batch, Row]]


class Schedule:
    """The passes of one model; `notes` is where it reports that memory ran out."""

    def __init__(self, passes: Passes, *, name: str, notes: list[str]) -> None:
        self._passes = passes
        self._name = name
        self._notes = notes

    def finished(self, planned: Iterator[Batch]) -> Iterator[Batch]:
        """Yield the batches in order as they are done; a pass may hold rows of several batches."""
        waiting: deque[Batch] = deque()
        running: deque[Running] = deque()
        rows: list[tuple[Batch, Row]] = []
        predicted = 0
        for batch in planned:
            waiting.append(batch)
            for row in batch.plan.rows:
                if rows and not self._room(rows, predicted, batch, row):
                    running += self._started(rows)
                    rows, predicted = [], 0
                rows.append((batch, row))
                predicted += len(row.nodes)
            # The newest passes stay on the device; older ones are fetched.
            while len(running) > self._passes.shape.in_flight:
                _fetch(running.popleft())
            while waiting and not waiting[0].left:
                yield waiting.popleft()
        if rows:
            running += self._started(rows)
        while running:
            _fetch(running.popleft())
        yield from waiting

    def one_by_one(self, batch: Batch) -> None:
        """Compute a batch with one row in each pass."""
        for row in batch.plan.rows:
            for running in self._started([(batch, row)]):
                _fetch(running)

    def _room(self, rows: Sequence[tuple[Batch, Row]], predicted: int, batch: Batch, row: Row) -> bool:
        """Return whether a pass of these rows, which predict at that many nodes, has room for one more."""
        before, first = rows[0]
        shape = self._passes.shape
        packed = batch.plan.mode == "packed"
        most = shape.rows if packed else shape.padded_rows
        # Only packed passes have the same shape whatever they hold. Others stay within a batch, so that a run that was
        # killed and resumed computes the same passes.
        fits = before.plan.mode == "packed" if packed else before is batch and first.stem == row.stem
        return fits and len(rows) < most and predicted + len(row.nodes) <= shape.predictions

    def _started(self, rows: Sequence[tuple[Batch, Row]]) -> list[Running]:
        """Start the rows on the device and return the passes: one, or several smaller ones where memory ran out."""
        passes = self._passes
        try:
            counts, values = passes.run([row for _, row in rows], rows[0][0].plan.mode)
            return [Running(values, counts, rows)]
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
            if len(rows) == 1:
                raise ModelError(
                    f"{self._name} and one row of {len(rows[0][1])} tokens do not fit into the memory of "
                    f"{passes.device}; use a smaller dtype, or another device"
                ) from None
            passes.shape = passes.shape.halved()
            self._notes.append(f"memory ran out: passes now have at most {passes.shape.rows} rows")
        middle = len(rows) // 2
        return [*self._started(rows[:middle]), *self._started(rows[middle:])]


def _fetch(running: Running) -> None:
    """Wait for a pass, and store its values with their batches."""
    values = running.values.cpu().numpy().astype(np.float64)
    stops = np.cumsum(running.counts).tolist()
    for (batch, row), start, stop in zip(running.rows, [0, *stops], stops, strict=False):
        batch.take(row, values[start:stop])
