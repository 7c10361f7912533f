"""Packs token sequences into rows in which a shared prefix occurs once, and rows into segments; numpy only, no torch.

A row is a prefix tree in depth-first order. A node at depth d has position d and sees only its ancestors:
node a is an ancestor of node b exactly when a <= b < ends[a]. A causal model run on such a row computes for every
sequence what it would compute for that sequence alone.

A segment is a run of nodes. Its nodes see only each other and the ancestors of its first node, so attention needs no
other keys. One long row then has the large matrix products of many tokens, and the attention of short ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Sequences:
    """Token sequences as one matrix padded with -1; the tokens of each from `starts` on are to be predicted.

    `places` says how many tokens the sequences before each one predict: where its own come among all.
    """

    tokens: Ids
    lengths: Ids
    starts: Ids
    places: Ids

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int]], starts: Sequence[int]) -> Sequences:
        """Return the sequences as a matrix; each needs a token before its start, and one at it."""
        lengths = np.fromiter(map(len, sequences), dtype=np.int64, count=len(sequences))
        begins = np.asarray(starts, dtype=np.int64)
        if not len(lengths) or begins.min() < 1 or np.any(begins >= lengths):
            raise ValueError("every sequence needs a token before its start, and one at it")
        inside = np.arange(lengths.max()) < lengths[:, None]
        matrix = np.full(inside.shape, -1, dtype=np.int64)
        matrix[inside] = np.fromiter(chain.from_iterable(sequences), dtype=np.int64, count=int(lengths.sum()))
        predicted = lengths - begins
        return cls(matrix, lengths, begins, np.cumsum(predicted) - predicted)

    def take(self, rows: Ids) -> Sequences:
        """Return some of the sequences."""
        return Sequences(self.tokens[rows], self.lengths[rows], self.starts[rows], self.places[rows])


@dataclass(frozen=True)
class Row:
    """A packed row, and what it predicts.

    `paths[i, d]` is the node of sequence `owners[i]` at depth d (-1 beyond its end; the last token of a sequence is
    predicted, never computed). The row predicts at `nodes`, each listed once; the token `targets[j]` is predicted at
    `nodes[picks[j]]`, and sequence `owners[i]` has the next `counts[i]` of these. Among what all sequences predict, one
    after the other, it comes at `places[j]`. In a fork, the first `stem` nodes are the prompt that all its sequences
    continue.
    """

    tokens: Ids
    depths: Ids
    ends: Ids
    owners: Ids
    paths: Ids
    nodes: Ids
    picks: Ids
    targets: Ids
    counts: Ids
    places: Ids
    stem: int = 0

    def __len__(self) -> int:
        return len(self.tokens)


def shared_prefixes(tokens: Ids, lengths: Ids) -> Ids:
    """Return how many leading tokens each row of the matrix shares with the row before it (0 for the first)."""
    shorter = np.minimum(lengths[1:], lengths[:-1])
    differs = (tokens[1:] != tokens[:-1]) | (np.arange(tokens.shape[1]) >= shorter[:, None])
    shared = np.where(differs.any(axis=1), differs.argmax(axis=1), tokens.shape[1])
    return np.concatenate([[0], shared])


def pack(sequences: Sequences, *, row_tokens: int) -> list[Row]:
    """Return rows of at most `row_tokens` nodes (a longer single sequence has a row of its own) that hold them all.

    Within a row no prefix is computed twice. Linear in the number of tokens, after the sort.
    """
    order = np.lexsort(sequences.tokens.T[::-1])
    ordered = sequences.take(order)
    computed = ordered.lengths - 1
    shared = shared_prefixes(ordered.tokens, computed)
    grown = np.cumsum(computed - shared)
    rows, start = [], 0
    while start < len(order):
        # The first sequence of a row is new in full, later ones only beyond what they share with the one before.
        budget = grown[start] + row_tokens - computed[start]
        stop = max(int(np.searchsorted(grown, budget, side="right")), start + 1)
        some = slice(start, stop)
        rows.append(_row(ordered.take(np.arange(start, stop)), shared[some], order[some]))
        start = stop
    return rows


def alone(sequences: Sequences) -> list[Row]:
    """Return a row for every distinct input, shortest first: only inputs that are equal share a row."""
    computed = sequences.lengths - 1
    return [_row(sequences.take(owners), computed[owners], owners) for owners in _alike(sequences.tokens, computed)]


def forks(sequences: Sequences) -> list[Row]:
    """Return a row for every distinct prompt, shortest first: the prompt once, then all its continuations."""
    rows = []
    for owners in _alike(sequences.tokens, sequences.starts):
        some = sequences.take(owners)
        order = np.lexsort(some.tokens.T[::-1])
        some = some.take(order)
        shared = shared_prefixes(some.tokens, some.lengths - 1)
        rows.append(replace(_row(some, shared, owners[order]), stem=int(some.starts[0])))
    return rows


def _alike(tokens: Ids, lengths: Ids) -> list[Ids]:
    """Return the groups of rows that have the same tokens up to their lengths, the shortest first."""
    places = np.arange(tokens.shape[1])
    inputs = np.where(places < lengths[:, None], tokens, -1)
    _, first, groups = np.unique(inputs, axis=0, return_index=True, return_inverse=True)
    members = np.split(np.argsort(groups.ravel(), kind="stable"), np.cumsum(np.bincount(groups.ravel()))[:-1])
    return [members[group] for group in np.argsort(lengths[first], kind="stable")]


def _row(some: Sequences, shared: Ids, owners: Ids) -> Row:
    """Return the row of sequences that follow each other in sorted order."""
    width = int(some.lengths.max()) - 1
    depth = np.arange(width)
    inside = depth < (some.lengths - 1)[:, None]
    # The first sequence shares nothing with its row, whatever it shared with the row before.
    new = inside & (depth >= np.concatenate([[0], shared[1:]])[:, None])
    numbered = np.full(new.shape, -1, dtype=np.int64)
    numbered[new] = np.arange(new.sum())
    # Node numbers grow from sequence to sequence, so the newest node at a depth is the one on the path.
    paths = np.where(inside, np.maximum.accumulate(numbered, axis=0), -1)
    last = np.maximum.accumulate(numbered.max(axis=1))
    ends = np.zeros(int(new.sum()), dtype=np.int64)
    # Later sequences end later, and the last assignment to a repeated index counts.
    ends[paths[inside]] = np.broadcast_to(last[:, None] + 1, inside.shape)[inside]
    predicts = inside & (depth >= (some.starts - 1)[:, None])
    nodes, picks = np.unique(paths[predicts], return_inverse=True)
    counts = predicts.sum(axis=1)
    before = np.cumsum(counts) - counts
    return Row(
        tokens=some.tokens[:, :width][new],
        depths=np.broadcast_to(depth, new.shape)[new],
        ends=ends,
        owners=owners,
        paths=paths,
        nodes=nodes,
        picks=picks,
        targets=some.tokens[:, 1 : width + 1][predicts],
        counts=counts,
        places=np.repeat(some.places - before, counts) + np.arange(counts.sum()),
    )


@dataclass(frozen=True)
class Pass:
    """Rows stacked to be run through a model at once; `sources` are the places (row x width + node) it predicts at.

    The token `targets[j]` is predicted at `sources[picks[j]]`; row r has the next `counts[r]` of these.
    """

    tokens: Ids
    depths: Ids
    ends: Ids
    lengths: Ids
    sources: Ids
    picks: Ids
    targets: Ids
    counts: Ids


def stack(rows: Sequence[Row], *, height: int = 0, width: int = 0) -> Pass:
    """Return the rows as one pass, padded to at least that many rows and tokens (a padding token sees only itself)."""
    width = max(width, *map(len, rows))
    height = max(height, len(rows))
    tokens, depths = np.zeros((2, height, width), dtype=np.int64)
    ends = np.tile(np.arange(1, width + 1), (height, 1))
    for r, row in enumerate(rows):
        tokens[r, : len(row)], depths[r, : len(row)], ends[r, : len(row)] = row.tokens, row.depths, row.ends
    before = np.cumsum([0, *(len(row.nodes) for row in rows)])
    return Pass(
        tokens=tokens,
        depths=depths,
        ends=ends,
        lengths=np.array([len(row) for row in rows] + [1] * (height - len(rows))),
        sources=np.concatenate([r * width + row.nodes for r, row in enumerate(rows)]),
        picks=np.concatenate([start + row.picks for start, row in zip(before, rows, strict=False)]),
        targets=np.concatenate([row.targets for row in rows]),
        counts=np.array([len(row.targets) for row in rows]),
    )


@dataclass(frozen=True)
class Forked:
    """Forks whose stems have one length, to be run in two steps: the stems, then the branches from the stems' caches.

    Branch b continues stem `roots[b]`; the places (branch x width + depth) in `sources` predict. The token `targets[j]`
    is predicted by stem `picks[j]` or, beyond the stems, by source `picks[j] - len(stems)`; row r has the next
    `counts[r]` of these.
    """

    stems: Ids
    roots: Ids
    branches: Ids
    sources: Ids
    picks: Ids
    targets: Ids
    counts: Ids


def fork(rows: Sequence[Row]) -> Forked:
    """Return the forks as one pass; all must have stems of one length. Branches are 0-padded."""
    stem = rows[0].stem
    paths = [row.paths[:, stem:] for row in rows]
    sizes = [(path != -1).sum(axis=1) for path in paths]
    width = max(int(size.max()) for size in sizes)
    branches: list[Ids] = []
    roots: list[int] = []
    sources: list[int] = []
    picks: list[int] = []
    for number, (row, path, size) in enumerate(zip(rows, paths, sizes, strict=True)):
        for nodes, count in zip(path, size.tolist(), strict=True):
            # The first token of a continuation is predicted by the stem, each later one by the token before it.
            places = [len(rows) + len(sources) + depth for depth in range(count)]
            picks += [number, *places]
            if count:
                sources += [len(branches) * width + depth for depth in range(count)]
                branches.append(np.pad(row.tokens[nodes[:count]], (0, width - count)))
                roots.append(number)
    return Forked(
        stems=np.stack([row.tokens[:stem] for row in rows]),
        roots=np.array(roots, dtype=np.int64),
        branches=np.array(branches, dtype=np.int64).reshape(len(branches), width),
        sources=np.array(sources, dtype=np.int64),
        picks=np.array(picks, dtype=np.int64),
        targets=np.concatenate([row.targets for row in rows]),
        counts=np.array([len(row.targets) for row in rows]),
    )


START_COST = 1300
"""What starting the attention of a segment costs, in pairs of nodes (SmolLM2 on two cores)."""

MOST = 256
"""Largest number of nodes in a segment."""


class Segment(NamedTuple):
    """The nodes from `start` to `stop`, and the ancestors of the first one."""

    start: int
    stop: int
    ancestors: Ids


def segments(depths: Ids, ends: Ids) -> list[Segment]:
    """Return the segments of a row that cost least: pairs of nodes and keys, and a start each.

    `depths` and `ends` are those of the row's nodes in depth-first order.
    """
    count = len(depths)
    cost = np.zeros(count + 1)
    origin = np.zeros(count + 1, dtype=np.int64)
    for stop in range(1, count + 1):
        first = max(0, stop - MOST)
        sizes = stop - np.arange(first, stop)
        # A node at depth d has d ancestors.
        totals = cost[first:stop] + sizes * (sizes + depths[first:stop]) + START_COST
        origin[stop] = first + int(totals.argmin())
        cost[stop] = totals[origin[stop] - first]
    borders = [count]
    while borders[-1]:
        borders.append(int(origin[borders[-1]]))
    borders.reverse()
    return [Segment(start, stop, np.flatnonzero(ends[:start] > start)) for start, stop in pairwise(borders)]
