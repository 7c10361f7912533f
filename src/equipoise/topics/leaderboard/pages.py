"""A leaderboard as the pages of a site: the models by one metric, on one dataset, and one model by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from urllib.parse import quote

from ... import packaged
from ...catalog import find
from ...metrics.naming import metric_of
from ...records import EquipoiseError, Estimate
from ...records.showing import Axis, Cell, Chart, Column, Content, Dot, Finding, Panel, Row, Section, Table, cases_link
from ...runs.measurements import kind_title
from ..ordering import CAPTION, Ordering, joined
from ..published import Measured, PublishedValue, published
from .boards import (
    Board,
    Entry,
    MetricName,
    Standing,
    Submission,
    Submissions,
    boards,
    metric_names,
    slugs,
    usual,
)
from .rivals import MOST

MAIN = "ucerf"
"""The metric of the first page, where the runs have it."""

SENTENCES = 4
"""At most this many boards are told in words; the chart has all of them."""

BETTER = {"higher": "Higher is better.", "lower": "Lower is better."}
RANKS = "The number before a value is the rank; it is a range where tests do not settle the order."


@dataclass(frozen=True)
class Site:
    """A leaderboard and the addresses of its pages, from the site's root."""

    submissions: Submissions
    title: str = "Leaderboard"
    level: float = 0.95
    main: str = MAIN
    published: Sequence[PublishedValue] = ()

    @cached_property
    def boards(self) -> list[Board]:
        """Every dataset, task and type."""
        return boards(self.submissions.entries, level=self.level)

    @cached_property
    def metrics(self) -> list[MetricName]:
        """The metrics that are ranked."""
        return metric_names(self.boards)

    @cached_property
    def models(self) -> Mapping[str, str]:
        """Model -> its page."""
        return _addresses("models", sorted({entry.model for entry in self.submissions.entries}))

    @cached_property
    def datasets(self) -> Mapping[str, str]:
        """Dataset -> its page."""
        return _addresses("datasets", dict.fromkeys(board.dataset_title for board in self.boards))

    @cached_property
    def metric_pages(self) -> Mapping[str, str]:
        """Metric -> its page; the first one's is the index."""
        names = [metric.name for metric in self.metrics]
        return {**_addresses("metrics", names), self.main if self.main in names else names[0]: "index.html"}

    def check(self) -> None:
        """Raise an error where the runs have no metric that is ranked, or not the one that was named."""
        if not self.metrics:
            reason = "the runs have none of the metrics of a leaderboard; measure them with the usual metrics"
            raise EquipoiseError(reason)
        if self.main != MAIN:
            find(self.main, {metric.name: metric for metric in self.metrics}, kind="metric of these runs")


def _addresses(folder: str, names: Iterable[str]) -> dict[str, str]:
    named = list(names)
    return {name: f"{folder}/{slug}.html" for name, slug in zip(named, slugs(named), strict=True)}


@dataclass(frozen=True)
class SitePage:
    """A page of a site: its address from the site's root, its title, what it is, facts about it, and its sections."""

    address: str
    title: str
    kicker: str
    facts: Sequence[tuple[str, str]]
    sections: Sequence[Section]


def pages(site: Site) -> Iterator[SitePage]:
    """Yield every page of the site but those of single runs."""
    yield from (metric_page(site, metric) for metric in site.metrics)
    yield from (dataset_page(site, title) for title in site.datasets)
    yield from (model_page(site, model) for model in site.models)


def metric_page(site: Site, metric: MetricName) -> SitePage:
    """Return the page of the models by one metric; the index is such a page."""
    address = site.metric_pages[metric.name]
    root = "" if address == "index.html" else "../"
    having = [board for board in site.boards if any(standing.row for standing in board.standings(metric.name))]
    ranks = f"{RANKS} All ranges of a column hold together with {100 * site.level:g}% confidence. Bold: may be first."
    about = [
        f"{metric.summary[:1].upper()}{metric.summary[1:]}.",
        BETTER.get(metric.better, "It has no better direction, so there are no ranks."),
        ranks if metric.better in BETTER else "",
    ]
    runs = site.submissions.runs
    counts = {"Models": site.models, "Datasets": site.datasets, "Runs": runs}
    facts = [*((name, f"{len(counted):,}") for name, counted in counts.items()), ("Newest", _newest(runs))]
    sections = [
        *order_sections(site, having, metric, root),
        Section(metric.title, [_by_metric(site, having, metric, root)], "board", intro=" ".join(about)),
        *_published(having, [value for value in site.published if value.metric == metric.name]),
        _about(site, root),
    ]
    return SitePage(address, site.title, metric.title, facts, sections)


