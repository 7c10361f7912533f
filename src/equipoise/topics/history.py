"""One model over time: each metric at each run with its interval, where a gate's limit lies, and the last change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..comparing.comparison import Comparison, Tested
from ..metrics.naming import label_of, metric_named, spoken
from ..metrics.requirement import Requirement
from ..records import Estimate
from ..records.showing import Axis, Chart, Column, Dot, Finding, Key, Line, Panel, Row, Rule, Section, Shown, Table
from ..records.showing import Cell as TableCell
from ..runs.measurements import kind_title
from ..verdict.words import words_of

Part = tuple[str, str]
"""A dataset and a task."""


@dataclass(frozen=True)
class Moment:
    """A run in the history of a model: its name there, its page, and its values by part, metric and type.

    `unusable` are the parts that say nothing about people.
    """

    name: str
    link: str
    values: Mapping[Part, Mapping[str, Mapping[str, Estimate]]]
    unusable: Sequence[Part] = ()


def history(moments: Sequence[Moment], limits: Sequence[Requirement] = ()) -> Iterator[Section]:
    """Yield a section for each dataset and task: a line over the runs for every metric, and a table."""
    parts = dict.fromkeys(part for moment in moments for part in moment.values)
    for number, part in enumerate(parts):
        several = [moment for moment in moments if part in moment.values]
        metrics = dict.fromkeys(metric for moment in several for metric in moment.values[part])
        charts = [
            _chart(part, metric, several, limits)
            for metric in metrics
            if any(moment.values[part].get(metric) for moment in several)
        ]
        if charts:
            shown: list[Shown | Section] = [*charts, _table(part, several, list(metrics))]
            yield Section(" · ".join(part), shown, f"history-{number}", " · ".join(part))


def _kinds(part: Part, metric: str, moments: Sequence[Moment]) -> list[str]:
    return list(dict.fromkeys(kind for moment in moments for kind in moment.values[part].get(metric, {})))


def _chart(part: Part, metric: str, moments: Sequence[Moment], limits: Sequence[Requirement]) -> Chart:
    """Return a line for each type of items over the runs, oldest first."""
    kinds, row = _kinds(part, metric, moments), metric_named(metric)
    marks: list[Line | Dot | Rule] = []
    every: list[Estimate] = []
    for tone, kind in enumerate(kinds):
        points = [
            (place, estimate, moment)
            for place, moment in enumerate(moments)
            if (estimate := moment.values[part].get(metric, {}).get(kind))
        ]
        every += [estimate for _, estimate, _ in points]
        marks.append(Line([(float(place), estimate.value) for place, estimate, _ in points], tone))
        marks += [
            Dot(float(place), estimate, tone, kind_title(kind), moment.link, hollow=part in moment.unusable)
            for place, estimate, moment in points
        ]
    bounds = [limit for limit in limits if limit.metric == metric and limit.is_about(*part)]
    marks += [Rule(limit.bound, "y", f"gate {limit.sign} {limit.bound:g}") for limit in bounds]
    within = tuple(max(-10.0, min(10.0, end)) for end in row.bounds)
    y = Axis.over(
        [*every, *(limit.bound for limit in bounds)], label_of(metric), within=(within[0], within[1]), least=0.1
    )
    panel = Panel(marks, Axis.of_names([moment.name for moment in moments], "run, oldest first"), y, height=0.6)
    better = f", {row.better} is better" if row.better != "neither" else ""
    legend = [Key(kind_title(kind), tone) for tone, kind in enumerate(kinds)]
    caption = "Whiskers are intervals. A hollow mark is a run that is not usable."
    caption += "".join(f" The dashed line is the limit {limit.text}." for limit in bounds)
    about = {"dataset": part[0], "task": part[1], "metric": metric}
    return Chart(f"{label_of(metric)}{better}", [panel], "history", about, legend, caption)


def _table(part: Part, moments: Sequence[Moment], metrics: Sequence[str]) -> Table:
    columns = [Column("run", words=True)]
    keys = [(metric, kind) for metric in metrics for kind in _kinds(part, metric, moments)]
    columns += [Column(f"{metric}, {kind_title(kind)}", metric_named(metric).better) for metric, kind in keys]
    rows = [
        Row(
            (
                TableCell(moment.name, link=moment.link),
                *(moment.values[part].get(metric, {}).get(kind) for metric, kind in keys),
            )
        )
        for moment in reversed(moments)
    ]
    return Table("Newest first", columns, rows)


def last_change(comparison: Comparison) -> Section:
    """Return whether the second of two runs is better or worse than the first, difference by difference."""
    findings = [_change(test) for test in comparison.tests]
    word = words_of(comparison.runs[0].parts).group_word
    before, last = comparison.names
    intro = (
        f"{last} against {before}, the last two runs on the same data, sentence by sentence, each asked with every"
        f" {word}. A difference is detected if p, corrected for all tests here, is below 0.05 and the interval does not"
        " include 0."
    )
    return Section("Has it become better or worse?", findings, "change", "Change", intro)


def _change(test: Tested) -> Finding:
    """Return what one test says of the last run: the test is of the first run less the second."""
    change, label = -test.difference, spoken(test.row.metric)
    if not test.detected:
        says = f"no change of {label} is detected"
    elif not test.better:
        says = f"{label} changed"
    else:
        says = f"{label} is {'better' if test.better == test.second else 'worse'}"
    p = f"corrected p = {test.difference.p_corrected:.3f}"
    text = f"{test.data}: {says}, {change:+} (n = {change.n:,}, {p})."
    return Finding(text, [test.row], "change", state="found" if test.detected else "fine", claim=test.detected)
