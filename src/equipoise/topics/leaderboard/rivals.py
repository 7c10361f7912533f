"""Which models of a board differ: the paired test of `compare`, sentence by sentence, for every two of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from pathlib import Path

from ...comparing.comparison import Choices, paired_tests
from ...comparing.values import parts_of
from ...records import EquipoiseError, Estimate, parse_group
from ...runs.run import Run
from ...stats.independent import independent_difference
from ...stats.paired import corrected

MOST = 24
"""Models of a board that are tested in pairs; of more, the intervals decide, taken as independent (more cautious)."""

Pair = tuple[str, str]


@dataclass(frozen=True)
class Rivals:
    """Runs on one dataset as one task, by the names of their models, and the metrics that they are tested in."""

    runs: tuple[tuple[str, Path], ...]
    dataset: str
    task: str
    metrics: tuple[str, ...]
    level: float


def differences(
    rivals: Rivals, metric: str, kind: str, values: Mapping[str, Estimate]
) -> tuple[dict[Pair, Estimate], bool]:
    """Return the difference of every two models with a value (first less second), and whether they were paired.

    p is corrected over all pairs (Holm).
    """
    pairs = list(combinations(values, 2))
    tested = _tested(rivals) if len(rivals.runs) <= MOST else {}
    paired = [tested.get((metric, kind, *pair)) for pair in pairs]
    known = [estimate for estimate in paired if estimate is not None]
    if len(known) == len(pairs):
        return dict(zip(pairs, corrected(known), strict=True)), True
    return dict(zip(pairs, corrected([_apart(values[a], values[b]) for a, b in pairs]), strict=True)), False


@lru_cache(maxsize=256)
def _tested(rivals: Rivals) -> Mapping[tuple[str, str, str, str], Estimate]:
    """Return the paired differences by metric, type, first and second model; none where runs cannot be paired."""
    runs = [Run(folder, name=name) for name, folder in rivals.runs]
    parts = parts_of(runs, rivals.dataset, rivals.task)
    if len(parts) < len(runs):
        return {}
    try:
        tests = paired_tests(parts, Choices(metrics=rivals.metrics, level=rivals.level))
    except EquipoiseError:
        return {}
    finally:
        parts.clear()
        for run in runs:
            run.forget()
    apart: dict[tuple[str, str, str, str], Estimate] = {}
    for test in tests:
        group = parse_group(test.row.group)
        if set(group) <= {"type"}:
            kind = group.get("type", "")
            apart[test.row.metric, kind, test.first, test.second] = test.difference
            apart[test.row.metric, kind, test.second, test.first] = -test.difference
    return apart


def _apart(first: Estimate, second: Estimate) -> Estimate:
    """Return the difference of two runs from their own intervals; one without a test shows nothing."""
    if first.level != second.level:
        return Estimate.alone(first.value - second.value, level=first.level, n=min(first.n, second.n), method="")
    difference = independent_difference(first, second)
    return replace(difference, p=1.0) if difference.p != difference.p else difference