def order_sections(site: Site, having: Sequence[Board], metric: MetricName, root: str) -> Iterator[Section]:
    """Yield the models in order on each board, in a sentence and a chart; nothing without two to order."""
    orderings = [ordering for board in having if (ordering := board_order(board, board.ranked_by(metric.name)))]
    if not orderings:
        return
    links = {model: root + address for model, address in site.models.items()}
    chart = Chart(
        "The models in order",
        [ordering.panel(ordering.where, links) for ordering in orderings],
        caption=CAPTION,
        layout="stacked" if len(orderings) == 1 else "multiples",
        data=joined(orderings),
    )
    how = "Every two models are tested sentence by sentence, as `equipoise compare` does"
    if not all(ordering.paired for ordering in orderings):
        how = f"Where a column has more than {MOST} models, or runs cannot be paired, their own intervals decide"
    intro = f"{how}; p-values are corrected for all pairs of a column (Holm)."
    first, *others = (ordering.finding for ordering in orderings[:SENTENCES])
    shown: list[Finding | Chart] = [first, chart, *others, Finding(intro, state="note")]
    yield Section("Which model is better?", shown, "order", "Order")


def board_order(board: Board, metric: str) -> Ordering | None:
    """Return the models of a board in order, as its ranks have them; None without two that are ranked."""
    ranked = [standing for standing in board.standings(metric) if standing.rank and standing.row]
    values = {standing.entry.model: standing.row.estimate for standing in ranked if standing.row}
    if len(values) < 2:
        return None
    return board.ordering(metric, values)


def _newest(runs: Iterable[Submission]) -> str:
    return max(run.finished for run in runs)


def _by_metric(site: Site, having: Sequence[Board], metric: MetricName, root: str) -> Table:
    """Return a row for each model and a column for each board, sorted by the first board."""
    columns = [Column("model", words=True)]
    for board in having:
        filters = {"dataset": board.dataset_title, "task": board.task, "type": kind_title(board.kind)}
        signed = " (signed)" if board.ranked_by(metric.name) != metric.name else ""
        columns.append(Column(board.title + signed, link=root + site.datasets[board.dataset_title], filters=filters))
    sign = -1 if metric.better == "higher" else 1
    rows = []
    for model in site.models:
        standings = [board.standing(model, board.ranked_by(metric.name)) for board in having]
        if any(standings):
            first = standings[0].row if standings[0] else None
            date = _newest(run for run in site.submissions.runs if run.model == model)[:10]
            cells = (_model(site, model, root), *(_cell(standing, root) for standing in standings), date)
            rows.append((first is None, sign * first.value if first else 0.0, Row(cells)))
    shown = [row for *_, row in sorted(rows, key=lambda row: row[:2])]
    choices = _choices(site, metric, root)
    return Table("", [*columns, Column("audited", words=True)], shown, sortable=True, choices=choices)


def _choices(site: Site, chosen: MetricName, root: str) -> dict[str, list[Cell]]:
    """Return the pages of other metrics (each once, with the chosen estimator where it has that) and estimators."""

    def cell(words: str, metric: MetricName) -> Cell:
        return Cell(words, metric == chosen, link=root + site.metric_pages[metric.name])

    alike = {metric.label: metric for metric in site.metrics if metric.estimator == chosen.estimator}
    metrics = {**{metric.label: metric for metric in usual(site.metrics)}, **alike}
    estimators = [metric for metric in site.metrics if metric.label == chosen.label]
    return {
        "metric": [cell(metric.title, metric) for metric in metrics.values()],
        "estimator": [cell(metric.estimator, metric) for metric in estimators],
    }


def _published(several: Sequence[Board], values: Sequence[PublishedValue]) -> list[Section]:
    """Return the section of published values for these boards; none where there are none."""
    entries = {(entry.model, entry.dataset, entry.task): entry for board in several for entry in board.entries}
    section = published([Measured(*key, entry.measured) for key, entry in entries.items()], values)
    return [] if section is None else [section]


