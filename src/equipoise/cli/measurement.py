"""`equipoise report` and `measure`: what is made of a run, or of a part of it, without the model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..records import EquipoiseError
from .audit import (
    By,
    Disparity,
    Estimators,
    Json,
    Level,
    Log,
    NoHtml,
    Quiet,
    Resamples,
    Several,
    Where,
    check_trackers,
    chosen_options,
    log_run,
    write_page,
)
from .console import progress_bar
from .results import show_run

if TYPE_CHECKING:
    from ..runs import Run

PartOut = Annotated[
    Path | None, typer.Option("--out", help="With --where: the folder of the part; by default beside the run's.")
]


def report(
    folder: Annotated[Path, typer.Argument(help="A run folder.")],
    where: Where = None,
    out: PartOut = None,
    html: Annotated[
        Path | None, typer.Option("--html", help="Where to write the page; by default report.html in the run's folder.")
    ] = None,
    no_sentences: Annotated[
        bool,
        typer.Option("--no-sentences", help="Leave the sentences out of the page, for data that must not be shared."),
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="Print every metric, not only the leading ones.")] = False,
    log: Log = None,
    no_html: NoHtml = False,
    as_json: Json = False,
) -> None:
    """Print a run's tables again, and write its page. No model is needed.

    With --where, this is done for a part of the run, in a new run folder.
    """
    check_trackers(log)
    run = _part(folder, where, out, quiet=as_json)
    write_page(run, no_html=no_html, out=html, sentences=not no_sentences)
    show_run(run, quiet=False, as_json=as_json, every=every)
    log_run(run, log, quiet=as_json)


def measure(
    folder: Annotated[Path, typer.Argument(help="A run folder.")],
    estimator: Estimators = None,
    metric: Annotated[Several, typer.Option("--metric", help="Measure this metric too; the others are kept.")] = None,
    by: By = None,
    disparity: Disparity = None,
    level: Level = None,
    resamples: Resamples = None,
    where: Where = None,
    out: PartOut = None,
    no_html: NoHtml = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Measure a run again, without the model. Use it for other estimators, groups, levels or metrics.

    With --where, a part of the run is measured into a new run folder; the run itself does not change.
    """
    chosen = chosen_options(estimators=estimator, metrics=metric, by=by, disparity=disparity, level=level)
    chosen |= chosen_options(resamples=resamples)
    if where or out:
        run = _part(folder, where, out, quiet=quiet, **chosen)
    else:
        from ..run import remeasure

        with progress_bar(quiet=quiet) as progress:
            run = remeasure(folder, progress=progress, **chosen)
    write_page(run, no_html=no_html)
    show_run(run, quiet=quiet, as_json=as_json)


def _part(folder: Path, where: Several, out: Path | None, *, quiet: bool, **chosen: Any) -> Run:
    """Return the part of the run that was asked for; the run itself where none was."""
    if not where:
        if out is not None:
            raise EquipoiseError("--out is the folder of a part of the run: it needs --where")
        from ..run import load

        return load(folder)
    from ..selection import select_run

    with progress_bar(quiet=quiet) as progress:
        return select_run(folder, where, out=out, progress=progress, **chosen)
