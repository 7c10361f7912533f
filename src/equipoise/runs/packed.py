"""What takes little memory until it is needed: the examples of a run as the file of a table, and the ids of outcomes.

The file is made while the model is loaded, where there are many examples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..cores import aside
from ..datasets import Dataset
from ..records import Example, Outcomes
from .checked_tables import IDS
from .tables import column_of_texts, example_rows

LARGE = 20_000
"""Examples from which hashing and packing them takes longer than copying a process."""

Part = tuple[str, Sequence[Example]]
"""Examples that were asked, and the name of their dataset."""


@dataclass
class Packed:
    """The file that is made already, if one is, and how many examples of each dataset it holds."""

    content: bytes = b""
    sizes: Mapping[str, int] = field(default_factory=dict)

    def examples(self, parts: Iterable[Part]) -> bytes:
        """Return the file of the examples that were asked; it is made now where it holds others, or none."""
        asked = union(parts)
        return self.content if _sizes(asked) == self.sizes else example_rows(asked).content()


@contextmanager
def packed_aside(datasets: Sequence[Dataset]) -> Iterator[Packed]:
    """Hash and pack many examples in a copy of this process, while this one does what is within."""
    packed = Packed()
    if sum(len(dataset.examples) for dataset in datasets) < LARGE:
        yield packed
        return
    with aside(lambda: (_packed(datasets), [dataset.sha256 for dataset in datasets])) as made:
        yield packed
        (packed.content, packed.sizes), hashes = made()
    for dataset, known in zip(datasets, hashes, strict=True):
        vars(dataset)["sha256"] = known


def _packed(datasets: Sequence[Dataset]) -> tuple[bytes, dict[str, int]]:
    every = union((dataset.name, dataset.examples) for dataset in datasets)
    return example_rows(every).content(), _sizes(every)


def union(parts: Iterable[Part]) -> dict[str, Sequence[Example]]:
    """Return the examples by the name of their dataset, each once; the largest part gives the order."""
    by_name: dict[str, list[Sequence[Example]]] = {}
    for name, examples in parts:
        by_name.setdefault(name, []).append(examples)
    return {name: several[0] if len(several) == 1 else _united(several) for name, several in by_name.items()}


def _united(parts: Iterable[Sequence[Example]]) -> Sequence[Example]:
    known: dict[str, Example] = {}
    for examples in sorted(parts, key=lambda part: -len(part)):
        known |= {example.id: example for example in examples if example.id not in known}
    return tuple(known.values())


def _sizes(examples: Mapping[str, Sequence[Example]]) -> dict[str, int]:
    return {name: len(several) for name, several in examples.items()}


def packed_outcomes(outcomes: Outcomes) -> Callable[[], Outcomes]:
    """Return what gives the outcomes back, with new ids; until then these take little memory.

    Python gives memory back where all that was in it is gone. An id is in the midst of what its example was made of, so
    a million ids would keep half a gigabyte of nothing.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    ids: dict[str, Any] = {}
    free = pa.system_memory_pool()  # in which scores have left room
    try:
        for name in IDS:
            texts = pa.array(getattr(outcomes, name), pa.large_string(), memory_pool=free)
            ids[name] = pc.dictionary_encode(texts, memory_pool=free)
    except UnicodeEncodeError:  # lone surrogates, which arrow cannot hold
        return lambda: outcomes
    blank: dict[str, Any] = {name: np.empty_like(outcomes.set_id) for name in IDS}
    others = replace(outcomes, **blank)
    return lambda: replace(others, **{name: column_of_texts(ids.pop(name)) for name in IDS})
