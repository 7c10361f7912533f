"""The standings of a comparison: the values and ranks of each run, and the distributions behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from ...comparing.comparison import Comparison
from ...comparing.matching import SHOWN, Match
from ...comparing.values import parts_of, rates
from ...metrics import METRICS
from ...metrics.naming import metric_named, suffixes
from ...records import Estimate, Measurement
from ...records.showing import (
    Axis,
    Cell,
    Chart,
    Column,
    Content,
    Dot,
    Finding,
    Key,
    Line,
    Note,
    Panel,
    Row,
    Rule,
    Section,
    Table,
)
from ...runs.run import Run, all_parts
from .. import calibration
from ..published import Measured, PublishedValue, published
from ..scale import dataset_spreads, spreads_of
from .order import usable_runs

BUMPED = ("accuracy", "eo_sum", "ucerf", "fp", "ucerf_signed")
"""The metrics between which ranks are followed, where the runs have them."""


def facts(comparison: Comparison) -> list[tuple[str, str]]:
    """Return what is said beside the title: the runs, the items that they were compared on, and those left out."""
    compared = [f"{match} ({len(match.outcomes[0]):,} items)" for match in comparison.matches]
    dropped = [f"{match.dropped:,} items of {match}" for match in comparison.matches if match.dropped]
    left_out = f"{', '.join(dropped)} that not all runs were asked" if dropped else ""
    return [("Runs", ", ".join(comparison.names)), ("Compared on", ", ".join(compared)), ("Left out", left_out)]


def beside_published(comparison: Comparison, values: Sequence[PublishedValue]) -> Section | None:
    """Return published values beside those of the runs; None where they have nothing in common."""
    measured = [
        Measured(name, match.dataset, match.task, several)
        for match in comparison.matches
        for name, several in zip(comparison.names, match.measured, strict=True)
    ]
    return published(measured, values)


def leaderboard(comparison: Comparison) -> Section:
    """Return every metric of every run with its interval and the run's rank, for each dataset, task and type."""
    intro = (
        "Best UCerF first; on ambiguous sets best signed UCerF. Runs that are not usable come last,"
        " without a rank. Numbers in round brackets are ranks by that metric (1: best). ↑: higher is better, ↓: lower"
        " is better; metrics without a better direction have no rank. Perplexity has one where no answer is right: more"
        " is better there. The last row shows how the rank changes from equalized odds to UCerF. Square brackets are"
        f" {100 * comparison.choices.level:g}% intervals of each run. Ranks follow the values; which runs can be told"
        " apart is tested sentence by sentence (below)."
    )
    tables = [
        board(match, comparison.names, kind, usable_runs(comparison, match))
        for match in comparison.matches
        for kind in match.kinds
    ]
    return Section("Leaderboard", tables, "leaderboard", intro=intro)


def board(match: Match, names: Sequence[str], kind: str, usable: Sequence[bool] = ()) -> Table:
    """Return a row for each metric and a column for each run, best UCerF first; only `usable` runs have a rank."""
    placed = {metric: _among(match.ranks(metric, kind), usable) for metric in shown_metrics(match, kind)}
    by_ucerf = placed.get(_own_ucerf(placed), [None] * len(names))
    order = sorted(range(len(names)), key=lambda at: by_ucerf[at] or len(names) + 1)
    rows = []
    for metric, several in placed.items():
        cells = [_ranked(match.measured[at].get(metric, type=kind), several[at], len(names)) for at in order]
        rows.append(Row((metric, *cells), better=metric_named(metric).better))
    before = placed.get("eo_sum", [None] * len(names))
    moves = [_moved(before[at], by_ucerf[at]) for at in order]
    if any(moves):
        rows.append(Row((f"rank, from eo_sum to {_own_ucerf(placed)}", *moves)))
    columns = [Column("metric", words=True, code=True), *(Column(names[at]) for at in order)]
    return Table(match.title(kind), columns, rows, "leaderboard", match.about(kind or "all"))


