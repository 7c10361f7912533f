"""Many statistics under many weightings of clusters, in few large products.

A resample gives each cluster a weight: how often it was drawn. Most metrics need nothing of the weights but weighted
sums of columns. So each statistic is run twice: once to record the columns it sums, which are added up by cluster, and
once to replay it with the sums of all resamples. Between the two, one product computes the sums of all statistics.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from .. import cores
from ..records import EquipoiseError, Floats, Integers, UndefinedMetric

CHUNK_BYTES = 128 * 2**20
"""Bound on the weights held at once: memory stays flat whatever the number of resamples."""

COPIED_BYTES = 32 * 2**20
"""Bound on the copies of columns that are kept."""

WAVE_BYTES = 1024 * 2**20
"""Bound on the recorded columns held at once; more statistics take several rounds of the same weights."""

Precision = type[np.float32] | type[np.float64]
Chunks = Callable[[], Iterator[NDArray[np.float32]]]
"""Yields the weights as (clusters, resamples) arrays; each call yields the same ones."""


class Copies:
    """Rows of columns, copied out; those of the rows that were asked for last are kept, as far as memory allows.

    Statistics of the same rows follow each other, and read the same columns.
    """

    def __init__(self) -> None:
        self._rows: Integers | None = None
        self._columns: dict[int, tuple[NDArray[Any], NDArray[Any]]] = {}
        self._bytes = 0

    def of(self, column: NDArray[Any], rows: Integers) -> NDArray[Any]:
        """Return these rows of a column."""
        if rows is not self._rows or self._bytes > COPIED_BYTES:
            self._rows, self._columns, self._bytes = rows, {}, 0
        if id(column) not in self._columns:
            self._columns[id(column)] = column, column.take(rows, axis=0)
            self._bytes += self._columns[id(column)][1].nbytes
        return self._columns[id(column)][1]


@dataclass(frozen=True)
class Statistic:
    """A function of rows, to be taken under many weightings of the rows' clusters.

    With `rows` the columns and numbers are those of all items, of which the statistic takes these. They are copied out
    when they are needed, into `copies` if given: thousands of statistics of a million items would not fit into memory.
    `shares` say what each item counts, where not all count alike; a function without `weights` does not see them.
    `recorded` are the columns that it sums, added up by cluster, where they are known: it need not be run to see them.
    """

    function: Callable[..., Any]
    columns: Sequence[NDArray[Any]]
    numbers: Integers
    rows: Integers | slice | None = None
    shares: Floats | None = None
    recorded: Sequence[Floats] = ()
    copies: Copies | None = None

    @property
    def arrays(self) -> list[NDArray[Any]]:
        """The arguments of the function."""
        return [self._chosen(column) for column in self.columns]

    @property
    def clusters(self) -> Integers:
        """The number of each row's cluster."""
        return self._chosen(self.numbers)

    @property
    def row_shares(self) -> Floats | None:
        """What each row counts; None where all count alike."""
        return None if self.shares is None else self._chosen(self.shares)

    @property
    def value(self) -> Any:
        """The function of the rows as they are."""
        if self.shares is None or not takes_weights(self.function):
            return self.function(*self.arrays)
        return self.function(*self.arrays, weights=self.row_shares)

    @property
    def identity(self) -> tuple[int, ...]:
        """The same for statistics of the same function, columns and rows, as long as these are held."""
        return (id(self.function), *map(id, self.columns), id(self.numbers), id(self.rows), id(self.shares))

    def weights(self, tape: Tape) -> ClusterWeights:
        """Return weights that record on a tape."""
        return ClusterWeights(tape, self.clusters, self.row_shares)

    def _chosen(self, column: NDArray[Any]) -> NDArray[Any]:
        if self.rows is None:
            return column
        # A slice is not copied.
        if self.copies is None or isinstance(self.rows, slice):
            return column[self.rows]
        return self.copies.of(column, self.rows)


class Tape(Protocol):
    """Records the columns that a statistic sums, and answers with their sums; `exact` ones need no centre."""

    exact: bool

    def sums(self, table: Floats, clusters: Integers | None) -> Floats:
        """Return the weighted sums of the rows of a table; without clusters those that are known."""
        ...


class NeedsRows(EquipoiseError):
    """A function asks for the weights themselves, not for sums of columns."""


