"""Several runs as one page: leaderboard, ranks, fairness against performance, paired differences, overlap.

No sentence of a dataset is in it, so that it can be passed on whatever the dataset's licence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from ...metrics import METRICS
from ...runs.measurements import kind_title, metric_named
from ...runs.run import Part
from ...uncertainty import ESTIMATORS
from ..behaviour.verdicts import cautions
from ..behaviour.views import Estimated, short
from ..categories.section import category_section
from ..categories.views import model_tables
from ..group_words import words_of
from ..page.html import page
from ..page.rendering import Panel, Section, panels, render
from ..published import Measured, PublishedValue, published_section
from ..svg.drawing import WIDTH, Axis, group, line, mark, path, picture, text, whisker
from ..svg.values import Values, estimated
from ..validity import DOUBT, INVALID
from .compare import Comparison, Tested
from .matching import SHOWN, Match, ranks
from .orders import order_sentences, orders
from .spreads import odds, spreads
from .topics import calibrations, identities
from .verdicts import better_run, matrices, pair_verdicts

BUMPED = ("accuracy", "eo_sum", "ucerf", "fp", "ucerf_signed")
"""The metrics between which ranks are followed, where the runs have them."""


@dataclass(frozen=True)
class Place:
    """A run's performance and UCerF."""

    name: str
    performance: Estimated
    ucerf: Estimated


def comparison_page(comparison: Comparison, published: Sequence[PublishedValue] = ()) -> str:
    """Return the page of a comparison; published values are shown beside the runs' own."""
    facts = [
        ("Runs", ", ".join(comparison.names)),
        ("Compared on", ", ".join(f"{section} ({len(section.outcomes[0]):,} items)" for section in comparison.matches)),
        ("Left out", _dropped(comparison.matches)),
    ]
    count = len(comparison.names)
    title = " and ".join(comparison.names) if count == 2 else f"{count} runs"
    header = render("header.html", kicker="Comparison of", title=title, facts=facts)
    sections = [
        _verdicts(comparison),
        _leaderboard(comparison),
        published_section(_measured(comparison), published),
        _categories(comparison),
        _ranks(comparison),
        _orders(comparison),
        _scatter(comparison),
        odds(comparison.runs),
        spreads(comparison.runs),
        calibrations(comparison.runs),
        identities(comparison.runs),
        _differences(comparison),
        _overlap(comparison),
        _runs(comparison),
    ]
    return page(
        "Comparison: " + ", ".join(comparison.names), header, [section for section in sections if section is not None]
    )


def _measured(comparison: Comparison) -> Iterator[Measured]:
    for matched in comparison.matches:
        for name, measured in zip(comparison.names, matched.measured, strict=True):
            yield Measured(name, matched.dataset, matched.task, measured)


def _verdicts(comparison: Comparison) -> Section | None:
    """Return what the tests show, a sentence for each pair of runs."""
    several = [verdict for verdict in pair_verdicts(comparison) if verdict.sentence]

    def is_compared(part: Part) -> bool:
        return any(part.task == match.task and part.dataset in match.dataset for match in comparison.matches)

    worthless, doubts = (cautions(comparison.runs, is_compared, states=states) for states in ((INVALID,), (DOUBT,)))
    body = render("comparison_verdicts.html", verdicts=several, worthless=worthless, cautions=doubts)
    return Section("verdicts", "What was found", body) if several or worthless or doubts else None


def _dropped(matches: Sequence[Match]) -> str:
    left_out = [f"{matched.dropped:,} items of {matched}" for matched in matches if matched.dropped]
    return ", ".join(left_out) + " that not all runs were asked" if left_out else ""


def leaderboard(matched: Match, names: Sequence[str], kind: str) -> list[Mapping[str, Any]]:
    """Return a row for each run, best UCerF first: every metric with its interval and the run's rank by it."""
    metrics = shown_metrics(matched, kind)
    placed = {metric: ranks(matched, metric, kind) for metric in metrics}
    rows = []
    for number, name in enumerate(names):
        cells = [(matched.measured[number].get(metric, type=kind), placed[metric][number]) for metric in metrics]
        order = placed.get(_own_ucerf(placed), [None] * len(names))[number] or len(names) + 1
        rows.append({"name": name, "cells": cells, "order": order, "series": number, "moved": _moved(placed, number)})
    return sorted(rows, key=lambda row: int(row["order"]))


