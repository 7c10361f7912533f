"""What a comparison shows: a sentence for each pair of runs, and a matrix of differences for each metric."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...runs.measurements import metric_named
from ..group_words import words_of
from .compare import Comparison, Tested

POINTS = {
    "flip_rate": "changes its answer with the {word} {size} points {way} often",
    "accuracy": "is right {size} points {way} often",
}
"""Metrics that are rates are told in percentage points."""


@dataclass(frozen=True)
class PairVerdict:
    """What the tests of two runs on one dataset, task and type show."""

    runs: str
    data: str
    sentence: str


@dataclass(frozen=True)
class Cell:
    """The difference of the row's run from the column's, and whether the row's run is better."""

    value: float
    shown: bool
    better: bool | None


@dataclass(frozen=True)
class Matrix:
    """All pairs of runs in one metric: `cells[row][column]` is None on the diagonal."""

    data: str
    metric: str
    names: Sequence[str]
    cells: Sequence[Sequence[Cell | None]]


def better_run(test: Tested) -> str:
    """Return the run with the better value, "" where no difference is detected or the metric has no direction."""
    better = metric_named(test.metric).better
    if not test.detected or better == "neither" or not test.difference.value:
        return ""
    return test.first if (test.difference.value > 0) == (better == "higher") else test.second


def pair_verdicts(comparison: Comparison) -> Iterator[PairVerdict]:
    """Yield a sentence for each pair of runs, dataset, task and type."""
    word = words_of(comparison.runs[0].parts).group_word
    groups: dict[tuple[str, str, str, str], list[Tested]] = {}
    for test in comparison.tests:
        groups.setdefault((test.first, test.second, test.data, test.runs), []).append(test)
    for (first, second, data, runs), tests in groups.items():
        yield PairVerdict(runs, data, _sentence(first, second, tests, word))


def _sentence(first: str, second: str, tests: Sequence[Tested], word: str) -> str:
    apart = [test for test in tests if test.detected]
    alike = [metric_named(test.metric).label for test in tests if not test.detected]
    parts = [_clause(first, second, test, word) for test in sorted(apart, key=lambda test: test.metric not in POINTS)]
    if alike:
        parts.append(f"not detectably different: {', '.join(alike)}")
    sentence = "; ".join(parts)
    return f"{sentence[:1].upper()}{sentence[1:]}." if sentence else ""


def _clause(first: str, second: str, test: Tested, word: str) -> str:
    """Return one difference in words, told of the better run where there is one."""
    winner = better_run(test) or (first if test.difference.value > 0 else second)
    other = second if winner == first else first
    more = (test.difference.value > 0) == (winner == first)
    size = abs(test.difference.value)
    if test.metric in POINTS:
        words = POINTS[test.metric].format(size=f"{100 * size:.0f}", way="more" if more else "less", word=word)
        return f"{winner} {words} than {other}"
    note = " (better)" if better_run(test) else ""
    label = metric_named(test.metric).label
    return f"{winner} has a {'higher' if more else 'lower'} {label} than {other}, by {size:.3f}{note}"


def matrices(comparison: Comparison) -> Iterator[Matrix]:
    """Yield a matrix of all pairs of runs for each dataset, task, type and metric."""
    groups: dict[tuple[str, str], list[Tested]] = {}
    for test in comparison.tests:
        groups.setdefault((test.data, test.metric), []).append(test)
    names = comparison.names
    for (data, metric), tests in groups.items():
        known = {(test.first, test.second): test for test in tests}
        cells = [[_cell(known, row, column) for column in names] for row in names]
        yield Matrix(data, metric, names, cells)


def _cell(known: dict[tuple[str, str], Tested], row: str, column: str) -> Cell | None:
    test = known.get((row, column)) or known.get((column, row))
    if test is None:
        return None
    value = test.difference.value if test.first == row else -test.difference.value
    winner = better_run(test)
    return Cell(value, test.detected, winner == row if winner else None)
