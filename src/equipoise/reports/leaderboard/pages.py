"""The pages of a leaderboard: the models by one metric, one dataset, one model. All text of the runs is escaped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from markupsafe import Markup

from ...uncertainty import PERPLEXITY
from ..page.html import page
from ..page.rendering import Section, render
from ..published import Measured, PublishedValue, published_section
from .boards import Board, MetricName, Place, boards, metric_names, usual
from .charts import forest_chart, history_chart
from .submissions import Slugs, Submissions

SCRIPTS = ("page.js", "board.js")
MAIN = "ucerf"
"""The metric of the first page, where the runs have it."""


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
    def first_metric(self) -> MetricName:
        """The metric of the index."""
        return next((metric for metric in self.metrics if metric.name == self.main), self.metrics[0])

    @cached_property
    def models(self) -> list[str]:
        """The models' names, sorted."""
        return sorted({entry.model for entry in self.submissions.entries})

    @cached_property
    def model_pages(self) -> Mapping[str, str]:
        """Model -> its page."""
        slugs = Slugs()
        return {model: f"models/{slugs(model)}.html" for model in self.models}

    @cached_property
    def dataset_pages(self) -> Mapping[str, str]:
        """Dataset -> its page."""
        slugs = Slugs()
        titles = dict.fromkeys(board.dataset_title for board in self.boards)
        return {title: f"datasets/{slugs(title)}.html" for title in titles}

    @cached_property
    def metric_pages(self) -> Mapping[str, str]:
        """Metric -> its page; the first one's is the index."""
        slugs = Slugs()
        named = {metric.name: f"metrics/{slugs(metric.name)}.html" for metric in self.metrics}
        return {**named, self.first_metric.name: "index.html"}


def metric_page(site: Site, metric: MetricName) -> str:
    """Return the page of the models by one metric; the index is such a page."""
    root = "" if site.metric_pages[metric.name] == "index.html" else "../"
    having = [board for board in site.boards if any(place.row is not None for place in board.places(metric.name))]
    rows = [(model, *_row(site, having, metric, model)) for model in site.models]
    shown = [row for row in rows if any(place is not None for _, place in row[1])]
    table = render(
        "board_index.html",
        metric=metric,
        boards=having,
        rows=sorted(shown, key=lambda row: _order(row[1], metric)),
        metrics=list(_metric_choices(site, metric, root)),
        estimators=list(_estimator_choices(site, metric, root)),
        filters=_filters(having),
        level=site.level,
        model_pages=site.model_pages,
        dataset_pages=site.dataset_pages,
        root=root,
    )
    about = render("board_about.html", root=root, level=site.level, left_out=site.submissions.left_out)
    facts = [
        ("Models", f"{len(site.models):,}"),
        ("Datasets", f"{len(site.dataset_pages):,}"),
        ("Runs", f"{len(site.submissions.runs):,}"),
        ("Newest", max(run.finished for run in site.submissions.runs)),
    ]
    crumbs = [] if not root else [(site.title, "../index.html")]
    header = render("site_header.html", kicker=metric.title, title=site.title, facts=facts, crumbs=crumbs)
    printed = _published(site, having, [value for value in site.published if value.metric == metric.name])
    sections = [Section("board", metric.title, table), *printed, Section("about", "How to read this", about)]
    return page(f"{site.title}: {metric.title}", header, sections, scripts=SCRIPTS)


def _published(site: Site, several: Sequence[Board], values: Sequence[PublishedValue]) -> list[Section]:
    """Return the section of published values for these boards; none where there are none."""
    entries = {(e.model, e.dataset, e.task): e for board in several for e in board.entries}
    measured = [Measured(e.model, e.dataset, e.task, e.measured) for e in entries.values()]
    section = published_section(measured, values)
    return [] if section is None else [section]


def _row(
    site: Site, having: Sequence[Board], metric: MetricName, model: str
) -> tuple[list[tuple[Board, Place | None]], str]:
    cells = [(board, board.place(model, metric.name)) for board in having]
    return cells, max(entry.submission.finished for entry in site.submissions.entries if entry.model == model)


def _order(cells: Sequence[tuple[Board, Place | None]], metric: MetricName) -> tuple[bool, float]:
    """Return what models are first sorted by: their value in the first column, those without one last."""
    place = cells[0][1] if cells else None
    if place is None or place.row is None:
        return True, 0.0
    return False, -place.row.value if metric.better == "higher" else place.row.value


