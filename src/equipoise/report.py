"""Which topics a run, a comparison, a tuning run or a leaderboard shows, in which order and medium.

A new section is a function from a run to a `Section`, and a row in `TOPICS` (of a comparison: `COMPARED`).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .comparing.comparison import Comparison
from .comparing.datasets import Moved
from .comparing.matching import named_apart
from .comparing.seen import Seen
from .files import replace_folder, write_file
from .progress import Progress, silent
from .records import EquipoiseError, Estimate
from .records.showing import Chart, Section, Table, every
from .runs.run import Run
from .topics import (
    asked,
    background,
    calibration,
    categories,
    decisions,
    estimators,
    first_screen,
    flips,
    identities,
    influence,
    numbers,
    occupations,
    plugged,
    power,
    questions,
    scale,
    settled,
    training,
)
from .topics.cases import are_many, case_section, fill_memory, packers, sparing
from .topics.comparison import differences, seen, standings
from .topics.comparison.cases import differing
from .topics.leaderboard.boards import read_submissions, run_folders, write_measurements
from .topics.leaderboard.pages import MAIN, Site, pages
from .topics.published import PublishedValue
from .verdict.subgroups import named_parts
from .verdict.summary import VERDICTS, summary, verdicts_json

if TYPE_CHECKING:
    from rich.console import RenderableType

    from .media.notebook import Plots

Topic = Callable[[Any], Section | None]
"""Of a run, or of a comparison."""

TOPICS: tuple[Topic, ...] = (
    first_screen.findings,
    settled.settled,
    first_screen.parts,
    decisions.decisions,
    scale.scale_section,
    numbers.numbers,
    questions.ways,
    questions.open_answers,
    categories.categories,
    categories.pairs,
    occupations.occupation_section,
    scale.histogram_section,
    estimators.section,
    calibration.section,
    identities.section,
    influence.influence_section,
    background.data,
    background.method,
    background.glossary,
    background.citations,
    case_section,
)
"""In the order of the page; the browser of all cases comes last."""

IN_TERMINAL: tuple[Topic, ...] = (
    numbers.summary,
    decisions.summary,
    questions.ways,
    categories.categories,
    categories.pairs,
    calibration.summary,
    identities.section,
    settled.settled,
)
"""What a terminal shows of a run."""

COMPARED: tuple[Topic, ...] = (
    differences.findings,
    standings.leaderboard,
    categories.compared,
    standings.ranks,
    differences.order_section,
    standings.scatter,
    standings.odds,
    standings.spreads,
    standings.calibrations,
    identities.compared,
    differences.differences,
    differences.overlap,
    standings.runs,
)
"""Of a comparison, in the order of its page."""

WITH_TEXTS: tuple[Topic, ...] = (questions.open_answers,)
"""Topics that quote the data's sentences, which a page without sentences leaves out."""

RUN_SCRIPTS = ("page.js", "packing.js", "case_list.js", "cases.js")
"""The scripts of a run's page."""


def page_topics(of_others: Callable[[str, Run], Section | None] = plugged.section) -> list[Topic]:
    """Return the topics of a run's page; those of other packages (entry point `equipoise.topics`) follow our own."""
    others: list[Topic] = [partial(of_others, name) for name in plugged.listed()]
    return [topic for listed in TOPICS for topic in ([*others, listed] if listed is background.data else [listed])]


def sections(subject: Run | Comparison, topics: Sequence[Topic] | None = None) -> Iterator[Section]:
    """Yield the sections of a run, or of a comparison, that it has something for; by default those of a run's page."""
    for topic in page_topics() if topics is None else topics:
        section = topic(subject)
        if section is not None:
            yield section


def charts(subject: Run | Comparison, topics: Sequence[Topic] | None = None) -> Iterator[Chart]:
    """Yield every chart of a run or a comparison that has a name."""
    return (chart for chart in every(sections(subject, topics), Chart) if chart.topic)


def tables(subject: Run | Comparison, topics: Sequence[Topic] | None = None) -> Iterator[Table]:
    """Yield every table of a run or a comparison that has a name."""
    return (table for table in every(sections(subject, topics), Table) if table.topic)


def run_page(run: Run, *, sentences: bool = True) -> str:
    """Return the page of a run; without `sentences` no text of the dataset is in it."""
    from .media.page.html import LEFT_OUT, Head, page

    topics = [partial(topic, run) for topic in page_topics(plugged.on_page) if sentences or topic not in WITH_TEXTS]
    head = Head(run.name, "Audit of", background.facts(run))
    shared = partial(summary, run) if are_many(run) and not fill_memory(run) else None
    shown, cases = sparing(run, topics), sparing(run, packers(run, sentences=sentences))
    return page(head, shown, scripts=RUN_SCRIPTS, cases=cases, shared=shared, left_out=LEFT_OUT)


