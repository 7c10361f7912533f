"""Every pair of groups by name: U and flips of the two, how far apart they are, and whether that may be chance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...records import Measurement
from ...runs.measurements import kind_title
from ...runs.run import Part

KEY = "pair"
OF_SETS = ("flip_rate", "ucerf", "ucerf_signed")
DIFFERENCES = ("certainty_difference", "desirability_difference")
"""The columns, where they were measured; each difference has its p-value beside it."""

LIMIT = 0.05
"""A difference is called one where its corrected p is under this and its interval does not hold 0."""


@dataclass(frozen=True)
class Difference:
    """First group less second, and its p-value corrected for all pairs of the type."""

    value: Measurement

    @property
    def detected(self) -> bool:
        """Whether test and interval both show a difference."""
        return self.value.estimate.p_corrected < LIMIT and self.value.estimate.excludes_zero


@dataclass(frozen=True)
class PairRow:
    """Two groups; `cells` and `differences` are parallel to those of the table."""

    name: str
    n: int
    cells: Sequence[Measurement | None]
    differences: Sequence[Difference | None]


@dataclass(frozen=True)
class PairTable:
    """The pairs of one dataset, task and type."""

    title: str
    metrics: Sequence[str]
    differences: Sequence[str]
    rows: Sequence[PairRow]


def pair_tables(part: Part) -> Iterator[PairTable]:
    """Yield the pairs of groups by type; nothing where sets have two groups."""
    measured = part.measured
    for kind in measured.kinds:
        labels = measured.values_of(KEY, kind)
        metrics = [name for name in OF_SETS if any(measured.at(name, label) for label in labels.values())]
        apart = [name for name in DIFFERENCES if any(measured.at(name, label) for label in labels.values())]
        rows = []
        for pair, label in labels.items():
            cells = [measured.at(name, label) for name in metrics]
            differences = [_difference(part, name, label) for name in apart]
            n = next((cell.n for cell in cells if cell is not None), 0)
            rows.append(PairRow(pair.replace("|", " – "), n, cells, differences))
        if rows and (metrics or apart):
            yield PairTable(f"{part}, {kind_title(kind)}", metrics, apart, rows)


def _difference(part: Part, name: str, label: str) -> Difference | None:
    value = part.measured.at(name, label)
    return None if value is None else Difference(value)