def _about(site: Site, root: str) -> Section:
    """Return what ranks and columns are, where the data is, and which folders were left out."""
    texts = packaged.toml(__package__, "about.toml")
    facts: list[tuple[str, Content]] = [(n, text.format(level=f"{100 * site.level:g}%")) for n, text in texts.items()]
    data = Cell("measurements.parquet", link=f"{root}measurements.parquet")
    shown: list[Table | Section] = [Table.of_facts("", [*facts, ("All measurements of all runs", data)])]
    left_out = [Finding(note, state="note") for note in site.submissions.left_out]
    if left_out:
        count = "1 folder was" if len(left_out) == 1 else f"{len(left_out)} folders were"
        shown.append(Section(f"{count} left out", left_out, folded=True))
    return Section("How to read this", shown, "about")


def _model(site: Site, model: str, root: str) -> Cell:
    return Cell(model, link=root + site.models[model])


def _cell(standing: Standing | None, root: str = "../") -> Content:
    """Return the rank and the value, which leads to the cases behind it; nothing where there is no value."""
    if standing is None or (standing.row is None and not standing.entry.invalid):
        return None
    entry, rank = standing.entry, standing.rank
    cases = cases_link(part=f"{entry.dataset} · {entry.task}", type=standing.kind)
    link = root + quote(entry.submission.page) + cases
    if entry.invalid:
        return Cell("not usable", link=link, hint=entry.invalid)
    return Cell(standing.row, rank is not None and rank.best == 1, link=link, before=str(rank or ""))


def _columns(metrics: Iterable[MetricName]) -> list[Column]:
    return [Column(metric.title, metric.better, hint=metric.summary) for metric in metrics]


def dataset_page(site: Site, title: str) -> SitePage:
    """Return the page of a dataset: a table for each task and type, and the models with their intervals."""
    several = [board for board in site.boards if board.dataset_title == title]
    sections = []
    for number, board in enumerate(several):
        intro = "" if number else f"{RANKS} Bold: may be first."
        sections.append(
            Section(board.title, (_by_model(site, board), *_forests(board)), f"board-{number}", intro=intro)
        )
    sizes = sorted({entry.sentences for board in several for entry in board.entries})
    tasks = dict.fromkeys(board.task for board in several)
    facts = [("Sentences", ", ".join(f"{size:,}" for size in sizes)), ("Tasks", ", ".join(tasks))]
    return SitePage(site.datasets[title], title, "dataset", facts, [*sections, *_published(several, site.published)])


def _by_model(site: Site, board: Board) -> Table:
    """Return a row for each model of a board and a column for each metric."""
    metrics = usual(metric_names([board]))
    # A part of a run may have no metric of a leaderboard: its models are listed all the same.
    several = [board.standings(metric.name) for metric in metrics]
    rows = [
        Row((_model(site, entry.model, "../"), *(_cell(of[number]) for of in several), entry.submission.finished[:10]))
        for number, entry in enumerate(board.entries)
    ]
    columns = (Column("model", words=True), *_columns(metrics), Column("audited", words=True))
    return Table("", columns, rows, sortable=True)


def _forests(board: Board) -> Iterator[Chart]:
    panels = [panel for metric in usual(metric_names([board])) if (panel := forest(board, metric)) is not None]
    caption = "The best first. Lines are intervals; the number before a model is its rank."
    if panels:
        yield Chart(f"Models on {board.title}", panels, caption=caption, layout="multiples")


def forest(board: Board, metric: MetricName) -> Panel | None:
    """Return the models one under another, the best first, each with its rank; None without two or a direction."""
    valid = [standing for standing in board.standings(metric.name) if not standing.entry.invalid]
    measured = [(standing.row, standing) for standing in valid if standing.row is not None]
    if len(measured) < 2 or metric.better not in BETTER:
        return None
    measured.sort(key=lambda pair: pair[0].value, reverse=metric.better == "higher")
    names = [" · ".join(map(str, filter(None, (at.rank, at.entry.model)))) for _, at in measured]
    estimates = [row.estimate for row, _ in measured]
    dots = [Dot(estimate, float(at), label=names[at]) for at, estimate in enumerate(estimates)]
    return Panel(dots, _axis(estimates, metric), Axis.of_names(names), metric.title)


def _axis(estimates: Sequence[Estimate], metric: MetricName) -> Axis:
    known = metric_of(metric.name)
    return Axis.over(estimates, within=known.bounds if known else (-inf, inf), least=0.02)


