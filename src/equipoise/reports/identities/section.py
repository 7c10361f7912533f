"""The section of a run's page on identities: disparities, radars, heatmaps and lines, by type and augmentation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from ...runs.measurements import kind_title
from ...runs.run import Part, Run
from ..page.rendering import Panel, Section, render
from . import views
from .changes import DETECTABLE, caption, changes, in_words
from .charts import change_chart, heatmap_chart, ideal_of, lines_chart, radar_chart, scale_of
from .findings import REASONED, findings, reasoning_sentences
from .values import change_values, line_values, radar_values
from .views import HEADINGS, LARGE, MEASURES, OVERALL, WAYS


def identities(run: Run) -> Section | None:
    """Return how sure the model is of each identity, for the datasets with marked sentences."""
    parts = [_part(part) for part in run.parts if views.has_markers(part.identities)]
    if not parts:
        return None
    body = render(
        "identities.html",
        parts=parts,
        headings=[HEADINGS[name] for name in MEASURES],
        large=LARGE,
        detectable=DETECTABLE,
    )
    return Section("identities", "Identities", body)


def _part(part: Part) -> Mapping[str, Any]:
    frame = part.identities
    kinds = [_kind(frame[frame["type"] == kind], kind, part.run.name) for kind in views.kinds_of(frame)]
    for view, kind in zip(kinds, views.kinds_of(frame), strict=True):
        view["findings"] = list(findings(part.measured, kind))
        same_run = [(p.task, p.measured) for p in part.run.parts if p.dataset == part.dataset]
        view["reasoning"] = list(reasoning_sentences(same_run, kind)) if part.task in REASONED else []
    return {"title": str(part), "kinds": kinds}


def _kind(rows: pd.DataFrame, kind: str, model: str) -> dict[str, Any]:
    ways = views.ways_of(rows)
    shown = [name for name in OVERALL if (rows["metric"] == name).any()]
    return {
        "title": kind_title(kind),
        "words": (words := list(in_words(rows, interactions=False))),
        "interactions": [sentence for sentence in in_words(rows) if sentence not in words],
        "overall_headings": [HEADINGS[name] for name in shown],
        "overall": [(title, [measured.get(name) for name in shown]) for title, measured in views.overall(rows)],
        "changes": list(_change_panels(rows, kind)),
        "ways": [_way(rows, kind, way, model, first=way == ways[0]) for way in ways],
        "lines": list(_line_panels(rows, kind, model)) if len(ways) > 1 else [],
    }


def _change_panels(rows: pd.DataFrame, kind: str) -> Iterator[Panel]:
    """Yield a dot plot for each augmentation, with one order and scale; it says where no attribute differs."""
    by_way = {way: changes(rows[rows["augmentation"] == way]) for way in views.ways_of(rows)}
    every = [change for several in by_way.values() for change in several]
    places = {marker: number for number, marker in enumerate(dict.fromkeys(change.marker for change in every))}
    scale = scale_of([change.estimate for change in every])
    for way, several in by_way.items():
        if several:
            ordered = sorted(several, key=lambda change: places[change.marker])
            chart = change_chart(ordered, f"Change from no marker, {kind_title(kind)}, {WAYS[way]}", scale)
            yield Panel(WAYS[way][0].upper() + WAYS[way][1:], chart, caption(ordered), change_values(ordered))


def _way(rows: pd.DataFrame, kind: str, way: str, model: str, *, first: bool) -> Mapping[str, Any]:
    part_rows = rows[rows["augmentation"] == way]
    ordered = views.extremes(part_rows)
    table = views.heat_table(rows, kind, way)
    title = f"Confidence of {model} by occupation and identity, {kind_title(kind)}, {WAYS[way]}"
    return {
        "title": WAYS[way][0].upper() + WAYS[way][1:],
        "first": first,
        "rows": [
            {
                "attribute": disparity.attribute,
                "cells": [disparity.cells.get(name) for name in MEASURES],
                "p": disparity.p.get(MEASURES[0]),
            }
            for disparity in views.disparities(part_rows)
        ],
        "extremes": f"Least confident of: {', '.join(ordered[:3])}; most: {', '.join(ordered[::-1][:3])}."
        if len(ordered) > 5
        else "",
        "radars": list(_radar_panels(rows, kind, way, model)),
        "heatmap": heatmap_chart(table, title) if table.size else None,
    }


def _radar_panels(rows: pd.DataFrame, kind: str, way: str, model: str) -> Iterator[Panel]:
    every = list(views.radars({model: rows}, kind, way))
    values = [estimate for radar in every for estimates in radar.series.values() for estimate in estimates]
    ideal = ideal_of(kind)
    scale = scale_of(values, ideal=ideal)
    for radar in every:
        yield Panel(radar.attribute, radar_chart(radar, scale, ideal=ideal), values=radar_values(radar))


def _line_panels(rows: pd.DataFrame, kind: str, model: str) -> Iterator[Panel]:
    every = list(views.lines({model: rows}, kind))
    scale = scale_of(value for view in every for line in view.lines for value in line.values)
    for view in every:
        yield Panel(view.attribute, lines_chart(view, scale), values=line_values(view))