def shown_metrics(matched: Match, kind: str) -> list[str]:
    """Return the metrics of the leaderboard that some run has a value of."""
    suffixes = ("", *(f"_{name.replace('-', '_')}" for name in ESTIMATORS))
    names = [f"{name}{suffix}" for name in SHOWN for suffix in (suffixes if METRICS[name].estimated else ("",))]
    return [name for name in names if any(measured.get(name, type=kind) is not None for measured in matched.measured)]


def _own_ucerf(placed: Mapping[str, Sequence[int | None]]) -> str:
    """Return the UCerF among the metrics: by perplexity, or by the estimator that the runs have."""
    return next((name for name in placed if metric_named(name).name == "ucerf"), "ucerf")


def _moved(placed: Mapping[str, Sequence[int | None]], number: int) -> str:
    """Return how a run's rank changes from equalized odds, which sees only answers, to UCerF."""
    before, after = (placed.get(name, [None] * (number + 1))[number] for name in ("eo_sum", _own_ucerf(placed)))
    if before is None or after is None:
        return ""
    return "=" if before == after else f"▲{before - after}" if after < before else f"▼{after - before}"


def _leaderboard(comparison: Comparison) -> Section:
    tables = []
    for matched in comparison.matches:
        for kind in matched.kinds:
            rows = leaderboard(matched, comparison.names, kind)
            metrics = shown_metrics(matched, kind)
            better = [metric_named(name).better for name in metrics]
            title = f"{matched}, {kind_title(kind)}"
            moved = any(row["moved"] for row in rows)
            tables.append(
                {"title": title, "metrics": list(zip(metrics, better, strict=True)), "rows": rows, "moved": moved}
            )
    return Section(
        "leaderboard",
        "Leaderboard",
        render("leaderboard.html", tables=tables, level=comparison.choices.level),
    )


def _categories(comparison: Comparison) -> Section | None:
    """Return the runs by category, a table for each metric; None for data without categories."""
    tables = [
        table
        for matched in comparison.matches
        for table in model_tables(str(matched), dict(zip(comparison.names, matched.measured, strict=True)))
    ]
    return category_section(tables, first="run", level=comparison.choices.level)


def _ranks(comparison: Comparison) -> Section | None:
    intro = (
        "How the runs’ ranks change from one metric to the next. A line that falls from equalized odds to UCerF belongs"
        " to a model that answers the groups equally, but is less sure for one of them."
    )
    shown = []
    for matched in comparison.matches:
        for kind in matched.kinds:
            placed = bumped(matched, kind)
            known = {
                name: [estimate for estimate in several if estimate]
                for name, several in placed.items()
                if None not in several
            }
            if len(known) > 1:
                title = f"{matched}, {kind_title(kind)}"
                shown.append(
                    Panel(
                        title, rank_chart(title, comparison.names, known), values=rank_values(comparison.names, known)
                    )
                )
    body = panels(intro, shown)
    return None if body is None else Section("ranks", "Ranks from metric to metric", body)


def _orders(comparison: Comparison) -> Section | None:
    """Return whether two datasets order the runs alike; None for runs on one dataset."""
    several = orders(comparison)
    if not several:
        return None
    rows = {test.metric: metric_named(test.metric) for order in several for test in (order.first, order.second)}
    body = render(
        "orders.html",
        sentences=list(order_sentences(several)),
        orders=several,
        labels={name: metric.label for name, metric in rows.items()},
        better={name: metric.better for name, metric in rows.items()},
    )
    return Section("orders", "Do the datasets give the same order?", body)


def bumped(matched: Match, kind: str) -> dict[str, list[int | None]]:
    """Return the runs' ranks by each metric whose ranks are followed, by the estimator that the runs have."""
    names = [matched.measured[0].own(name) for name in BUMPED]
    return {name: ranks(matched, name, kind) for name in names}