def write_run_page(run: Run, *, out: Path | None = None, sentences: bool = True) -> Path:
    """Write the page of a run, by default into its folder, and return where it is."""
    content = run_page(run, sentences=sentences)
    if out is not None:
        return write_page(out, content)
    files: dict[str, Any] = {"report.html": content.encode("utf-8", "replace"), VERDICTS: verdicts_json(run)}
    run.folder.add(files, made_from=run.manifest)
    return run.path / "report.html"


def write_page(path: Path, content: str) -> Path:
    """Write a page beside its place and rename it, so that there is never half a page."""
    # A lone surrogate in a dataset's text cannot be written as UTF-8; the mark in its place can.
    write_file(path, content.encode("utf-8", "replace"))
    return path


def run_text(run: Run, *, all_rows: bool = False) -> RenderableType:
    """Return what a terminal shows of a run: the leading metrics, or all of them."""
    from .media import terminal

    return terminal.sections(sections(run, IN_TERMINAL), every=all_rows)


def plan_text(wish: str, where: str, powers: Sequence[tuple[int, Estimate]]) -> RenderableType:
    """Return what a terminal shows of the power of audits of several sizes."""
    from .media import terminal

    return terminal.draw(power.power(wish, where, powers))


def asked_text(run: Run, sentences: Sequence[str], left_out: Sequence[str] = ()) -> RenderableType:
    """Return what a terminal shows of sentences that were asked at once: bars for each answer."""
    from .media import terminal

    return terminal.sections([asked.asked(run, sentences, left_out)], charts=True)


def asked_html(run: Run, sentences: Sequence[str], left_out: Sequence[str] = ()) -> str:
    """Return what a notebook shows of them."""
    from .media.notebook import html

    return html(run.name, [asked.asked(run, sentences, left_out)])


def run_figures(run: Run, *, width: str = "column", formats: Sequence[str] = ("pdf",)) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of every figure of a run for a paper."""
    from .media.paper import figure_files

    return figure_files(charts(run), formats, width)


def identity_figures(runs: Sequence[Run], *, formats: Sequence[str] = ("png",)) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of every figure about identities of runs, or tasks of a run, in one drawing."""
    from .media.paper import figure_files

    named = named_parts(named_apart(runs) if len(runs) > 1 else runs)
    if not named:
        raise EquipoiseError("the run has no marked sentences; audit with --data winoidentity first")
    return figure_files(identities.pictures(named), formats, "page", title=True)


def run_tables(run: Run, *, formats: Sequence[str], fit: str = "column") -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of every table of a run for a paper."""
    from .media.paper import table_files

    return table_files(tables(run), formats, fit)


def run_html(run: Run) -> str:
    """Return what a notebook shows of a run: its sentences, its leading numbers, and how often answers change."""
    from .media.notebook import html

    parts = [
        Section(str(part), [*first_screen.lines(part), numbers.metrics(part), *flips.flips(part)]) for part in run.parts
    ]
    return html(run.name, parts)


def run_plots(run: Run) -> Plots:
    """Return the charts of a run for a notebook, by topic."""
    from .media.notebook import Plots

    return Plots(lambda: charts(run))


def comparison_page(
    comparison: Comparison, published: Sequence[PublishedValue] = (), *, sentences: bool = False
) -> str:
    """Return the page of a comparison; published values are shown beside the runs' own.

    Without `sentences` no sentence of a dataset is in it: it can then be passed on whatever the dataset's licence. With
    them it has the cases on which the runs differ.
    """
    from .media.page.html import Head, page

    names = comparison.names
    title = " and ".join(names) if len(names) == 2 else f"{len(names)} runs"
    shown = list(sections(comparison, COMPARED))
    if beside := standings.beside_published(comparison, published):
        shown.insert(2, beside)
    if sentences and (section := differing(comparison)):
        shown.insert(1, section)
    return page(Head(title, "Comparison of", standings.facts(comparison)), shown)


def comparison_text(comparison: Comparison) -> RenderableType:
    """Return what a terminal shows of a comparison: sentences, and the differences that are detected or asked for."""
    from .media import terminal

    return terminal.draw(differences.summary(comparison))


def comparison_figures(
    comparison: Comparison, *, width: str = "column", formats: Sequence[str] = ("pdf",)
) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of every figure of a comparison for a paper."""
    from .media.paper import figure_files

    return figure_files(charts(comparison, COMPARED), formats, width)


