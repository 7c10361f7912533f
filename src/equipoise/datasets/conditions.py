"""Which examples of a dataset or a run are wanted: conditions on their groups, such as `occupation=nurse`."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..records import DatasetError, EquipoiseError
from .dataset import Dataset

CANDIDATE = "candidate"
"""A key that every example has: whom its pronoun may refer to."""

PAIRED = "paired"
"""A key that every example has: "yes" if the same sentence is there with another group word, else "no"."""

NAMED_GROUPS = 12


@dataclass(frozen=True)
class Described:
    """What a condition may ask of an example: its groups, its candidates, and whether it is one of several in a set."""

    groups: Mapping[str, str]
    candidates: Sequence[str]
    paired: bool = False

    def values(self, key: str) -> Sequence[str]:
        """Return the values of a key: those of `candidate` are all candidates, those of a group at most one."""
        ours = {CANDIDATE: self.candidates, PAIRED: ["yes" if self.paired else "no"]}
        if key in ours and key not in self.groups:
            return ours[key]
        return [self.groups[key]] if self.groups.get(key) else []


@dataclass(frozen=True)
class Condition:
    """Parts that must all hold: each is a key with the values that it may have."""

    text: str
    parts: tuple[tuple[str, tuple[str, ...]], ...]

    def holds(self, example: Described) -> bool:
        """Return whether the example meets every part."""
        return all(any(value in wanted for value in example.values(key)) for key, wanted in self.parts)


def conditions(where: Sequence[str]) -> list[Condition]:
    """Return the conditions of texts such as "occupation=nurse,other=physician" or "type=type1|type2"."""
    return [Condition(text, tuple(_part(part) for part in text.split(","))) for text in where]


def _part(text: str) -> tuple[str, tuple[str, ...]]:
    key, separator, values = (piece.strip() for piece in text.partition("="))
    wanted = tuple(value.strip() for value in values.split("|"))
    if not separator or not key or not all(wanted):
        raise EquipoiseError(f"where takes key=value parts joined by commas, not {text.strip()!r}")
    return key, wanted


def chosen(examples: Iterable[Described], where: Sequence[str], source: str) -> list[bool]:
    """Return whether each example meets one of the conditions; an error where one of them is met by none."""
    examples, asked = list(examples), conditions(where)
    holds = [[condition.holds(example) for example in examples] for condition in asked]
    for condition, column in zip(asked, holds, strict=True):
        if not any(column):
            raise DatasetError(_reason(condition, examples, source))
    return [any(row) for row in zip(*holds, strict=True)] if holds else [True] * len(examples)


def _reason(condition: Condition, examples: Sequence[Described], source: str) -> str:
    """Return why no example meets a condition: an unknown key, an unknown value, or no example with all of them."""
    for key, wanted in condition.parts:
        values = {value for example in examples for value in example.values(key)}
        if not values:
            names = sorted({name for example in examples for name in example.groups} | {CANDIDATE, PAIRED})
            return f"{source} has no group {key!r}; where can name: {', '.join(names)}"
        for value in wanted:
            if value not in values:
                close = difflib.get_close_matches(value, sorted(values), n=3) or sorted(values)[:NAMED_GROUPS]
                return f"{source} has nothing with {key}={value}; known: {', '.join(close)}"
    return f"{source} has nothing with {condition.text}"


def select(dataset: Dataset, where: Sequence[str]) -> Dataset:
    """Return the dataset with the examples that meet one of the conditions; all of it without conditions."""
    if not where:
        return dataset
    sizes = Counter(example.set_id for example in dataset.examples)
    described = [Described(e.groups, e.candidates, sizes[e.set_id] > 1) for e in dataset.examples]
    kept = chosen(described, where, dataset.name)
    return replace(dataset, examples=tuple(e for e, keep in zip(dataset.examples, kept, strict=True) if keep))