class ClusterWeights(NDArrayOperatorsMixin):
    """Looks like an (items, resamples) array of weights, but is held by cluster.

    Functions may take `columns @ weights` and `weights[rows]`; anything else needs the array itself. Without `clusters`
    the tape knows all sums already, and it does not matter which rows they are of.
    """

    ndim = 2
    dtype = np.dtype(np.float64)

    def __init__(self, tape: Tape, clusters: Integers | None = None, shares: Floats | None = None) -> None:
        self.exact = tape.exact
        self._tape = tape
        self._clusters = clusters
        self._shares = shares

    def __len__(self) -> int:
        raise NeedsRows

    def __getitem__(self, rows: Any) -> ClusterWeights:
        if self._clusters is None:
            return self
        return ClusterWeights(self._tape, self._clusters[rows], None if self._shares is None else self._shares[rows])

    def __iter__(self) -> Iterator[Any]:
        raise NeedsRows

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Floats:
        # All arithmetic comes here, that of operators too.
        if ufunc is not np.matmul or inputs[0] is self or options:
            raise NeedsRows
        return self._sums(inputs[0])

    def _sums(self, columns: NDArray[Any]) -> Floats:
        """Return `columns @ weights`."""
        table = np.atleast_2d(np.asarray(columns, dtype=np.float64))
        table = table if self._shares is None else table * self._shares
        sums = self._tape.sums(table, self._clusters)
        return sums if np.ndim(columns) == 2 else sums[0]

    def __array__(self, *_: Any, **__: Any) -> NDArray[Any]:
        raise NeedsRows

    def __getattr__(self, name: str) -> Any:
        # numpy asks for names of its own; whoever asks for a method of an array needs the array.
        raise AttributeError(name) if name.startswith("__") else NeedsRows(name)


@dataclass
class _Batch:
    """Statistics over the same clusters: their recorded columns, each held once, and the sums of these."""

    local: Integers | None  # None: all clusters
    clusters: int
    precision: Precision
    columns: list[NDArray[np.floating]] = field(default_factory=list)
    places: dict[bytes, int] = field(default_factory=dict)
    bytes: int = 0
    parts: list[NDArray[np.floating]] = field(default_factory=list)

    def place(self, column: Floats) -> int:
        """Return where the sums of a column will be; equal columns share a place."""
        narrow: NDArray[np.floating] = column.astype(self.precision)
        key = hashlib.blake2b(narrow.data, digest_size=16).digest()
        if key not in self.places:
            self.places[key] = len(self.columns)
            self.columns.append(narrow)
            self.bytes += 2 * narrow.nbytes  # the column, and its copy in the matrix
        return self.places[key]

    def multiply(self, weights: NDArray[np.float32]) -> None:
        if self.places:
            # The last clusters may have no row in any statistic of the batch.
            inside = weights[: self.clusters] if self.local is None else weights[self.local]
            product: NDArray[np.floating] = self._matrix @ inside.astype(self.precision, copy=False)
            self.parts.append(product)

    @cached_property
    def _matrix(self) -> NDArray[np.floating]:
        matrix = np.stack(self.columns)
        self.columns.clear()
        return matrix

    def finish(self) -> NDArray[np.floating]:
        return np.concatenate(self.parts, axis=1) if self.parts else np.empty((0, 0), dtype=self.precision)


class _Tape:
    """What one statistic recorded in its batch, and its replay."""

    exact = False

    def __init__(self, batch: _Batch) -> None:
        self.batch = batch
        self.recorded: list[list[int]] = []
        self.results: NDArray[np.floating] | None = None
        self._next = 0

    def sums(self, table: Floats, clusters: Integers | None) -> Floats:
        if clusters is None:
            assert self.results is not None
            places = self.recorded[self._next]
            self._next += 1
            return self.results[places].astype(np.float64)
        size = self.batch.clusters
        by_cluster = [np.bincount(clusters, column, size).astype(np.float64) for column in table]
        self.recorded.append([self.batch.place(column) for column in by_cluster])
        return np.ones((len(table), 1))  # any defined value: only what is summed matters now

    def take(self, tables: Sequence[Floats]) -> None:
        """Record columns that are added up already, by the numbers of all clusters."""
        local = slice(None) if self.batch.local is None else self.batch.local
        for table in tables:
            # The last clusters may have no row in the statistic.
            by_cluster = np.zeros((len(table), self.batch.clusters))
            by_cluster[:, : table.shape[1]] = table[:, local]
            self.recorded.append([self.batch.place(column) for column in by_cluster])

    def replay(self, results: NDArray[np.floating]) -> ClusterWeights:
        """Return weights that answer with these sums."""
        self.results = results
        return ClusterWeights(self)


class _Batches:
    """The batches of statistics over the same clusters."""

    def __init__(self, clusters: int, precision: Precision) -> None:
        self._clusters, self._precision = clusters, precision
        self._by_clusters: dict[bytes | None, _Batch] = {}
        self._last: tuple[Any, Integers, _Batch, Integers] | None = None

    def __iter__(self) -> Iterator[_Batch]:
        return iter(self._by_clusters.values())

    def tape(self, statistic: Statistic) -> tuple[_Tape, ClusterWeights]:
        """Return a tape in the batch of the statistic's clusters, and the weights to record with."""
        rows, numbers = statistic.rows, statistic.numbers
        # Statistics of the same rows follow each other: their clusters are looked at once.
        if self._last is None or self._last[0] is not rows or self._last[1] is not numbers:
            self._last = (rows, numbers, *self._batch(statistic.clusters))
        _, _, batch, chosen = self._last
        tape = _Tape(batch)
        return tape, ClusterWeights(tape, chosen, statistic.row_shares)

    def _batch(self, numbers: Integers) -> tuple[_Batch, Integers]:
        """Return the batch of some clusters, and their numbers in it."""
        inside = np.zeros(self._clusters, dtype=bool)
        inside[numbers] = True
        # A slice of most of the weights would only copy them.
        if 2 * int(inside.sum()) > self._clusters:
            return self._by_clusters.setdefault(None, _Batch(None, self._clusters, self._precision)), numbers
        local = np.flatnonzero(inside)
        batch = self._by_clusters.setdefault(local.tobytes(), _Batch(local, len(local), self._precision))
        return batch, (np.cumsum(inside) - 1)[numbers]