def _metric_choices(site: Site, chosen: MetricName, root: str) -> Iterator[tuple[str, str, bool]]:
    """Yield the metrics with their pages: each once, with the chosen estimator where it has that."""
    labels = dict.fromkeys(metric.label for metric in site.metrics)
    for label in labels:
        named = [metric for metric in site.metrics if metric.label == label]
        metric = next((m for m in named if m.estimator == chosen.estimator), named[0])
        yield metric.title, root + site.metric_pages[metric.name], label == chosen.label


def _estimator_choices(site: Site, chosen: MetricName, root: str) -> Iterator[tuple[str, str, bool]]:
    for metric in site.metrics:
        if metric.label == chosen.label:
            name = metric.estimator or PERPLEXITY.name
            yield name, root + site.metric_pages[metric.name], metric.name == chosen.name


def _filters(having: Sequence[Board]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return what columns can be filtered by, where that leaves something out."""
    values = {
        "dataset": dict.fromkeys((board.dataset_title, board.dataset_title) for board in having),
        "task": dict.fromkeys((board.task, board.task) for board in having),
        "type": dict.fromkeys((board.kind, board.kind or "no type") for board in having),
    }
    return [(name, list(several)) for name, several in values.items() if len(several) > 1]


def dataset_page(site: Site, title: str) -> str:
    """Return the page of a dataset: a table for each task and type, and the models with their intervals."""
    sections = []
    several = [board for board in site.boards if board.dataset_title == title]
    for number, board in enumerate(several):
        metrics = usual(metric_names([board]))
        columns = [board.places(metric.name) for metric in metrics]
        rows = [(entry, [column[place] for column in columns]) for place, entry in enumerate(board.entries)]
        directed = [metric for metric in metrics if metric.better != "neither"]
        charts = [(metric.title, chart) for metric in directed if (chart := forest_chart(board, metric)) is not None]
        body = render(
            "board_dataset.html",
            board=board,
            metrics=metrics,
            rows=rows,
            charts=charts,
            notes=[] if number else ["Bold: the rank, a range where the intervals do not settle it."],
            model_pages=site.model_pages,
            root="../",
        )
        sections.append(Section(f"board-{number}", board.title, body))
    sections += _published(site, several, site.published)
    sizes = sorted({entry.sentences for board in several for entry in board.entries})
    facts = [("Sentences", ", ".join(f"{size:,}" for size in sizes)), ("Tasks", ", ".join(_tasks(several)))]
    crumbs = [(site.title, "../index.html")]
    header = render("site_header.html", kicker="dataset", title=title, facts=facts, crumbs=crumbs)
    return page(f"{site.title}: {title}", header, sections, scripts=SCRIPTS)


def _tasks(several: Sequence[Board]) -> list[str]:
    return list(dict.fromkeys(board.task for board in several))


def model_page(site: Site, model: str) -> str:
    """Return the page of a model: what was found, its ranks, its history and its runs."""
    runs = [run for run in site.submissions.runs if run.model == model]
    boards = [board for board in site.boards if any(entry.model == model for entry in board.entries)]
    newest = {(b.dataset_title, b.task): e for b in boards for e in b.entries if e.model == model}
    engine = runs[0].manifest.engine
    facts = [
        ("Engine", str(engine.get("engine", ""))),
        ("Architecture", str(engine.get("architecture", ""))),
        ("Parameters", f"{engine['parameters']:,}" if isinstance(engine.get("parameters"), int) else ""),
        ("Runs", f"{len(runs):,}"),
    ]
    crumbs = [(site.title, "../index.html")]
    header = render("site_header.html", kicker="model", title=model, facts=facts, crumbs=crumbs)
    findings = render("board_findings.html", entries=list(newest.values()), root="../")
    sections = [
        Section("findings", "What was found", findings),
        Section("ranks", "Ranks", _ranks(site, boards, model)),
        *_history(boards, model),
        Section("runs", "Runs", render("board_runs.html", runs=runs, root="../")),
    ]
    return page(f"{site.title}: {model}", header, sections, scripts=SCRIPTS)


def _ranks(site: Site, boards: Sequence[Board], model: str) -> Markup:
    metrics = usual(metric_names(boards))
    rows = [(board, [board.place(model, metric.name) for metric in metrics]) for board in boards]
    return render("board_model.html", metrics=metrics, rows=rows, dataset_pages=site.dataset_pages, root="../")


def _history(boards: Sequence[Board], model: str) -> Iterator[Section]:
    shown = []
    for board in boards:
        several = board.history(model)
        if len(several) < 2:
            continue
        metrics = [metric for metric in usual(metric_names([board])) if metric.better != "neither"]
        charts = [(m.title, chart) for m in metrics if (chart := history_chart(several, board, m)) is not None]
        shown.append((board, several, metrics, charts))
    if shown:
        yield Section("history", "History", render("board_history.html", boards=shown, root="../"))
