"""`equipoise report`: what a finished run shows, as a page, figures, tables, a card, or in more detail."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ..records import EquipoiseError
from . import calibration
from .console import progress_bar, tell
from .measurement import part_of
from .parameters import Json, NoHtml, Quiet, was_given, with_options
from .reports import Intersect, Runs, compared
from .results import check_trackers, keep_files, log_run, show_run, write_page

Kind = Literal["page", "figures", "tables", "card", "certificate", "identities", "reliability"]
Format = StrEnum("Format", ["pdf", "svg", "png", "markdown", "latex", "csv"])
FIGURES = (Format.pdf, Format.svg, Format.png)
TABLES = (Format.markdown, Format.latex, Format.csv)

MADE_FOR: Mapping[str, tuple[str, ...]] = {
    "html": ("page",),
    "no_sentences": ("page",),
    "every": ("page",),
    "no_html": ("page",),
    "as_json": ("page",),
    "where": ("page",),
    "log": ("page",),
    "out": ("page", "figures", "tables", "card", "certificate", "identities"),
    "formats": ("figures", "tables", "identities"),
    "width": ("figures", "tables"),
    "intersect": ("figures", "tables"),
    "by": ("reliability",),
    "bins": ("reliability",),
}
"""Option -> what it is for; given with anything else it is refused."""


@dataclass(frozen=True)
class Wanted:
    """What is written of runs, and how."""

    runs: Sequence[Path]
    out: Path | None
    formats: Sequence[Format]
    width: str
    intersect: bool
    by: str
    bins: int
    quiet: bool

    @property
    def run(self) -> Path:
        """The run, where there is one."""
        if len(self.runs) > 1:
            raise EquipoiseError("this is made of one run; give one run folder (`equipoise compare` shows several)")
        return self.runs[0]

    def formats_among(self, allowed: Sequence[Format], usual: Sequence[Format]) -> tuple[str, ...]:
        """Return the formats that were asked for, all of them allowed; the usual ones where none were."""
        for wrong in (format for format in self.formats if format not in allowed):
            raise EquipoiseError(f"--format must be one of {', '.join(allowed)} here, not {wrong}")
        return tuple(self.formats or usual)


@with_options("where", "log")
def report(
    context: typer.Context,
    runs: Runs,
    kind: Annotated[
        Kind,
        typer.Option(
            "--as",
            help="What to make: the page, figures or tables for a paper, a section for a model card, the certificate of"
            " what --until settled, pictures of identities, or how well probabilities match the labels.",
        ),
    ] = "page",
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Where to write; by default into the run folder. With --where: the part's folder."),
    ] = None,
    formats: Annotated[
        list[Format] | None,
        typer.Option("--format", help="Of figures (pdf, svg, png) or tables (markdown, latex, csv). Repeatable."),
    ] = None,
    width: Annotated[
        Literal["column", "page", "longtable"],
        typer.Option("--width", help="In a paper: column (3.25 inches) or page (6.75); longtable: LaTeX, over pages."),
    ] = "column",
    intersect: Intersect = False,
    by: calibration.Group = "",
    bins: Annotated[int, typer.Option("--bins", help="Reliability: number of bins of equal width.", min=1)] = 10,
    html: Annotated[
        Path | None, typer.Option("--html", help="Where to write the page; by default report.html in the run's folder.")
    ] = None,
    no_sentences: Annotated[
        bool,
        typer.Option("--no-sentences", help="Leave the sentences out of the page, for data that must not be shared."),
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="Print every metric, not only the leading ones.")] = False,
    no_html: NoHtml = False,
    quiet: Quiet = False,
    as_json: Json = False,
    **choices: Any,
) -> None:
    """Show a finished run. Prints its tables and writes its page, or makes what --as says; no model is needed.

    With --where, the page is of a part of the run, in a new run folder. Figures and tables of several runs are those
    of their comparison; figures of runs on different datasets are D and U of each dataset.
    """
    _check_use(context, kind)
    wanted = Wanted(runs, out, formats or (), width, intersect, by, bins, quiet)
    if kind != "page":
        MAKERS[kind](wanted)
        return
    trackers = choices.get("log", ())
    check_trackers(trackers)
    run = part_of(wanted.run, choices.get("where"), out, quiet=quiet or as_json)
    write_page(run, no_html=no_html, out=html, sentences=not no_sentences)
    show_run(run, quiet=quiet, as_json=as_json, every=every, elsewhere=None if no_html else html)
    log_run(run, trackers, quiet=quiet or as_json)


def _check_use(context: typer.Context, kind: str) -> None:
    """Raise an error where an option has no use for what is made."""
    flags = {parameter.name: parameter.opts[0] for parameter in context.command.params}
    for name, kinds in MADE_FOR.items():
        if kind not in kinds and was_given(context, name):
            raise EquipoiseError(f"{flags[name]} is for --as {' or '.join(kinds)}, not for --as {kind}")


def _figures(wanted: Wanted) -> None:
    from ..media.paper import figure_files
    from ..report import comparison_figures, run_figures
    from ..runs.run import Run
    from ..topics.scale import spreads_apart

    if wanted.width == "longtable":
        raise EquipoiseError("--width longtable is for tables; figures are as wide as a column or a page")
    chosen: dict[str, Any] = {"width": wanted.width, "formats": wanted.formats_among(FIGURES, FIGURES)}
    runs = [Run(folder) for folder in wanted.runs]
    if len(runs) == 1:
        drawn = run_figures(runs[0], **chosen)
    elif charts := spreads_apart(runs):
        drawn = figure_files(charts, chosen["formats"], wanted.width)
    else:
        drawn = comparison_figures(_comparison(wanted), **chosen)
    _write_all(drawn, wanted, "figures")


def _tables(wanted: Wanted) -> None:
    from ..report import comparison_tables, run_tables
    from ..runs.run import Run

    chosen: dict[str, Any] = {"fit": wanted.width, "formats": wanted.formats_among(TABLES, TABLES)}
    if len(wanted.runs) == 1:
        files = run_tables(Run(wanted.run), **chosen)
    else:
        files = comparison_tables(_comparison(wanted), **chosen)
    _write_all(files, wanted, "tables")


def _card(wanted: Wanted) -> None:
    from ..exports.card import model_card
    from ..files import write_file
    from ..run import load

    text = model_card(load(wanted.run))
    if wanted.out is None:
        typer.echo(text, nl=False)
        return
    write_file(wanted.out, text.encode())
    if not wanted.quiet:
        tell(f"{wanted.out} is written")


def _certificate(wanted: Wanted) -> None:
    from ..exports.certificate import NAME, certificate, paragraph
    from ..files import write_file
    from ..run import load

    run = load(wanted.run)
    content = certificate(run)
    if wanted.out is None:
        run.folder.add({NAME: content}, made_from=run.manifest)
    else:
        write_file(wanted.out, content)
    if not wanted.quiet:
        tell(paragraph(run))
        tell(f"{wanted.out or run.path / NAME} is written")


def _identities(wanted: Wanted) -> None:
    from ..report import identity_figures
    from ..run import load

    runs = [load(folder) for folder in wanted.runs]
    files = dict(identity_figures(runs, formats=wanted.formats_among(FIGURES, (Format.png,))))
    for path in keep_files(files, wanted.runs[0], wanted.out, "figures", made_from=runs[0].manifest):
        if not wanted.quiet:
            tell(str(path))


def _reliability(wanted: Wanted) -> None:
    calibration.reliability(wanted.run, by=wanted.by, bins=wanted.bins, quiet=wanted.quiet)


MAKERS: Mapping[str, Callable[[Wanted], None]] = {
    "figures": _figures,
    "tables": _tables,
    "card": _card,
    "certificate": _certificate,
    "identities": _identities,
    "reliability": _reliability,
}
"""What `--as` names -> what makes it."""


def _comparison(wanted: Wanted) -> Any:
    return compared(wanted.runs, {"intersect": wanted.intersect}, quiet=wanted.quiet)


def _write_all(files: Iterable[tuple[str, bytes]], wanted: Wanted, what: str) -> None:
    """Write files into the run's own folder, in one step, or into another one."""
    from ..runs import RunFolder

    if wanted.out is None and len(wanted.runs) > 1:
        raise EquipoiseError(f"--out is needed to write the {what} of several runs")
    first = wanted.runs[0]
    made_from = RunFolder(first).manifest()
    contents: dict[str, bytes] = {}
    with progress_bar(quiet=wanted.quiet) as progress:
        for count, (name, content) in enumerate(files, 1):
            contents[name] = content
            progress(f"making {what}", count, count)
    keep_files(contents, first, wanted.out, what, made_from=made_from)
    if not wanted.quiet:
        tell(f"{len(contents)} files in {wanted.out or first / what}/")
