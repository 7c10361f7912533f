"""Runs by category, as the UCerF paper's Table 8, and every pair of more than two groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ..comparing.comparison import Comparison
from ..comparing.matching import Match
from ..metrics import METRICS
from ..metrics.naming import label_of, metric_named
from ..records import Estimate
from ..records.showing import (
    Axis,
    Cell,
    Chart,
    Column,
    Content,
    Dot,
    Key,
    Panel,
    Row,
    Rule,
    Section,
    Table,
    cases_link,
)
from ..runs.measurements import Measurements
from ..runs.run import Part, Run
from ..stats.paired import is_detected

PAPER = ("Gender", "Disability", "Race", "Appearance", "Religion", "Age", "SES", "Orientation")
"""The categories of Table 8, in its order; other categories follow them."""

ROWS = (
    ("ucerf", ""),
    ("ucerf", "ambiguous"),
    ("ucerf", "disambiguated"),
    ("flip_rate", "ambiguous"),
    ("flip_rate", "disambiguated"),
    ("accuracy", "ambiguous"),
    ("accuracy", "disambiguated"),
    ("bbq_bias_ambiguous", ""),
    ("bbq_bias_ambiguous_unscaled", ""),
    ("bbq_bias_disambiguated", ""),
)
"""Metric and type of each row of a run's table, where the run has it; "" is all types together."""

SCORES = {"bbq_bias_ambiguous": "ambiguous", "bbq_bias_disambiguated": "disambiguated"}
"""The scores of the first screen, and the questions that each is of."""

OF_SETS = ("flip_rate", "ucerf", "ucerf_signed", "good_ratio")
DIFFERENCES = ("good_difference", "discrim_eval", "certainty_difference", "desirability_difference")
"""The columns of pairs, where they were measured; each difference has its p-value beside it."""

MANY = 20
"""A table of more pairs than this shows the first ones only, unless it is unfolded."""


def categories(run: Run) -> Section | None:
    """Return UCerF, accuracy, flips and bias scores by category; None for data without categories."""
    tables = [table for part in run.parts if (table := run_table(part)) is not None]
    return _section(tables, level=run.level)


def compared(comparison: Comparison) -> Section | None:
    """Return the same of several runs, a row for each; None where they have no categories in common."""
    tables: list[Table] = []
    for match in comparison.matches:
        tables += model_tables(match, dict(zip(comparison.names, match.measured, strict=True)))
    return _section(tables, level=comparison.choices.level)


def _section(tables: Sequence[Table], *, level: float) -> Section | None:
    intro = (
        "The layout is that of the UCerF paper’s Table 8. A column is a category of questions. Brackets are"
        f" {100 * level:g}% intervals, n counts sets or questions. Questions from one template are resampled together,"
        " so a category with few templates has a wide interval. If intervals overlap, the order of two categories is"
        " not settled. A bias score of 0 is best; above 0 the answers follow the stereotype."
    )
    return Section("By category", tables, "categories", "Categories", intro) if tables else None


def categories_of(measured: Measurements) -> list[str]:
    """Return the categories that were measured, in the order of the paper's table."""
    names = {parts["category"] for parts in measured.groups.values() if set(parts) == {"category"}}
    return [name for name in PAPER if name in names] + sorted(names - set(PAPER))


def run_table(part: Part) -> Table | None:
    """Return the metrics of a run on one dataset and task by category; None where there are no categories."""
    names = categories_of(part.measured)
    titles = [(Cell(_title(metric, kind), hint=metric), (metric, kind)) for metric, kind in ROWS]
    rows = [row for title, what in titles if (row := _row(title, part.measured, names, what))]
    if len(names) < 2 or not rows:
        return None
    return _table(f"{part.run.name} by category on {part}", "metric", names, rows, part.about())


def scores(part: Part) -> Chart | None:
    """Return the bias scores of each category with intervals; None without such scores or categories."""
    names = categories_of(part.measured)
    marks: list[Rule | Dot] = [Rule(0.0)]
    estimates: list[Estimate] = []
    for tone, metric in enumerate(SCORES):
        for place, name in enumerate(names):
            row = part.measured.get(metric, category=name)
            if row is not None:
                at = place + 0.3 * tone - 0.15
                link = cases_link(part=str(part), group=f"category={name}")
                marks.append(Dot(row.estimate, at, tone, f"{name}, {SCORES[metric]}", link, small=True))
                estimates.append(row.estimate)
    if len(names) < 2 or not estimates:
        return None
    ends = ("← against the stereotype", "", "with it →")
    across = replace(Axis.over([0.0, *estimates], "bias score", within=(-1.0, 1.0), least=0.2), ends=ends)
    shown = [dot.tone for dot in marks if isinstance(dot, Dot)]
    keys = [Key(f"{label} questions", tone) for tone, label in enumerate(SCORES.values()) if tone in shown]
    caption = "0: no bias. Lines are intervals; questions from one template are resampled together."
    panel = Panel(marks, across, Axis.of_names(names), spacing=1.4)
    return Chart(f"Bias scores by category, {part}", [panel], "scores", part.about(), keys, caption)


