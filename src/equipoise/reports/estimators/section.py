"""The section of a run's page on uncertainty estimators and wordings: UCerF under each, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from ...measuring.items import suffix
from ...metrics import METRICS
from ...records import Measurement
from ...runs.measurements import kind_title
from ...runs.run import Part, Run
from ...uncertainty import ESTIMATORS
from ..page.rendering import Panel, Section, panels
from ..svg.drawing import Axis, mark, picture, text, whisker
from ..svg.values import Values, estimated

SHOWN = ("ucerf", "ucerf_signed")
ROW, LEFT, RIGHT = 22.0, 130.0, 420.0
INTRO = (
    "UCerF needs a measure of certainty and a wording of the question. Where values under two of them differ by more"
    " than their intervals, the choice matters: name it with every value. `equipoise estimators` and `equipoise"
    " sensitivity` say more."
)


@dataclass(frozen=True)
class Choices:
    """UCerF of one part and type under each estimator, or in each wording."""

    title: str
    of: str
    rows: Sequence[tuple[str, Measurement]]


def estimators(run: Run) -> Section | None:
    """Return UCerF by estimator and by wording; None where the run has one of each."""
    several = [choices for part in run.parts for choices in (*_by_estimator(run, part), *_by_wording(part))]
    body = panels(INTRO.replace("`", ""), [_panel(choices) for choices in several])
    return None if body is None else Section("estimators", "Estimators and wordings", body)


def _by_estimator(run: Run, part: Part) -> Iterator[Choices]:
    chosen = [ESTIMATORS[name] for name in run.manifest.settings.get("estimators", ()) if name in ESTIMATORS]
    for kind in part.measured.kinds:
        for metric in SHOWN:
            measured = [(row.name, part.measured.get(metric + suffix(row), type=kind)) for row in chosen]
            rows = [(name, measurement) for name, measurement in measured if measurement is not None]
            if len(rows) > 1:
                yield Choices(_title(part, kind, metric), "estimator", rows)


def _by_wording(part: Part) -> Iterator[Choices]:
    for kind in part.measured.kinds:
        labels = part.measured.values_of("wording", kind)
        for metric in SHOWN:
            measured = [(wording, part.measured.at(metric, label)) for wording, label in labels.items()]
            rows = [(name, measurement) for name, measurement in measured if measurement is not None]
            if len(rows) > 1:
                yield Choices(_title(part, kind, metric), "wording", sorted(rows, key=lambda row: row[1].value))


def _title(part: Part, kind: str, metric: str) -> str:
    return f"{METRICS[metric].label}, {part}, {kind_title(kind)}"


def _panel(choices: Choices) -> Panel:
    caption = f"By {choices.of}; lines are intervals. The scale does not begin at 0."
    rows = [(name, *estimated(row), f"{row.n:,}") for name, row in choices.rows]
    return Panel(choices.title, chart(choices), caption, Values((choices.of, "value", "low", "high", "n"), rows))


def chart(choices: Choices) -> Markup:
    """Return a row for each estimator or wording: its value as a mark, its interval as a line."""
    ends = np.array([[row.value, row.low, row.high] for _, row in choices.rows])
    low, high = float(np.nanmin(ends)), float(np.nanmax(ends))
    room = max(0.01, 0.08 * (high - low))
    axis = Axis(max(0.0, low - room), min(1.0, high + room), LEFT, RIGHT)
    height = ROW * len(choices.rows) + 34
    children: list[Markup] = [axis.below(height - 22, grid_to=4.0)]
    for place, (name, row) in enumerate(choices.rows):
        y = ROW * (place + 0.7)
        children += [
            text(LEFT - 10, y + 4, name, anchor="end", class_="label"),
            whisker(axis, y, row.low, row.high, 0),
            mark(axis(row.value), y, 0),
        ]
    described = ", ".join(f"{name} {row.value:.3f}" for name, row in choices.rows)
    return picture(height, choices.title, f"By {choices.of}: {described}", children)
