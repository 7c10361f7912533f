"""What a comparison shows: a sentence for each pair of runs, and a matrix of differences for each metric."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...runs.measurements import metric_named
from ..group_words import words_of
from .compare import Comparison, Tested

HEADLINES = ("flip_rate", "accuracy", "ucerf_signed", "ucerf", "ece", "human_alignment")
"""What a sentence tells, at most three of them, in this order; the tables have every metric."""

NAMED = 3
RATES = ("flip_rate", "accuracy", "human_alignment")
"""Metrics that are shown in percentage points."""


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
    """Return the headline metrics in one sentence about the run that is better in the first that differs."""
    ranked = sorted(tests, key=lambda test: HEADLINES.index(test.metric) if test.metric in HEADLINES else 99)
    # UCerF's signed variant tells more than UCerF where both are there; the sort is stable.
    signed = any(test.metric == "ucerf_signed" for test in tests)
    chosen = [test for test in ranked if not (signed and test.metric == "ucerf")][:NAMED]
    further = [test for test in tests if test not in chosen]
    apart = [test for test in chosen if test.detected]
    if not apart:
        names = [_name(test) for test in chosen]
        listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else ""
        sentence = f"No difference is detected in {listed}." if listed else ""
    else:
        subject = better_run(apart[0]) or (first if apart[0].difference.value > 0 else second)
        other = second if subject == first else first
        clauses = [
            _clause(subject, test, word, "" if number else f" than {other}") for number, test in enumerate(apart)
        ]
        alike = [f"{_name(test)} is not detectably different" for test in chosen if not test.detected]
        sentence = f"{subject} {'; it '.join(clauses)}"
        sentence = "; ".join([sentence, *alike]) + "."
    return f"{sentence} {_further(further)}".strip()


def _clause(subject: str, test: Tested, word: str, than: str) -> str:
    """Return one difference in words, with this subject; `than` names the other run, or is empty."""
    value = test.difference.value if test.first == subject else -test.difference.value
    more, size = value > 0, abs(value)
    points = f"{100 * size:.0f} points" if round(100 * size) != 1 else "1 point"
    if test.metric == "flip_rate":
        return f"changes its answer with the {word} {points} {'more' if more else 'less'} often{than}"
    if test.metric == "accuracy":
        return f"is right {points} {'more' if more else 'less'} often{than}"
    amount = points if test.metric in RATES else f"{size:.3f}"
    note = "" if not better_run(test) else " (better)" if better_run(test) == subject else " (worse)"
    return f"has a {'higher' if more else 'lower'} {_name(test)}{than}, by {amount}{note}"


def _name(test: Tested) -> str:
    label = metric_named(test.metric).label
    return label if label[:2].isupper() or label.startswith("UCerF") else f"{label[:1].lower()}{label[1:]}"


def _further(tests: Sequence[Tested]) -> str:
    """Return how many of the metrics that are not named differ, "" without any."""
    if not tests:
        return ""
    names = [_name(test) for test in tests if test.detected]
    among = f"Of {len(tests)} further metrics" if len(tests) > 1 else "Of one further metric"
    return f"{among}, {len(names) or 'none'} differ{'s' if len(names) == 1 else ''}."


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