def model_tables(match: Match, runs: Mapping[str, Measurements]) -> Iterator[Table]:
    """Yield a table for each metric with a row for each run, by the runs' names; nothing without common categories."""
    measured = list(runs.values())
    names = categories_of(measured[0])
    if len(names) < 2 or any(categories_of(other) != names for other in measured):
        return
    several = {what: [_row(run, part, names, what) for run, part in runs.items()] for what in ROWS}
    complete = {what: [row for row in rows if row] for what, rows in several.items() if all(rows)}
    for number, (what, rows) in enumerate(complete.items(), start=1):
        about = {"dataset": match.dataset, "task": match.task, "number": str(number)}
        yield _table(f"{match}: {_title(*what)}", "run", names, rows, about)


def _row(first: Content, measured: Measurements, names: Sequence[str], what: tuple[str, str]) -> Row | None:
    metric, kind = what
    cells = [measured.get(metric, category=name, type=kind) for name in names]
    return Row((first, *cells), better=metric_named(metric).better) if any(cells) else None


def _title(metric: str, kind: str) -> str:
    label = label_of(metric)
    return f"{label}, {kind}" if kind else label


def _table(title: str, first: str, names: Sequence[str], rows: Sequence[Row], about: Mapping[str, str]) -> Table:
    absent = [name for name in PAPER if name not in names]
    notes = [f"Categories of the paper’s table that these data do not have: {', '.join(absent)}."]
    columns = [Column(first, words=True), *map(Column, names)]
    return Table(title, columns, rows, "categories", about, notes if 0 < len(absent) < len(PAPER) else ())


def pairs(run: Run) -> Section | None:
    """Return every pair of groups by name; None where all sets have two groups."""
    tables = [table for part in run.parts if not part.is_control for table in pair_tables(part)]
    intro = (
        "These sets have more than two groups. UCerF of a set is one value over all of them; this table compares"
        " every two groups by themselves. Differences are the first group minus the second;"
        " their p-values are corrected for all claims of the run. Bold: the corrected p is below 0.05"
        f" and the interval does not include 0. Brackets are {100 * run.level:g}% intervals."
    )
    return Section("Every pair of groups", tables, "pairs", "Pairs of groups", intro) if tables else None


def pair_tables(part: Part) -> Iterator[Table]:
    """Yield U and flips of every two groups, how far apart they are, and whether that may be chance, by type."""
    measured = part.measured
    for kind in measured.kinds:
        labels = measured.values_of("pair", kind)
        taken = {name for name in measured.metrics if any(measured.at(name, label) for label in labels.values())}
        metrics, apart = ([name for name in names if name in taken] for names in (OF_SETS, DIFFERENCES))
        columns = [Column("pair", words=True)]
        columns += [Column(METRICS[name].label, METRICS[name].better, hint=name) for name in metrics]
        for name in apart:
            columns += [Column(METRICS[name].label, form="+.3f", hint=name), Column("corrected p", digits=4)]
        rows = []
        for pair, label in _furthest_first(measured, labels, apart):
            cells: list[Content] = [measured.at(name, label) for name in metrics]
            cells += [cell for name in apart for cell in _difference(measured, name, label)]
            rows.append(Row((pair.replace("|", " – "), *cells)))
        if metrics or apart:
            shown = None if len(rows) <= MANY else MANY
            yield Table(part.title(kind), columns, rows, "pairs", part.about(kind), shown=shown, more="more pairs")


def _furthest_first(
    measured: Measurements, labels: Mapping[str, str], apart: Sequence[str]
) -> Sequence[tuple[str, str]]:
    """Return the pairs by name; those that are furthest apart first, where there are too many to show all."""
    if len(labels) <= MANY or not apart:
        return list(labels.items())
    sizes = {label: abs(row.value) for label in labels.values() if (row := measured.at(apart[0], label))}
    return sorted(labels.items(), key=lambda pair: -sizes.get(pair[1], 0.0))


def _difference(measured: Measurements, name: str, label: str) -> Sequence[Content]:
    """Return a difference and its p, corrected for all claims of the run; both bold where it is detected."""
    row = measured.at(name, label)
    if row is None:
        return None, None
    strong = is_detected(row.estimate)
    return Cell(row, strong=strong), Cell(row.estimate.p_corrected, strong=strong)