def model_page(site: Site, model: str) -> SitePage:
    """Return the page of a model: what was found, its ranks, its history and its runs."""
    runs = [run for run in site.submissions.runs if run.model == model]
    several = [board for board in site.boards if any(entry.model == model for entry in board.entries)]
    newest = {(b.dataset_title, b.task): entry for b in several for entry in b.entries if entry.model == model}
    engine = runs[0].manifest.engine
    parameters = engine.get("parameters")
    facts = [
        ("Engine", str(engine.get("engine", ""))),
        ("Architecture", str(engine.get("architecture", ""))),
        ("Parameters", f"{parameters:,}" if isinstance(parameters, int) else ""),
        ("Runs", f"{len(runs):,}"),
    ]
    sections = [
        Section("What was found", [_found(entry) for entry in newest.values()], "findings", "Findings"),
        Section("Ranks", [_ranks(site, several, model)], "ranks"),
        *_history(several, model),
        Section("Runs", [_run_facts(run) for run in runs], "runs"),
    ]
    return SitePage(site.models[model], model, "model", facts, sections)


def _found(entry: Entry) -> Section:
    """Return the headline and the checks of a dataset and task."""
    title = f"{entry.dataset} · {entry.task}, {entry.submission.finished[:10]}"
    verdict = entry.summary.verdict
    shown = [verdict.line, *verdict.first, *entry.summary.checks]
    return Section(title, shown, link=f"../{entry.submission.page}")


def _ranks(site: Site, several: Sequence[Board], model: str) -> Table:
    """Return a row for each board of a model and a column for each metric."""
    metrics = usual(metric_names(several))
    rows = []
    for board in several:
        asked = Cell(board.title, link=f"../{site.datasets[board.dataset_title]}")
        standings = [board.standing(model, metric.name) for metric in metrics]
        rows.append(Row((asked, len(board.entries), *map(_cell, standings))))
    return Table("", (Column("asked", words=True), Column("models"), *_columns(metrics)), rows, sortable=True)


def _history(several: Sequence[Board], model: str) -> Iterator[Section]:
    sections = []
    for board in several:
        entries = board.history(model)
        if len(entries) < 2:
            continue
        metrics = [metric for metric in usual(metric_names([board])) if metric.better in BETTER]
        rows = []
        for entry in entries:
            run = entry.submission
            values = [entry.measured.get(metric.name, type=board.kind) for metric in metrics]
            finished = Cell(run.finished, link=f"../{run.page}")
            rows.append(Row((finished, run.manifest.versions.get("equipoise"), *values)))
        columns = (Column("finished (UTC)", words=True), Column("version", words=True), *_columns(metrics))
        panels = [panel for metric in metrics if (panel := over_time(entries, board, metric)) is not None]
        charts = [Chart(f"{board.title} over time", panels, layout="multiples")] if panels else []
        sections.append(Section(board.title, [Table("", columns, rows, sortable=True), *charts]))
    if sections:
        intro = "Every run of this model, board by board. Only the newest run is ranked."
        yield Section("History", sections, "history", intro=intro)


def over_time(entries: Sequence[Entry], board: Board, metric: MetricName) -> Panel | None:
    """Return a model's values from run to run with their intervals, the oldest to the left; None without two."""
    rows = [(entry.submission.finished, entry.measured.get(metric.name, type=board.kind)) for entry in entries]
    known = [(date, row.estimate) for date, row in rows if row is not None]
    if len(known) < 2:
        return None
    dots = [Dot(float(place), estimate, label=date) for place, (date, estimate) in enumerate(known)]
    dates = Axis.of_names([date[:10] for date, _ in known])
    return Panel(dots, dates, _axis([estimate for _, estimate in known], metric), metric.title)


def _run_facts(run: Submission) -> Table:
    """Return what is needed to make a run again, and where its page is."""
    manifest, engine = run.manifest, run.manifest.engine
    asked = f"{', '.join(manifest.datasets)} · {', '.join(manifest.tasks)}"
    verified = " · verified: hashes and measurements" if run.verified else ""
    versions = ", ".join(f"{name} {value}" for name, value in manifest.versions.items() if name != "platform")
    facts: list[tuple[str, Content]] = [
        ("Asked", Cell(asked, link=f"../{run.page}")),
        ("Finished (UTC)", f"{run.finished}{verified}"),
        ("Engine", ", ".join(str(engine[name]) for name in ("engine", "dtype") if engine.get(name))),
        ("Weights", Cell(str(engine.get("weights", "–")), code=True)),
        ("Command", Cell(manifest.command, code=True)),
        ("Versions", versions),
    ]
    return Table.of_facts("", facts)