def shown_metrics(match: Match, kind: str) -> list[str]:
    """Return the metrics of the leaderboard that some run has a value of."""
    names = [name + suffix for name in SHOWN for suffix in (suffixes() if METRICS[name].estimated else ("",))]
    return [name for name in names if any(measured.get(name, type=kind) is not None for measured in match.measured)]


def _own_ucerf(placed: Mapping[str, object]) -> str:
    """Return the UCerF that runs are ordered by: where no answer is right the signed one, by the runs' estimator."""
    names = [[name for name in placed if metric_named(name).name == wanted] for wanted in ("ucerf_signed", "ucerf")]
    return next((name for several in names for name in several), "ucerf")


def _among(ranks: Sequence[int | None], usable: Sequence[bool]) -> list[int | None]:
    """Return the ranks among the runs that are usable; None for the others."""
    if all(usable) or None in ranks:
        return list(ranks)
    kept = [rank for rank, is_usable in zip(ranks, usable, strict=True) if is_usable and rank is not None]
    return [
        1 + sum(other < rank for other in kept) if is_usable and rank is not None else None
        for rank, is_usable in zip(ranks, usable, strict=True)
    ]


def _ranked(value: Measurement | None, rank: int | None, runs: int) -> Cell:
    return Cell(value, strong=rank == 1 and runs > 1, after=f"({rank})" if rank else "")


def _moved(before: int | None, after: int | None) -> str:
    """Return how a run's rank changes from equalized odds, which sees only answers, to UCerF."""
    if before is None or after is None:
        return ""
    return "same" if before == after else f"up {before - after}" if after < before else f"down {after - before}"


def ranks(comparison: Comparison) -> Section | None:
    """Return how the runs' ranks change from metric to metric."""
    intro = (
        "How the runs’ ranks change from one metric to the next. Equalized odds sees the answers, UCerF also how sure"
        " they are. Ranks follow the values, whether or not they can be told apart."
    )
    charts = [
        chart
        for match in comparison.matches
        for kind in match.kinds
        if (chart := rank_chart(match, comparison.names, kind))
    ]
    return Section("Ranks from metric to metric", charts, "ranks", "Ranks", intro) if charts else None


def rank_chart(match: Match, names: Sequence[str], kind: str) -> Chart | None:
    """Return a line for each run through its ranks by several metrics, the best at the top; None for one metric."""
    placed = {name: match.ranks(name, kind) for name in map(match.measured[0].own, BUMPED)}
    known = {name: [rank for rank in several if rank] for name, several in placed.items()}
    known = {name: several for name, several in known.items() if several}
    if len(known) < 2:
        return None
    marks: list[Line | Dot] = []
    for number, name in enumerate(names):
        points = []
        for place, several in enumerate(known.values()):
            # Runs that share a rank are drawn a little apart, or one would hide the other.
            tied = [other for other, rank in enumerate(several) if rank == several[number]]
            points.append((float(place), several[number] - 1 + 0.26 * (tied.index(number) - (len(tied) - 1) / 2)))
        marks.append(Line(points, number))
        marks += [Dot(x, y, number, f"{name}, {metric}") for (x, y), metric in zip(points, known, strict=True)]
    across, down = Axis.of_names(list(known)), Axis.of_names([f"{place + 1}" for place in range(len(names))])
    keys = Key.each(names)
    rows = [Row((name, *(several[number] for several in known.values()))) for number, name in enumerate(names)]
    data = Table("", [Column("run", words=True), *map(Column, known)], rows)
    panel = Panel(marks, across, down, spacing=2.0)
    return Chart(match.title(kind), [panel], "ranks", match.about(kind), keys, data=data)


