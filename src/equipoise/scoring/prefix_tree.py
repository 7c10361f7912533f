"""Packs token sequences into rows in which every shared prefix stands once; numpy only, no model, no torch.

A row is a prefix tree in depth-first order. Its node at depth d has position d, and may look at its ancestors alone:
node a is an ancestor of node b exactly when a <= b < ends[a]. A causal model run on such a row computes for every
sequence what it would compute for that sequence alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Row:
    """A packed row: its nodes' tokens, depths and subtree ends, and where each sequence runs through it.

    `paths[i, d]` is the node of sequence `sequences[i]` at depth d (-1 beyond its end).
    """

    tokens: Ids
    depths: Ids
    ends: Ids
    sequences: Ids
    paths: Ids

    def __len__(self) -> int:
        return len(self.tokens)


def as_matrix(sequences: Sequence[Sequence[int]]) -> tuple[Ids, Ids]:
    """Return the sequences as one -1-padded matrix, and their lengths."""
    lengths = np.fromiter((len(sequence) for sequence in sequences), dtype=np.int64, count=len(sequences))
    if len(lengths) == 0 or lengths.min() == 0:
        raise ValueError("there must be sequences, and none may be empty")
    inside = np.arange(lengths.max()) < lengths[:, None]
    matrix = np.full(inside.shape, -1, dtype=np.int64)
    matrix[inside] = np.concatenate([np.asarray(sequence, dtype=np.int64) for sequence in sequences])
    return matrix, lengths


def shared_prefixes(matrix: Ids, lengths: Ids) -> Ids:
    """Return how many leading tokens each row shares with the row before it (0 for the first)."""
    shorter = np.minimum(lengths[1:], lengths[:-1])
    differs = (matrix[1:] != matrix[:-1]) | (np.arange(matrix.shape[1]) >= shorter[:, None])
    found = differs.any(axis=1)
    shared = np.where(found, differs.argmax(axis=1), matrix.shape[1])
    return np.concatenate([[0], shared])


def pack(sequences: Sequence[Sequence[int]], *, row_tokens: int) -> list[Row]:
    """Return rows of at most `row_tokens` nodes (a longer single sequence has a row of its own) that hold them all.

    Within a row no prefix is computed twice. Linear in the number of tokens, after the sort.
    """
    matrix, lengths = as_matrix(sequences)
    order = np.lexsort(matrix.T[::-1])
    matrix, lengths = matrix[order], lengths[order]
    shared = shared_prefixes(matrix, lengths)
    grown = np.cumsum(lengths - shared)
    rows, start = [], 0
    while start < len(order):
        # The first sequence of a row is new in full, later ones only beyond what they share with the one before.
        budget = grown[start] + row_tokens - lengths[start]
        stop = max(int(np.searchsorted(grown, budget, side="right")), start + 1)
        rows.append(_row(matrix[start:stop], lengths[start:stop], shared[start:stop], order[start:stop]))
        start = stop
    return rows


def _row(matrix: Ids, lengths: Ids, shared: Ids, sequences: Ids) -> Row:
    width = int(lengths.max())
    depth = np.arange(width)
    inside = depth < lengths[:, None]
    # The first sequence shares nothing with its row, whatever it shared with the row before.
    new = inside & (depth >= np.concatenate([[0], shared[1:]])[:, None])
    count = int(new.sum())
    numbered = np.full(new.shape, -1, dtype=np.int64)
    numbered[new] = np.arange(count)
    # Node numbers grow from sequence to sequence, so the newest node at a depth is the one on the path.
    paths = np.where(inside, np.maximum.accumulate(numbered, axis=0), -1)
    last = np.maximum.accumulate(numbered.max(axis=1))
    ends = np.zeros(count, dtype=np.int64)
    np.maximum.at(ends, paths[inside], np.broadcast_to(last[:, None] + 1, inside.shape)[inside])
    depths = np.broadcast_to(depth, new.shape)[new]
    return Row(matrix[:, :width][new], depths, ends, sequences, paths)


def alone(sequences: Sequence[Sequence[int]]) -> list[Row]:
    """Return a row for every distinct sequence, shortest first: nothing is shared but what is wholly the same."""
    places: dict[tuple[int, ...], list[int]] = {}
    for place, sequence in enumerate(sequences):
        places.setdefault(tuple(sequence), []).append(place)
    rows = []
    for sequence in sorted(places, key=lambda sequence: (len(sequence), sequence)):
        path = np.arange(len(sequence))
        owners = np.array(places[sequence])
        ends = np.full(len(sequence), len(sequence))
        rows.append(Row(np.array(sequence), path, ends, owners, np.tile(path, (len(owners), 1))))
    return rows


@dataclass(frozen=True)
class Pass:
    """Rows to run through a model at once, and which of its answers are wanted.

    `sources` are the places (row x width + node) at which something is predicted, each once. The token `targets[i]`
    is predicted at `sources[picks[i]]`. Sequence `owners[j]` has the next `counts[j]` of those predictions.
    """

    tokens: Ids
    depths: Ids
    ends: Ids
    lengths: Ids
    sources: Ids
    picks: Ids
    targets: Ids
    owners: Ids
    counts: Ids


def lay_out(rows: Sequence[Row], sequences: Sequence[Sequence[int]], starts: Sequence[int]) -> Pass:
    """Return the pass that predicts `sequences[i][starts[i]:]`; the rows hold each sequence without its last token."""
    lengths = np.array([len(row) for row in rows])
    width = int(lengths.max())
    tokens, depths = np.zeros((2, len(rows), width), dtype=np.int64)
    ends = np.tile(np.arange(1, width + 1), (len(rows), 1))  # padding sees itself alone
    places, targets, owners = [], [], []
    for r, row in enumerate(rows):
        tokens[r, : len(row)], depths[r, : len(row)], ends[r, : len(row)] = row.tokens, row.depths, row.ends
        for owner, path in zip(row.sequences.tolist(), row.paths, strict=True):
            sequence, start = sequences[owner], starts[owner]
            places.append(r * width + path[start - 1 : len(sequence) - 1])
            targets.append(np.asarray(sequence[start:], dtype=np.int64))
            owners.append(owner)
    sources, picks = np.unique(np.concatenate(places), return_inverse=True)
    counts = np.array([len(place) for place in places])
    return Pass(tokens, depths, ends, lengths, sources, picks, np.concatenate(targets), np.array(owners), counts)