def rank_chart(title: str, names: Sequence[str], placed: Mapping[str, Sequence[int]]) -> Markup:
    """Return a line for each run through its ranks by several metrics, the best at the top."""
    step = 34.0
    top, bottom = 34.0, 34.0 + step * max(len(names) - 1, 1)
    x = Axis(0.0, float(len(placed) - 1), 48.0, WIDTH - 48.0)
    y = Axis(1.0, float(max(len(names), 2)), top, bottom)
    parts = [text(x(number), 14, metric, anchor="middle", class_="tick") for number, metric in enumerate(placed)]
    for number in range(len(names)):
        parts.append(text(8, y(number + 1) + 4, f"{number + 1}", class_="tick"))
    for series in range(len(names)):
        # Runs that share a rank are drawn a little apart, or one would hide the other.
        points = []
        for place, several in enumerate(placed.values()):
            tied = [other for other, rank in enumerate(several) if rank == several[series]]
            shift = (tied.index(series) - (len(tied) - 1) / 2) * 9
            points.append((x(place), y(several[series]) + shift))
        parts.append(path(points, f"bump s{series % 8}"))
        parts += [mark(*point, series, size=5) for point in points]
    foot = bottom + 30
    for series, name in enumerate(names):
        parts += [mark(14, foot + series * 18 - 4, series), text(26, foot + series * 18, short(name), class_="label")]
    caption = "; ".join(
        f"{name}: " + ", ".join(f"{metric} {several[i]}" for metric, several in placed.items())
        for i, name in enumerate(names)
    )
    return picture(foot + len(names) * 18, f"Ranks on {title}", caption, parts)


def rank_values(names: Sequence[str], placed: Mapping[str, Sequence[int]]) -> Values:
    """Return the ranks as a table, a row for each run."""
    rows = [(name, *(str(several[number]) for several in placed.values())) for number, name in enumerate(names)]
    return Values(("run", *placed), rows)


def place_values(several: Sequence[Place]) -> Values:
    """Return performance and UCerF with their intervals, a row for each run."""
    rows = [(place.name, *estimated(place.performance), *estimated(place.ucerf)) for place in several]
    return Values(("run", "performance", "low", "high", "UCerF", "low", "high"), rows)


def places(matched: Match, names: Sequence[str], kind: str) -> list[Place]:
    """Return each run's performance (accuracy, or 1 - certainty where nothing is right) and UCerF."""
    points = []
    for name, measured in zip(names, matched.measured, strict=True):
        ucerf = Estimated.of(measured.get(measured.own("ucerf"), type=kind))
        answerable = bool(matched.outcomes[0].answerable[matched.rows(kind)].all())
        row = measured.get("accuracy" if answerable else measured.own("certainty"), type=kind)
        if ucerf is not None and row is not None:
            right = Estimated(row.value, row.low, row.high)
            points.append(
                Place(name, right if answerable else Estimated(1 - row.value, 1 - row.high, 1 - row.low), ucerf)
            )
    return points


def _scatter(comparison: Comparison) -> Section | None:
    intro = (
        "Across: performance (accuracy; for ambiguous sentences 1 − certainty, because nobody can be sure). Up: UCerF."
        " Bars are intervals. Along a dotted line their product, FP, is the same."
    )
    shown = []
    for matched in comparison.matches:
        for kind in matched.kinds:
            several = places(matched, comparison.names, kind)
            if len(several) > 1:
                title = f"{matched}, {kind_title(kind)}"
                shown.append(Panel(title, scatter_chart(title, several), values=place_values(several)))
    body = panels(intro, shown)
    return None if body is None else Section("scatter", "UCerF against performance", body)