def scatter(comparison: Comparison) -> Section | None:
    """Return UCerF against performance, with lines of equal FP."""
    intro = (
        "Across: performance (accuracy; for ambiguous sentences 1 − certainty, because nobody can be sure). Up: UCerF."
        " Bars are intervals. Along a dashed line their product, FP, is the same."
    )
    charts = [
        scatter_chart(match, places, kind)
        for match in comparison.matches
        for kind in match.kinds
        if len(places := places_of(match, comparison.names, kind)) > 1
    ]
    return Section("UCerF against performance", charts, "scatter", "Performance", intro) if charts else None


Places = Mapping[str, tuple[int, Estimate, Estimate]]
"""Name of a run -> its number, performance and UCerF."""


def places_of(match: Match, names: Sequence[str], kind: str) -> Places:
    """Return each run's performance (accuracy, or 1 - certainty where nothing is right) and UCerF."""
    places = {}
    answerable = bool(match.answerable(kind).all())
    for number, (name, measured) in enumerate(zip(names, match.measured, strict=True)):
        ucerf = measured.get(measured.own("ucerf"), type=kind)
        row = measured.get("accuracy" if answerable else measured.own("certainty"), type=kind)
        if ucerf is not None and row is not None:
            turned = replace(row.estimate, value=1 - row.value, low=1 - row.high, high=1 - row.low)
            places[name] = (number, row.estimate if answerable else turned, ucerf.estimate)
    return places


def scatter_chart(match: Match, places: Places, kind: str) -> Chart:
    """Return UCerF against performance with intervals on both, and lines of equal FP."""
    across, up = (
        Axis.over([place[at] for place in places.values()], label, within=(0.0, 1.0))
        for at, label in ((1, "performance"), (2, "UCerF"))
    )
    dots = [Dot(performance, ucerf, number, name) for name, (number, performance, ucerf) in places.items()]
    keys = [Key(f"{n}: FP {right.value * ucerf.value:.3f}", at) for n, (at, right, ucerf) in places.items()]
    rows = [Row((name, *values)) for name, (_, *values) in places.items()]
    data = Table("", (Column("run", words=True), Column("performance"), Column("UCerF")), rows)
    panel = Panel([*_contours(across, up), *dots], across, up, height=0.8)
    return Chart(match.title(kind), [panel], "scatter", match.about(kind), keys, data=data)


def _contours(x: Axis, y: Axis) -> Iterator[Line | Note]:
    """Yield lines of equal FP at round values, each named where it leaves the chart."""
    for level in Axis("", x.low * y.low, max(x.high * y.high, x.low * y.low + 0.01)).ticks(6):
        at = np.linspace(max(x.low, 1e-6), x.high, 80).tolist()
        inside = [(value, level / value) for value in at if y.low <= level / value <= y.high]
        if len(inside) > 3:
            yield Line(inside, "quiet", dashed=True)
            yield Note(*inside[-1], f"FP {level:g}")


def odds(comparison: Comparison) -> Section | None:
    """Return TPR beside TPD of every dataset and task with both sides of the stereotype."""
    intro = (
        "TPR is the share of right answers among sentences that mean the occupation stereotyped as male, which is all"
        " that equalized odds sees; TPD is the mean desirability of these right answers, scaled to 0..1: 1 is right and"
        " sure, 0.5 right and not sure at all. Lines are intervals."
    )
    several = (odds_chart(comparison.runs, dataset, task) for dataset, task in all_parts(comparison.runs))
    charts = [chart for chart in several if chart]
    return Section("True positives and their certainty", charts, "odds", "TPR and TPD", intro) if charts else None


