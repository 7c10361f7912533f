"""Keys and values of the packed rows computed last: a row that begins as one of them computes only what is new.

This is for someone who changes a word and asks again. An audit does without: its passes stay the same when it resumes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import torch

from ..packing.prefix_tree import Ids, Row

KEPT_NODES = 2048
"""Nodes of all rows that are kept, at most: a GiB or less with a model of 8B in float32."""

Pair = tuple[torch.Tensor, torch.Tensor]


@dataclass
class Recall:
    """A row and what is known of it: the nodes to compute (`fresh`), the others, and where the others are in `source`.

    `places` finds a node of the row by its parent and its token; `pairs` are the keys and values of each layer.
    """

    places: dict[tuple[int, int], int]
    fresh: Ids
    known: Ids
    origins: Ids
    source: Recall | None
    pairs: dict[int, Pair] = field(default_factory=dict)

    def joined(self, layer: int, key: torch.Tensor, value: torch.Tensor) -> Pair:
        """Return the keys and values of the whole row in a layer, from those of its fresh nodes, and keep them."""
        if self.source is not None:
            before = self.source.pairs[layer]
            key, value = self._whole(key, before[0]), self._whole(value, before[1])
        self.pairs[layer] = key, value
        return key, value

    def _whole(self, fresh: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
        rows, heads, _, width = fresh.shape
        whole = fresh.new_empty(rows, heads, len(self.places), width)
        whole[:, :, self.fresh], whole[:, :, self.known] = fresh, before[:, :, self.origins]
        return whole


class Prefixes:
    """The rows computed last."""

    def __init__(self) -> None:
        self._rows: deque[Recall] = deque()

    def recall(self, row: Row) -> Recall:
        """Return what is known of a row; nodes that predict are fresh, for only their keys and values are kept."""
        places = {place: node for node, place in enumerate(zip(_parents(row.depths), row.tokens.tolist(), strict=True))}
        predicting = set(row.nodes.tolist())
        shared: dict[int, int] = {}
        source = None
        for kept in self._rows:
            nodes = _alike(places, kept.places)
            if len(nodes) > len(shared):
                shared, source = nodes, kept
        known = [node for node in shared if node not in predicting]
        fresh = np.setdiff1d(np.arange(len(row)), known)
        return Recall(places, fresh, np.array(known, int), np.array([shared[node] for node in known], int), source)

    def keep(self, recall: Recall) -> None:
        """Keep a row that was computed; the oldest ones go."""
        # A chain of sources would keep every row that there ever was.
        recall.source = None
        self._rows.append(recall)
        while sum(len(row.places) for row in self._rows) > KEPT_NODES:
            self._rows.popleft()


def _parents(depths: Ids) -> Iterator[int]:
    """Yield the parent of each node of a row in depth-first order; -1 for a root."""
    path: list[int] = []
    for node, depth in enumerate(depths.tolist()):
        del path[depth:]
        yield path[-1] if path else -1
        path.append(node)


def _alike(places: dict[tuple[int, int], int], others: dict[tuple[int, int], int]) -> dict[int, int]:
    """Return the nodes of a row that another one has with the same tokens before them, and where."""
    alike = {-1: -1}
    for (parent, token), node in places.items():
        if parent in alike and (alike[parent], token) in others:
            alike[node] = others[alike[parent], token]
    del alike[-1]
    return alike