def scatter_chart(title: str, several: Sequence[Place]) -> Markup:
    """Return UCerF against performance with intervals on both, and lines of equal FP."""
    height = 300.0
    x = _axis([place.performance for place in several], 46.0, WIDTH - 14.0)
    y = _axis([place.ucerf for place in several], height, 28.0)
    parts = [y.beside(x.start, grid_to=x.end), x.below(height, grid_to=28.0), *_contours(x, y)]
    for series, place in enumerate(several):
        across, up = x(place.performance.value), y(place.ucerf.value)
        parts.append(whisker(x, up, place.performance.low, place.performance.high, series))
        if not np.isnan(place.ucerf.low):
            parts.append(line(across, y(place.ucerf.low), across, y(place.ucerf.high), f"whisker s{series % 8}"))
        parts.append(mark(across, up, series, size=5))
    parts.append(text((x.start + x.end) / 2, height + 32, "performance", anchor="middle", class_="tick"))
    parts.append(text(2, 13, "UCerF", class_="tick"))
    for series, place in enumerate(several):
        foot = height + 54 + series * 18
        caption = f"{short(place.name)}: FP {place.performance.value * place.ucerf.value:.3f}"
        parts += [mark(14, foot - 4, series), text(26, foot, caption, class_="label")]
    caption = "; ".join(f"{p.name}: performance {p.performance.value:.3f}, UCerF {p.ucerf.value:.3f}" for p in several)
    return picture(height + 46 + len(several) * 18, f"UCerF against performance, {title}", caption, parts)


def _axis(several: Sequence[Estimated], start: float, end: float) -> Axis:
    """Return an axis over all intervals with some room, within 0 and 1."""
    ends = [
        value for estimate in several for value in (estimate.low, estimate.value, estimate.high) if not np.isnan(value)
    ]
    room = max(0.02, 0.12 * (max(ends) - min(ends)))
    return Axis(max(0.0, min(ends) - room), min(1.0, max(ends) + room), start, end)


def _contours(x: Axis, y: Axis) -> Iterator[Markup]:
    """Yield lines of equal FP at round values, each named where it leaves the chart."""
    for level in Axis(x.low * y.low, max(x.high * y.high, x.low * y.low + 0.01), 0, 1).ticks(6):
        at = np.linspace(max(x.low, 1e-6), x.high, 80)
        inside = [(float(position), level / float(position)) for position in at if y.low <= level / position <= y.high]
        if len(inside) > 3:
            at_edge = inside[-1] if y(inside[-1][1]) < y.start - 14 else inside[len(inside) // 2]
            across, up = x(at_edge[0]) - 3, max(y(at_edge[1]) - 3, y.end + 10)
            # A name that ends near the axis would lie upon its values: there it begins at the line.
            anchor = "end" if across - 48 > x.start else "start"
            label = text(across, up, f"FP {level:g}", anchor=anchor, class_="tick label")
            yield group([path([(x(position), y(other)) for position, other in inside], "contour"), label])


def _differences(comparison: Comparison) -> Section:
    smallest = comparison.choices.permutations + 1
    return Section(
        "differences",
        "Paired differences",
        render(
            "differences.html",
            tests=comparison.tests,
            by_runs=_by_runs(comparison.tests),
            better_way={test.metric: metric_named(test.metric).better for test in comparison.tests},
            matrices=list(matrices(comparison)) if len(comparison.runs) > 2 else [],
            choices=comparison.choices,
            smallest=1 / smallest,
        ),
    )


def _by_runs(tests: Sequence[Tested]) -> Mapping[str, Mapping[str, Sequence[tuple[Tested, str]]]]:
    """Return the tests with the better run, by pair of runs and data."""
    groups: dict[str, dict[str, list[tuple[Tested, str]]]] = {}
    for test in tests:
        groups.setdefault(test.runs, {}).setdefault(test.data, []).append((test, better_run(test)))
    return groups


def _overlap(comparison: Comparison) -> Section:
    word = words_of(comparison.runs[0].parts).group_word
    return Section(
        "overlap", "Overlap of mistakes and changes", render("overlap.html", overlaps=comparison.overlaps, word=word)
    )


def _runs(comparison: Comparison) -> Section:
    return Section("runs", "The runs", render("runs.html", runs=comparison.runs))