def evaluate(statistics: Sequence[Statistic], chunks: Chunks, precision: Precision = np.float32) -> list[Floats]:
    """Return the values of each statistic under every weighting; NaN where it is undefined.

    `precision` is that of the sums: single is twice as fast, and exact to about 1e-7 of the spread of the values.
    """
    if not statistics:
        return []
    # Several metrics may be made of the same differences of the same rows.
    places: dict[tuple[int, ...], int] = {}
    place_of = [places.setdefault(statistic.identity, len(places)) for statistic in statistics]
    different = [statistics[first] for first in np.unique(place_of, return_index=True)[1]]
    values: list[Floats | None] = [None] * len(different)
    clusters = _cluster_count(different)
    start = 0
    with cores.one_thread():
        while start < len(different):
            start = _wave(different, start, values, chunks, (clusters, precision))
    return [value for place in place_of if (value := values[place]) is not None]


def _wave(
    statistics: Sequence[Statistic],
    start: int,
    values: list[Floats | None],
    chunks: Chunks,
    sums: tuple[int, Precision],
) -> int:
    """Evaluate as many statistics as fit into memory; return where the next wave starts."""
    batches = _Batches(*sums)
    tapes: dict[int, _Tape] = {}
    row_wise: dict[int, list[Floats]] = {}
    number = start
    for number in range(start, len(statistics)):
        statistic = statistics[number]
        tape, weights = batches.tape(statistic)
        try:
            if not takes_weights(statistic.function):
                raise NeedsRows
            if statistic.recorded:
                tape.take(statistic.recorded)
            else:
                with np.errstate(all="ignore"):
                    statistic.function(*statistic.arrays, weights=weights)
            tapes[number] = tape
        except NeedsRows:
            row_wise[number] = []
        if sum(batch.bytes for batch in batches) > WAVE_BYTES:
            break
    for chunk in chunks():
        for batch in batches:
            batch.multiply(chunk)
        for place, parts in row_wise.items():
            parts.append(_row_wise(statistics[place], chunk))
        del chunk  # before the next one is drawn
    results = {id(batch): batch.finish() for batch in batches}
    for place, tape in tapes.items():
        statistic, weights = statistics[place], tape.replay(results[id(tape.batch)])
        values[place] = np.asarray(statistic.function(*statistic.arrays, weights=weights), dtype=np.float64)
    for place, parts in row_wise.items():
        values[place] = np.concatenate(parts)
    return number + 1


def _cluster_count(statistics: Sequence[Statistic]) -> int:
    numberings = {id(statistic.numbers): statistic.numbers for statistic in statistics}
    return max(int(numbers.max()) + 1 for numbers in numberings.values())


@lru_cache(maxsize=1024)
def takes_weights(function: Callable[..., Any]) -> bool:
    """Return whether a function can be evaluated for many resamples at once."""
    return "weights" in inspect.signature(function).parameters


def _row_wise(statistic: Statistic, chunk: NDArray[np.float32]) -> Floats:
    """Return the values under each column of the weights, with the weights spread over the rows."""
    width = max(1, CHUNK_BYTES // (4 * max(len(statistic.clusters), 1)))
    parts = []
    for start in range(0, chunk.shape[1], width):
        weights = chunk[statistic.clusters, start : start + width]
        shares = statistic.row_shares
        if shares is not None and takes_weights(statistic.function):
            weights = weights * shares[:, None].astype(np.float32)
        parts.append(resampled(statistic.function, statistic.arrays, weights))
    return np.concatenate(parts)


def resampled(
    function: Callable[..., Any], arrays: Sequence[NDArray[Any]], weights: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return the metric of each resample: a column of `weights` holds how often each row was drawn."""
    if takes_weights(function):
        return np.asarray(function(*arrays, weights=weights), dtype=np.float64)
    values = np.full(weights.shape[1], np.nan)
    for column in range(weights.shape[1]):
        rows = np.repeat(np.arange(len(weights)), weights[:, column].astype(np.int64))
        try:
            values[column] = function(*(array[rows] for array in arrays))
        except UndefinedMetric:
            continue
    return values
