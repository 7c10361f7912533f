"""What a model made of each item, as parallel columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .limits import Limits

Strings = NDArray[np.object_]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

ABSENT = -1  # in integer columns: this item has no such candidate (no gold answer, no stereotype, a tie)


@dataclass(frozen=True)
class Outcomes:
    """What the model made of each item, as parallel columns: one row for each example and variant.

    `logprobs` are as the engine gave them, `probs` renormalised over the k candidates. In `groups` an empty
    string means that the item belongs to no group of that name. `sides` names the candidates of a sentence pair
    ("male|female") and is empty for other items. `logprobs_with_marker` are the log-probabilities of naming each
    candidate with or without the marker that its sentence gives it; None where no sentence gives one. `reductions`
    are summaries over the whole vocabulary by name, where the engine was asked for them. `limits` say how far the
    probabilities are known, where they are bounds or come from sampled answers. `first` is the candidate that the text
    names first (ABSENT where it names none), `letters` are those that the candidates were offered under, such as "BCA".
    `good` is the candidate that is good for the person whom a decision is about (ABSENT where nothing is decided).
    """

    example_id: Strings
    variant: Strings
    set_id: Strings
    probs: Floats
    logprobs: Floats
    gold: Integers
    stereotype: Integers
    answerable: Booleans
    groups: Mapping[str, Strings]
    flags: Strings
    cluster_id: Strings = None  # type: ignore[assignment]  # filled in when made: the set
    sides: Strings = None  # type: ignore[assignment]  # filled in when made: empty
    first: Integers = None  # type: ignore[assignment]  # filled in when made: ABSENT
    letters: Strings = None  # type: ignore[assignment]  # filled in when made: empty
    good: Integers = None  # type: ignore[assignment]  # filled in when made: ABSENT
    logprobs_with_marker: Floats | None = None
    reductions: Mapping[str, Floats] = field(default_factory=dict)
    limits: Limits | None = None

    def __post_init__(self) -> None:
        n, k = self.probs.shape
        if self.cluster_id is None:
            object.__setattr__(self, "cluster_id", self.set_id)
        for name in ("sides", "letters"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, np.full(n, "", dtype=object))
        for name in ("first", "good"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, np.full(n, ABSENT, dtype=np.int64))
        columns = [*(getattr(self, name) for name in self._columns()), *self.groups.values(), *self.reductions.values()]
        tables = [self.logprobs, *([] if self.logprobs_with_marker is None else [self.logprobs_with_marker])]
        if any(column.shape != (n,) for column in columns) or any(table.shape != (n, k) for table in tables):
            raise ValueError("the columns of Outcomes must have the same length")
        if not np.isclose(self.probs.sum(axis=1), 1.0, atol=1e-6).all():
            raise ValueError("the probabilities of an item must add up to 1")
        if self.limits is not None:
            self.limits.check(n, k)

    @classmethod
    def _columns(cls) -> list[str]:
        """Return the names of the columns that have one value for each item."""
        others = ("probs", "logprobs", "logprobs_with_marker", "groups", "reductions", "limits")
        return [f.name for f in fields(cls) if f.name not in others]

    def sharing(self, other: Outcomes) -> Outcomes:
        """Return the same outcomes; columns and groups that are equal to those of others are theirs, and held once."""

        def shared(column: Any, others: Any) -> Any:
            return others if others is not None and np.array_equal(column, others) else column

        columns = {name: shared(getattr(self, name), getattr(other, name)) for name in self._columns()}
        groups = {name: shared(column, other.groups.get(name)) for name, column in self.groups.items()}
        return replace(self, **columns, groups=groups)

    def __len__(self) -> int:
        return len(self.example_id)

    @property
    def k(self) -> int:
        """The number of candidates."""
        return int(self.probs.shape[1])

    @property
    def predicted(self) -> Integers:
        """The most probable candidate, ABSENT where two are tied: a tie prefers nobody."""
        best = self.probs.argmax(axis=1)
        tied = (self.probs == self.probs.max(axis=1, keepdims=True)).sum(axis=1) > 1
        return np.where(tied, ABSENT, best)

    @property
    def labelled(self) -> Booleans:
        """Whether the item has a right answer on record."""
        return np.not_equal(self.gold, ABSENT)

    def group(self, name: str) -> Strings:
        """Return one group column, all empty where no item has that group."""
        return self.groups[name] if name in self.groups else np.full(len(self), "", dtype=object)

    def take(self, rows: NDArray[Any]) -> Outcomes:
        """Return the outcomes of some rows (a mask or indices)."""
        marked = self.logprobs_with_marker
        return Outcomes(
            **{name: getattr(self, name)[rows] for name in (*self._columns(), "probs", "logprobs")},
            groups={name: column[rows] for name, column in self.groups.items()},
            logprobs_with_marker=None if marked is None else marked[rows],
            reductions={name: column[rows] for name, column in self.reductions.items()},
            limits=None if self.limits is None else self.limits.take(rows),
        )