def comparison_tables(
    comparison: Comparison, *, formats: Sequence[str], fit: str = "column"
) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of every table of a comparison for a paper."""
    from .media.paper import table_files

    return table_files(tables(comparison, COMPARED), formats, fit)


def comparison_html(comparison: Comparison) -> str:
    """Return what a notebook shows of a comparison: a sentence for each pair of runs, and every tested difference."""
    from .media.notebook import html

    shown = sections(comparison, (differences.findings, differences.differences))
    return html(" · ".join(comparison.names), shown)


def datasets_page(moved: Sequence[Moved], compared: Sequence[Run], tests: Sequence[Seen] = ()) -> str:
    """Return the page of runs on two datasets with different sentences: what differs, and D and U on each.

    `tests` say whether a model does better on published sentences than on new ones.
    """
    from .media.page.html import Head, page

    test = moved[0].test
    runs = ", ".join(dict.fromkeys(move.test.row.model for move in moved))
    head = Head(f"{test.first} and {test.second}", "Datasets", [("Runs", runs)])
    first = [seen.section(tests)] if tests else []
    return page(head, [*first, differences.between_datasets(moved), scale.dataset_section(compared)])


def datasets_text(moved: Sequence[Moved], tests: Sequence[Seen] = ()) -> RenderableType:
    """Return what a terminal shows of runs on two datasets: whether one was seen before, the differences that hold."""
    from .media import terminal

    return terminal.listed([*seen.findings(tests), *differences.moves(moved)])


def write_training_page(folder: Path) -> tuple[Path, training.Curves]:
    """Write `curves.svg` and `report.html` into the folder `training` of a tuning run; return the page and its data."""
    from .media.page.charts import svg
    from .media.page.html import Head, page

    curves = training.read_curves(folder)
    write_page(folder / "curves.svg", str(svg(training.picture(curves), alone=True)))
    head = Head(f"Tuning {curves.settings['model']}", "tuning for balance", training.facts(curves))
    return write_page(folder / "report.html", page(head, training.sections(curves))), curves


MARK = ".equipoise-leaderboard"
"""The file that says that a folder is a site of ours, which may be replaced."""


@dataclass(frozen=True)
class SiteOptions:
    """How a site is made: its title, the metric of its first page, and whether runs' pages hold the sentences."""

    title: str = "Leaderboard"
    metric: str = MAIN
    level: float = 0.95
    sentences: bool = True
    verified: Sequence[Path] = ()
    published: Sequence[PublishedValue] = ()


def write_site(
    paths: Iterable[str | Path], out: Path, options: SiteOptions | None = None, *, progress: Progress | None = None
) -> Site:
    """Write the leaderboard of all runs at these paths and below them; return what is on it.

    A site that is already there is replaced in the end, in one step; any other folder with files in it is left alone.
    """
    options = options or SiteOptions()
    report = progress or silent
    check_place(out, MARK, "a leaderboard")
    submissions = read_submissions(run_folders(paths), verified=options.verified, progress=report)
    site = Site(submissions, options.title, options.level, options.metric, options.published)
    site.check()
    draft = out.with_name(f".{out.name}.next")
    shutil.rmtree(draft, ignore_errors=True)
    total = len(site.metrics) + len(site.datasets) + len(site.models) + len(submissions.runs)
    for number, (address, content) in enumerate(_site_pages(site, sentences=options.sentences)):
        write_page(draft / address, content)
        report("writing pages", number + 1, total)
    write_measurements(submissions.entries, draft / "measurements.parquet")
    (draft / MARK).write_text("made by equipoise leaderboard\n", encoding="utf-8")
    replace_folder(out, draft)
    return site


def _site_pages(site: Site, *, sentences: bool) -> Iterator[tuple[str, str]]:
    """Yield the address and content of every page; a run's is the one in its folder, unless sentences are left out."""
    from .media.page.html import Head, page

    for shown in pages(site):
        crumbs = [] if shown.address == "index.html" else [(site.title, "../index.html")]
        tab = f"{site.title}: {shown.kicker if shown.title == site.title else shown.title}"
        head = Head(shown.title, shown.kicker, shown.facts, crumbs, tab)
        yield shown.address, page(head, shown.sections)
    for submission in site.submissions.runs:
        run = Run(submission.folder, name=submission.model)
        if sentences and "report.html" in run.manifest.files:
            yield submission.page, run.folder.content("report.html", run.manifest).decode("utf-8", "replace")
        else:
            yield submission.page, run_page(run, sentences=sentences)


def check_place(out: Path, mark: str, what: str) -> None:
    """Raise an error where a folder holds anything but a site of ours, which the file `mark` says."""
    if out.exists() and not out.is_dir():
        raise EquipoiseError(f"{out} is a file; a site needs a folder")
    if out.is_dir() and any(out.iterdir()) and not (out / mark).is_file():
        raise EquipoiseError(f"{out} holds files that are not {what}; choose another folder")
