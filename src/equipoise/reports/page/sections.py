"""The sections of a run's page: a table of functions, each from the run's tables to a section, or to None where the
run has nothing for it. A new section is a function and a row in `SECTIONS`.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import resources
from typing import Any

from ...datasets.cards import CARDS
from ...metrics import METRICS
from ...runs.measurements import Measurements, kind_title, metric_of
from ...runs.run import Part, Run
from ..behaviour import charts, views
from ..behaviour.values import histogram_values, occupation_values, scale_values
from ..calibration.section import calibration
from ..categories.section import categories
from ..estimators.section import estimators
from ..group_words import words_of
from ..headlines import groupings, headlines
from ..identities.section import identities
from ..pairs.section import pairs
from ..tasks.answers import answers
from ..tasks.section import tasks
from .first_screen import data_checks, first_block, lead_place, other_row
from .rendering import Panel, Section, panels, render

GROUP_METRICS = ("accuracy", "certainty", "desirability")
SHOWN_GROUPS = 12


def findings(run: Run) -> Section:
    """Return the first screen: what was found in a sentence with counts, the sets as squares, and the worst case."""
    place, why = lead_place(run.parts)
    block = first_block(run.parts[place])
    others = [other_row(first_block(part), at) for at, part in enumerate(run.parts) if at != place]
    body = render(
        "findings.html",
        block=block if block["pictures"] or block["leads"] or block["sentences"] else None,
        why=why,
        others=others,
        level=run.level,
        notes=[*run.manifest.notes, *block["left_out"]],
    )
    return Section("findings", "What was found", body)


def parts(run: Run) -> Section | None:
    """Return the datasets and tasks that are not on the first screen, each with its picture and worst case."""
    place, _ = lead_place(run.parts)
    blocks = [(at, first_block(part)) for at, part in enumerate(run.parts) if at != place]
    return Section("parts", "The other datasets and tasks", render("parts.html", blocks=blocks)) if blocks else None


def scale(run: Run) -> Section | None:
    """Return the linear scale of behaviour preference with the groups' distributions on it."""
    several = [view for part in run.parts for view in views.scales(part)]
    intro = (
        "Every answer has a place on one scale (D): from surely wrong over “cannot tell” to surely right. If the curves"
        " of two groups lie apart, the model treats them differently. Ambiguous sentences have no right answer, so"
        " only certainty is compared there. Dots are means, lines their intervals."
    )
    body = panels(intro, (_scale_panel(drawn) for drawn in several))
    return None if body is None else Section("scale", "The scale of behaviour", body)


def _scale_panel(view: views.Scale) -> Panel:
    means = [strip.mean.value for strip in view.strips]
    apart = f"The means of the groups differ by {max(means) - min(means):.3f}."
    return Panel(f"{view.part}, {view.kind}", charts.scale_chart(view), apart, scale_values(view))


def metrics(run: Run) -> Section:
    """Return the table of metrics with intervals, and those of the groups."""
    tables = [_metric_table(part) for part in run.parts]
    body = render("metrics.html", tables=tables, groups=list(_group_tables(run.parts)))
    return Section("metrics", "The numbers", body)


def _metric_table(part: Part) -> Mapping[str, Any]:
    names = headlines(part)
    more = list(_metric_rows(part, names.rest))
    titles = [kind_title(kind) for kind in part.kinds]
    over = [(row, part.measured.groups[row.group]["by"]) for row in groupings(part, every=True)]
    rows = list(_metric_rows(part, names.first))
    return {"title": str(part), "kinds": titles, "rows": rows, "more": more, "over": over}


