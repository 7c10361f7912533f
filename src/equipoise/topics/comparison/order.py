"""The runs of a comparison in order: the first that a page shows, as a sentence and a chart for each of the data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from ...comparing.comparison import Comparison, Tested
from ...comparing.matching import Match
from ...metrics.naming import metric_named
from ...records import parse_group
from ...records.showing import Chart, Finding
from ...verdict.summary import part_summary
from ..ordering import CAPTION, Ordering, joined

HEADLINES = ("flip_rate", "accuracy", "ucerf_signed", "ucerf", "ece", "human_alignment")
"""What a sentence tells, at most three of them, in this order; the tables have every metric."""


def headline_place(test: Tested) -> int:
    """Return where a test's metric comes among the headlines."""
    name = metric_named(test.row.metric).name
    return HEADLINES.index(name) if name in HEADLINES else len(HEADLINES)


def ordered(comparison: Comparison) -> Iterator[Finding | Chart]:
    """Yield who is better than whom on each dataset, task and type: one chart, then a sentence for each."""
    several = list(orderings(comparison))
    if several:
        panels = [ordering.panel(ordering.where) for ordering in several]
        title = "The runs in order" if len(several) == 1 else "The runs in order, on each dataset, task and type"
        layout: Literal["stacked", "multiples"] = "stacked" if len(several) == 1 else "multiples"
        yield Chart(title, panels, "order", caption=CAPTION, layout=layout, data=joined(several))
    yield from (ordering.finding for ordering in several)


def orderings(comparison: Comparison) -> Iterator[Ordering]:
    """Yield the usable runs in the order of flips and of UCerF, for each of the data."""
    for match in comparison.matches:
        usable = usable_runs(comparison, match)
        names = [name for name, is_usable in zip(comparison.names, usable, strict=True) if is_usable]
        of_match = [
            test for test in comparison.tests if (test.row.dataset, test.row.task) == (match.dataset, match.task)
        ]
        for kind in match.kinds:
            of_kind = [test for test in of_match if parse_group(test.row.group).items() <= {("type", kind)}]
            tests = [test for test in of_kind if {test.first, test.second} <= set(names) and _is_ranked(test)]
            if not tests:
                continue
            for metric in _leading(tests):
                tested = {(test.first, test.second): test.difference for test in tests if test.row.metric == metric}
                rows = zip(comparison.names, match.measured, strict=True)
                values = {name: row.estimate for name, m in rows if name in names and (row := m.get(metric, type=kind))}
                if len(tested) == len(values) * (len(values) - 1) / 2 > 0:
                    yield Ordering(metric_named(metric), match.title(kind), values, tested)


def _leading(tests: Sequence[Tested]) -> list[str]:
    """Return the metrics that runs are put in order by: flips and UCerF, or the first headline where neither is."""
    metrics = list(dict.fromkeys(test.row.metric for test in sorted(tests, key=headline_place)))
    names = {metric: metric_named(metric).name for metric in metrics}
    signed = "ucerf_signed" in names.values()
    wanted = ("flip_rate", "ucerf_signed" if signed else "ucerf")
    return [metric for metric in metrics if names[metric] in wanted] or metrics[:1]


def _is_ranked(test: Tested) -> bool:
    return test.row.better != "neither" and headline_place(test) < len(HEADLINES)


def usable_runs(comparison: Comparison, match: Match) -> list[bool]:
    """Return which runs are usable on what is compared."""
    key = (match.dataset, match.task)
    parts = [[part for part in run.parts if (part.dataset, part.task) == key] for run in comparison.runs]
    return [all(part_summary(part).verdict.usable for part in several) for several in parts]
