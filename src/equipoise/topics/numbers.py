"""The numbers of a run: its metrics by type, over groups, and of each group."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..metrics import METRICS
from ..metrics.naming import metric_of
from ..records import Better, Measurement
from ..records.showing import Cell, Chart, Column, Content, Finding, Row, Section, Table, Verdict, cases_link
from ..runs.measurements import Measurements, kind_title, metric_place
from ..runs.run import Part, Run
from ..verdict.summary import part_summary
from ..verdict.words import words_of
from . import flips

GROUP_METRICS = ("p_good", "accuracy", "certainty", "desirability")

FEW = 12
"""A table of this many metrics or fewer is shown whole."""

SHOWN_GROUPS = 10
"""A group with more values than this has no table here; its values are in measurements.csv."""

OF_A_KIND = ("polarity", "open answers", "both offered")
"""What only some runs have; there it is what the reader came for."""


def numbers(run: Run) -> Section:
    """Return the tables of metrics with intervals, and those of the groups."""
    intro = (
        "↑: higher is better. ↓: lower is better. A metric without an arrow has no better direction, or its best value"
        " is 0. Lines show the interval on the metric’s whole range. n counts sets or sentences."
    )
    shown: list[Chart | Table] = [chart for part in run.parts for chart in flips.flips(part)]
    shown += [table for part in run.parts for table in (metrics(part), *over_groups(part), *by_group(part))]
    return Section("The numbers", shown, "metrics", "Numbers", intro)


def summary(run: Run) -> Section:
    """Return what was found, the checks and the numbers of every dataset and task, one under another.

    The control is one of the checks; its own numbers are folded.
    """
    parts = []
    for part in run.parts:
        text = part_summary(part)
        verdict = text.verdict
        shown: list[Finding | Table | Section] = [verdict.line, *verdict.first, *verdict.reasons[1:]]
        shown += [replace(metrics(part), title=""), *text.checks, *_further(part, verdict)]
        parts.append(Section(text.title, shown, folded=part.is_control))
    return Section("", parts)


def _further(part: Part, verdict: Verdict) -> Iterator[Finding | Section]:
    """Yield what is not under the verdict: how much it is, and all of it for those who ask."""
    count = len(verdict.more)
    over = list(over_groups(part))
    groups: list[Table | Finding] = [*by_group(part), *many_groups(part)]
    is_asked = bool(part.run.manifest.settings.get("by"))
    folded = [f"{count} more finding{'s' if count > 1 else ''}"] if count else []
    folded += ["the values of groups"] if groups and not is_asked else []
    verb = "is" if folded == ["1 more finding"] else "are"
    more = f"{' and '.join(folded)} {verb} on the page; `equipoise report RUN --all` prints them." if folded else ""
    more = more[:1].upper() + more[1:]
    if more or verdict.uncounted:
        yield Finding(" ".join(filter(None, [more, verdict.uncounted])), state="note")
    if count:
        yield Section("More findings", verdict.more, folded=True)
    yield Section("", over, folded=not any(table.shown for table in over))
    yield Section("", groups, folded=not is_asked)


def metrics(part: Part) -> Table:
    """Return the metrics of a dataset and task by type; the leading ones are shown, the others can be unfolded."""
    first, rest = headlines(part)
    columns = [Column("metric", words=True, code=True), *(Column(kind_title(kind)) for kind in part.measured.kinds)]
    columns.append(Column("what it is", words=True, spare=True))
    rows = [_row(part, name) for name in (*first, *rest)]
    title = f"{part.run.name} on {part}"
    return Table(title, columns, rows, "metrics", part.about(), shown=len(first), more="more metrics")


def _row(part: Part, name: str) -> Row:
    cells = [part.measured.get(name, type=kind) for kind in part.measured.kinds]
    known = metric_of(name)
    better = next(cell.better for cell in cells if cell is not None)
    values = [_with_spread(part.measured, cell) for cell in cells]
    summary = words_of([part]).fitted(known.summary) if known else ""
    return Row((name, *values, summary), _range(name, part), better)


def _with_spread(measured: Measurements, cell: Measurement | None) -> Content:
    """Return a value and, where there are several seeds, its spread over them."""
    spread = None if cell is None else measured.spread(cell.metric, cell.group)
    return cell if spread is None else Cell(cell, after=f"±{spread:.3f}")


def _range(name: str, part: Part) -> tuple[float, float]:
    """Return the whole range of a metric: its bounds; what has none ends at k, the number of candidates."""
    metric = metric_of(name)
    low, high = metric.bounds if metric else (0.0, 1.0)
    if math.isfinite(low) and math.isfinite(high):
        return low, high
    k = float(part.outcomes.k) if part.has_items else 2.0
    return (low if math.isfinite(low) else -k), (high if math.isfinite(high) else k)


def headlines(part: Part) -> tuple[list[str], list[str]]:
    """Return the metrics that have a value for a whole type: those that are shown at first, and the others.

    A run that was asked for certain metrics shows all of them, and so does a short table.
    """
    names = [
        name
        for name in sorted(part.measured.metrics, key=metric_place)
        if any(part.measured.get(name, type=kind) is not None for kind in part.measured.kinds)
    ]
    first = [name for name in names if _is_headline(name)]
    if _are_chosen(part) or not first or len(names) <= FEW:
        return names, []
    return first, [name for name in names if name not in first]


def _are_chosen(part: Part) -> bool:
    """Return whether the run was asked for certain metrics."""
    asked = part.run.manifest.settings.get("metrics", list(METRICS))
    return not {metric.name for metric in METRICS.values() if metric.leading} <= set(asked)


def _is_headline(name: str) -> bool:
    metric = metric_of(name)
    return metric is None or metric.name not in METRICS or metric.leading or metric.applies_to in OF_A_KIND


def over_groups(part: Part) -> Iterator[Table]:
    """Yield the metrics that are taken over all groups of a name, such as the mean ECE of the groups."""
    rows = sorted(part.measured.groupings(), key=lambda row: metric_place(row.metric))
    if rows:
        shown = [row for row in rows if _are_chosen(part) or _is_headline(row.metric)]
        ordered = [*shown, *(row for row in rows if row not in shown)]
        columns = (
            Column("metric over groups", words=True, code=True),
            Column("groups of", words=True),
            Column("value"),
        )
        cells = [Row((row.metric, part.measured.groups[row.group]["by"], row), better=row.better) for row in ordered]
        title = f"Metrics over groups, {part}"
        more = "more metrics over groups"
        yield Table(title, columns, cells, "over-groups", part.about(), shown=len(shown), more=more)


def by_group(part: Part) -> Iterator[Table]:
    """Yield accuracy, certainty and desirability of each group that has few values, by type."""
    measured = part.measured
    for kind in part.measured.kinds:
        labelled = {key: measured.values_of(key, kind) for key in measured.keys}
        groups = {key: labels for key, labels in labelled.items() if len(labels) <= SHOWN_GROUPS}
        names = list(_group_metrics(measured, [label for labels in groups.values() for label in labels.values()]))
        rows = [
            Row((Cell(f"{key}: {value}", link=cases_link(type=kind, group=f"{key}={value}")), *cells))
            for key, labels in groups.items()
            for value, label in labels.items()
            if any(cells := [measured.at(name, label) for name in names])
        ]
        if rows:
            columns = (Column("group", words=True), *(Column(name, _better(name)) for name in names))
            yield Table(f"By group: {part.title(kind)}", columns, rows, "groups", part.about(kind))


def many_groups(part: Part) -> Iterator[Finding]:
    """Yield how many values the groups have that are not tabled."""
    for key in part.measured.keys:
        count = max(len(part.measured.values_of(key, kind)) for kind in part.measured.kinds)
        if count > SHOWN_GROUPS:
            yield Finding(f"{count} values of {key} are in measurements.csv.", state="note")


def _group_metrics(measured: Measurements, labels: Sequence[str]) -> Iterator[str]:
    """Yield the metrics of groups that were taken: by perplexity, or by the estimator that the run has."""
    taken = [name for name in measured.metrics if any(measured.at(name, label) is not None for label in labels)]
    for base in GROUP_METRICS:
        yield from [name for name in taken if (metric := metric_of(name)) is not None and metric.name == base][:1]


def _better(name: str) -> Better:
    metric = metric_of(name)
    return metric.better if metric else "neither"
