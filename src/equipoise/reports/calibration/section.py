"""The section of a run's page on calibration: in words, by group, by bin and by occupation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...metrics import METRICS
from ...runs.run import Part, Run
from ..page.rendering import Panel, Section, render
from .charts import reliability_chart, workforce_chart
from .values import reliability_values, workforce_values
from .views import BY_GROUP, HEADINGS, group_rows, in_words, is_calibrated, reliability, workforce


def calibration(run: Run) -> Section | None:
    """Return how far probabilities come true, by group, for the datasets with a human label."""
    parts = [_part(part) for part in run.parts if is_calibrated(part.measured)]
    return Section("calibration", "Calibration", render("calibration.html", parts=parts)) if parts else None


def _part(part: Part) -> Mapping[str, Any]:
    return {
        "title": str(part),
        "words": list(in_words(part.measured)),
        "metrics": [(HEADINGS.get(name, name), METRICS[name].better) for name in BY_GROUP],
        "rows": list(group_rows(part.measured)),
        "panels": list(_panels(part)),
    }


def _panels(part: Part) -> Iterator[Panel]:
    diagram = reliability(part)
    if diagram is not None:
        caption = "Above the diagonal it happens more often than the model says. Lines are intervals; bars count items."
        if diagram.left_out:
            caption += f" Not drawn: {', '.join(diagram.left_out)}."
        yield Panel(
            "Do the probabilities match the labels?", reliability_chart(diagram), caption, reliability_values(diagram)
        )
    work = workforce(part)
    if work is not None:
        caption = (
            "Share of men: U.S. Bureau of Labor Statistics. On the diagonal the model’s pronouns are those of the"
            " workforce; occupations are named where there is room, those furthest from it first."
        )
        yield Panel("P(male) and the workforce", workforce_chart(work), caption, workforce_values(work))