def odds_chart(runs: Sequence[Run], dataset: str, task: str) -> Chart | None:
    """Return TPR over TPD for each run and side of the stereotype, with intervals; None without such sides."""
    panels, rows = [], []
    for part in parts_of(runs, dataset, task):
        marks: list[Rule | Dot] = [Rule(0.5)]
        sides = list(rates(part))
        for place, (side, *both) in enumerate(sides):
            for tone, (name, value) in enumerate(zip(("TPR", "TPD"), both, strict=True)):
                marks.append(Dot(value, place + 0.4 * tone - 0.2, tone, f"{part.run.name}, {side}, {name}"))
            rows.append(Row((part.run.name, side, *both)))
        if sides:
            names = Axis.of_names([f"{side.partition(' ')[0]} (n = {right.n:,})" for side, right, _ in sides])
            panels.append(Panel(marks, Axis("TPR and TPD, from 0 to 1"), names, part.run.name, spacing=1.5))
    columns = [Column(title, words=at < 2) for at, title in enumerate(("run", "sentences", "TPR", "TPD"))]
    keys, about = (Key("TPR", 0), Key("TPD", 1)), {"dataset": dataset, "task": task}
    title, data = f"{dataset} · {task}", Table("", columns, rows)
    caption = "Sentences with the stereotype, and against it."
    return Chart(title, panels, "odds", about, keys, caption, data=data) if panels else None


def spreads(comparison: Comparison) -> Section | None:
    """Return the histograms of D and U, run against run and dataset against dataset."""
    intro = (
        "D is the place of an answer on the scale from surely wrong to surely right; where there is no right answer,"
        " certainty. U is 1 if all sentences of a set are treated alike. The bars are shares, so that data of different"
        " sizes can be compared: first run against run, then dataset against dataset."
    )
    charts: list[Chart] = []
    for dataset, task in all_parts(comparison.runs):
        parts = {part.run.name: part for part in parts_of(comparison.runs, dataset, task)}
        charts += spreads_of(parts, "spread", {"dataset": dataset, "task": task})
    charts += dataset_spreads(comparison.runs)
    return Section("Distribution of D and U", charts, "spreads", "D and U", intro) if charts else None


def calibrations(comparison: Comparison) -> Section | None:
    """Return a reliability diagram with a line for each run, for each dataset with a human label."""
    intro = (
        "On the diagonal what a model says comes true; above it, it happens more often than the model says. Lines are"
        " intervals, bars count sentences."
    )
    shown: list[Finding | Chart] = []
    for dataset, task in all_parts(comparison.runs):
        parts = [p for p in parts_of(comparison.runs, dataset, task) if calibration.is_calibrated(p.measured)]
        tables = [calibration.reliability_table(part.outcomes, level=part.run.level) for part in parts]
        lines = [
            table[table["group"] == "all"].assign(group=part.run.name)
            for part, table in zip(parts, tables, strict=True)
            if len(table)
        ]
        if len(lines) > 1:
            about, title = {"dataset": dataset, "task": task}, f"{dataset} · {task}"
            side = calibration.first_side(parts[0])
            shown.append(calibration.diagram(pd.concat(lines), side=side, about=about, title=title))
            for part in parts:
                name = part.run.name
                shown += [replace(finding, text=f"{name}: {finding.text}") for finding in calibration.findings(part)]
    return Section("Calibration", shown, "calibration", intro=intro) if shown else None


def runs(comparison: Comparison) -> Section:
    """Return how each run was made."""
    return Section("The runs", [_facts(run) for run in comparison.runs], "runs", "Runs")


def _facts(run: Run) -> Table:
    engine = run.manifest.engine
    leading = engine.get("leading_ids")
    added = "" if leading is None else " (added)" if leading else " (none added)"
    described = (
        f"{engine.get('engine', '')}, {engine.get('dtype', '–')}, begin-of-text: {engine.get('bos', '–')}{added}"
    )
    versions = ", ".join(f"{name} {value}" for name, value in run.manifest.versions.items() if name != "platform")
    facts: list[tuple[str, Content]] = [
        ("Engine", described),
        ("Weights", Cell(str(engine.get("weights", "–")), code=True)),
        ("Finished", run.manifest.finished),
        ("Command", Cell(run.manifest.command, code=True)),
        ("Versions", versions),
    ]
    return Table.of_facts(run.name, facts)
