"""The site of a leaderboard: written beside its place, then put there whole."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ...progress import Progress
from ...records import EquipoiseError
from ...runs.run import Run
from ..page.html import run_page, write_page
from ..published import PublishedValue
from .pages import MAIN, Site, dataset_page, metric_page, model_page
from .submissions import Submission, read_submissions, run_folders
from .table import write_measurements

PAGE = "report.html"
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
    report = progress or (lambda what, done, total: None)
    _check_place(out)
    submissions = read_submissions(run_folders(paths), verified=options.verified, progress=report)
    site = Site(submissions, options.title, options.level, options.metric, options.published)
    if not site.metrics:
        raise EquipoiseError("the runs have none of the metrics of a leaderboard; measure them with the usual metrics")
    draft = out.with_name(f".{out.name}.next")
    shutil.rmtree(draft, ignore_errors=True)
    pages = list(_pages(site))
    total = len(pages) + len(submissions.runs)
    for number, (address, make) in enumerate(pages):
        write_page(draft / address, make())
        report("writing pages", number + 1, total)
    for number, run in enumerate(submissions.runs):
        write_page(draft / run.page, _own_page(run, sentences=options.sentences))
        report("writing pages", len(pages) + number + 1, total)
    write_measurements(submissions.runs, draft / "measurements.parquet")
    (draft / MARK).write_text("made by equipoise leaderboard\n", encoding="utf-8")
    _replace(out, draft)
    return site


def _pages(site: Site) -> Iterator[tuple[str, Callable[[], str]]]:
    for metric in site.metrics:
        yield site.metric_pages[metric.name], partial(metric_page, site, metric)
    for title, address in site.dataset_pages.items():
        yield address, partial(dataset_page, site, title)
    for model, address in site.model_pages.items():
        yield address, partial(model_page, site, model)


def _own_page(run: Submission, *, sentences: bool) -> str:
    """Return the run's own page: the one in its folder where it has one, unless sentences are left out."""
    opened = Run(run.folder, name=run.model)
    if sentences and PAGE in opened.manifest.files:
        return opened.folder.content(PAGE, opened.manifest).decode("utf-8", "replace")
    return run_page(opened, sentences=sentences)


def _check_place(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise EquipoiseError(f"{out} is a file; a site needs a folder")
    if out.is_dir() and any(out.iterdir()) and not (out / MARK).is_file():
        raise EquipoiseError(f"{out} holds files that are not a leaderboard; choose another folder")


def _replace(out: Path, draft: Path) -> None:
    old = out.with_name(f".{out.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    if out.exists():
        out.rename(old)
    draft.rename(out)
    shutil.rmtree(old, ignore_errors=True)