def _metric_rows(part: Part, names: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    measured, kinds = part.measured, part.kinds
    for name in names:
        cells = [measured.get(name, type=kind) for kind in kinds]
        known = metric_of(name)
        if any(cell is not None for cell in cells):
            better = next(cell.better for cell in cells if cell is not None)
            glyphs = [None if cell is None else charts.interval_glyph(cell, *_range(name, part)) for cell in cells]
            cells_shown = list(zip(cells, glyphs, strict=True))
            summary = known.summary if known else ""
            yield {"name": name, "cells": cells_shown, "better": better, "summary": summary}


def _range(name: str, part: Part) -> tuple[float, float]:
    """Return where a metric's glyph starts and ends: its bounds; what has none ends at k, the number of candidates."""
    metric = metric_of(name)
    low, high = metric.bounds if metric else (0.0, 1.0)
    k = float(len(part.items["probs"].iloc[0]))
    return (low if math.isfinite(low) else -k), (high if math.isfinite(high) else k)


def _group_tables(parts: Iterable[Part]) -> Iterator[Mapping[str, Any]]:
    for part in parts:
        for kind in part.kinds:
            measured = part.measured
            shown = [name for name in GROUP_METRICS if measured.get(name, type=kind) is not None]
            keys = [key for key in part.run.groups if key != "type"]
            rows = [row for key in keys for row in _group_rows(measured, key, kind, shown)]
            if rows and shown:
                yield {"title": f"{part}, {kind_title(kind)}", "metrics": shown, "rows": rows}


def _group_rows(measured: Measurements, key: str, kind: str, shown: list[str]) -> Iterator[Mapping[str, Any]]:
    values = measured.values_of(key, kind)
    if len(values) > SHOWN_GROUPS:
        return
    for value, label in values.items():
        cells = [measured.at(metric, label) for metric in shown]
        if any(cell is not None for cell in cells):
            address = charts.filter_link(type=kind, group=f"{key}={value}")
            yield {"key": key, "value": value, "cells": cells, "address": address}


def occupations(run: Run) -> Section | None:
    """Return UCerF against equalized odds by occupation."""
    several = [view for part in run.parts for view in views.occupations(part)]
    intro = (
        "Occupations from the fewest to the most women in the workforce (U.S. Bureau of Labor Statistics). UCerF"
        " compares how sure and right the model is. Equalized odds only compares which answer it chose, over all"
        " sentences that name the occupation."
    )
    shown = (
        Panel(f"{drawn.part}, {drawn.kind}", charts.occupation_chart(drawn), values=occupation_values(drawn))
        for drawn in several
    )
    body = panels(intro, shown)
    return None if body is None else Section("occupations", "By occupation", body)


def histograms(run: Run) -> Section | None:
    """Return the histograms of D by group and of U."""
    several = [view for part in run.parts for view in views.histograms(part)]
    intro = (
        "D is the place of an answer on the scale of behaviour. U compares the sentences of a set: 1 if they have the"
        " same place, 0 if one is surely right and the other surely wrong."
    )
    shown = (
        Panel(
            f"{drawn.quantity}: {drawn.part}, {drawn.kind}",
            charts.histogram_chart(drawn),
            values=histogram_values(drawn),
        )
        for drawn in several
    )
    body = panels(intro, shown)
    return None if body is None else Section("histograms", "Distribution of D and U", body)


def cases(run: Run) -> Section:
    """Return the case browser; its rows are made in the page, from the packed data."""
    return Section("cases", "Every case", render("cases.html", word=words_of(run.parts).group_word))


def data(run: Run) -> Section:
    """Return what was asked, under which licence, and what is known to be wrong with it."""
    sets = [
        {"name": name, "facts": facts, "card": CARDS.get(name), "checks": data_checks(run.parts, name)}
        for name, facts in run.manifest.datasets.items()
    ]
    return Section("data", "Data and its known faults", render("data.html", datasets=sets))


def method(run: Run) -> Section:
    """Return how the numbers came about, and how to get the same ones."""
    return Section(
        "method",
        "Method and versions",
        render("method.html", run=run, manifest=run.manifest, word=words_of(run.parts).group_word),
    )


def glossary(run: Run) -> Section:
    """Return what the words of the page mean: those of every page, and the metrics that this run has."""
    names = dict.fromkeys(metric.name for name in run.measurements["metric"].unique() if (metric := metric_of(name)))
    rows = [(METRICS[name].label, name, METRICS[name].summary) for name in names if name in METRICS]
    word = words_of(run.parts).group_word
    return Section("glossary", "What the words mean", render("glossary.html", rows=sorted(rows), word=word))


def citations(run: Run) -> Section | None:
    """Return the papers whose metrics and data were used, as BibTeX."""
    entries = list(papers(run))
    return Section("cite", "Please cite", render("citations.html", entries=entries)) if entries else None


def papers(run: Run) -> Iterator[str]:
    """Yield the BibTeX of every paper the run rests on, each once."""
    table = tomllib.loads(resources.files(__package__).joinpath("citations.toml").read_text(encoding="utf-8"))
    names = [str(name) for name in run.measurements["metric"].unique()]
    estimators = list(run.manifest.settings.get("estimators", ()))
    entries = [
        paper["bibtex"].strip()
        for paper in table.values()
        if any(name.startswith(tuple(paper.get("metrics", ()))) for name in names)
        or set(estimators) & set(paper.get("estimators", ()))
    ]
    entries += [CARDS[name].citation for name in run.manifest.datasets if name in CARDS and CARDS[name].citation]
    # Two entries of one key (a paper that brings both a metric and a dataset) are one paper.
    yield from {entry.split(",", 1)[0]: entry for entry in reversed(entries)}.values()


SECTIONS: tuple[Callable[[Run], Section | None], ...] = (
    findings,
    parts,
    scale,
    metrics,
    tasks,
    answers,
    categories,
    pairs,
    occupations,
    histograms,
    estimators,
    calibration,
    identities,
    cases,
    data,
    method,
    glossary,
    citations,
)
"""In the order of the page."""

WITH_TEXTS = (answers,)
"""Sections that quote the data's sentences, which a page without sentences leaves out."""
