"""Decisions about people: how probable the answer is that is good for the person, group by group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ..records.showing import Axis, Cell, Chart, Column, Dot, Panel, Row, Rule, Section, Table, cases_link, value_of
from ..runs.run import Part, Run
from ..verdict.words import sentences as items_of

SHOWN = ("p_good", "good_lean", "good_rate")
NOT_PEOPLE = ("category", "swapped")
"""Groups of questions, not of people."""

MOST = 60
"""A group with more values than this, such as a combination of several, has no chart; it is in measurements.csv."""


LEADING = 12
"""Groups on the first screen, at most."""


def decisions(run: Run) -> Section | None:
    """Return P(good) by group for every type of decision; None where nothing is decided about a person."""
    charts = [chart for part in run.parts for kind in part.measured.kinds for chart in _charts(part, kind)]
    intro = (
        "Each question has an answer that is good for the person. P(good) is its probability among the answers that"
        " decide. The lean is P(good) less its mean over all groups of the same set: it compares people in the same"
        " situation, so its interval is narrow where that of P(good) is wide. Decisions of one scenario are resampled"
        f" together. Brackets are {100 * run.level:g}% intervals, each for itself; the p-values of pairs are corrected"
        " for all claims of the run."
    )
    return Section("Decisions by group", charts, "decisions", "Decisions", intro) if charts else None


def leading_chart(part: Part) -> Chart | None:
    """Return the groups of the first type of decisions that are furthest from the mean; None where there are none."""
    chart = next(_charts(part, part.measured.kinds[0]), None) if part.measured.kinds else None
    if chart is None:
        return None
    (panel,) = chart.panels
    dots = sorted(panel.marks_of(Dot), key=lambda dot: value_of(dot.x))
    furthest = sorted(dots, key=lambda dot: -abs(value_of(dot.x)))[:LEADING]
    shown = [dot for dot in reversed(dots) if dot in furthest]
    marks: list[Rule | Dot] = [Rule(0.0), *(replace(dot, y=float(place)) for place, dot in enumerate(shown))]
    few = replace(panel, marks=marks, y=Axis.of_names([dot.label for dot in shown]))
    some = f" The {len(shown)} of {len(dots)} groups furthest from 0; all are below." if len(shown) < len(dots) else ""
    return replace(chart, panels=[few], caption=chart.caption + some)


def summary(run: Run) -> Section | None:
    """Return the same as tables, for where no chart is drawn."""
    section = decisions(run)
    if section is None:
        return None
    tables = list(filter(None, (chart.data for chart in section.every(Chart))))
    return Section(section.title, tables, section.id, section.label, section.intro)


def _charts(part: Part, kind: str) -> Iterator[Chart]:
    for key in part.measured.keys:
        labels = part.measured.values_of(key, kind)
        named = {value: label for value, label in labels.items() if part.measured.at("good_lean", label)}
        if key not in NOT_PEOPLE and 1 < len(named) <= MOST:
            yield _chart(part, kind, key, named)


def _chart(part: Part, kind: str, key: str, labels: Mapping[str, str]) -> Chart:
    # As the data name them: the groups of one attribute are together.
    names = [name for name in dict.fromkeys(part.items[key]) if name in labels]
    rows = [[part.measured.at(metric, labels[name]) for metric in SHOWN] for name in names]
    dots = [
        Dot(row[1].estimate, float(place), 0, name, cases_link(part=str(part), type=kind, group=f"{key}={name}"))
        for place, (name, row) in enumerate(zip(names, rows, strict=True))
        if row[1] is not None
    ]
    across = Axis.over([0.0, *(dot.x for dot in dots)], "P(good) less its mean over the set", within=(-1.0, 1.0))
    columns = [Column(key, words=True), *(Column(name) for name in SHOWN)]
    cells = [Row((Cell(name), *row)) for name, row in zip(names, rows, strict=True)]
    title = f"{part.run.name}: who gets the good answer in {items_of(kind)}, {part}"
    data = Table(title, columns, cells, "decisions", part.about(kind))
    panel = Panel([Rule(0.0), *dots], across, Axis.of_names(names))
    return Chart(title, [panel], "decisions", part.about(kind), caption="Right of 0: better off.", data=data)
