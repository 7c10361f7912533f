"""`equipoise paper`: what a paper ran, on models of the user's, and its tables with the published values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from .audit import Quiet
from .console import printable
from .suite import carry_out

if TYPE_CHECKING:
    from ..suites.status import Status


def paper(
    name: Annotated[Literal["ucerf", "winoidentity", "gender-ece"], typer.Argument(help="The paper.")],
    model: Annotated[
        list[str] | None, typer.Option("--model", help="A model as `equipoise audit` takes it. Repeatable.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", help="Ask at most N base sentences of each dataset, spread evenly.")
    ] = None,
    run: Annotated[
        list[Path] | None,
        typer.Option("--run", help="Make the tables from this run, and ask no model. Repeatable."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="The folder; by default runs/paper-NAME.")] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="Run the cells whose name ('MODEL / DATA / TASK') has this in it. Repeatable."),
    ] = None,
    jobs: Annotated[
        int, typer.Option("--jobs", help="Number of models that run at the same time, each in its own process.")
    ] = 1,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything, print the cells with their prompts, and stop.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Repeat a paper's experiments as a suite of runs. Writes its tables with the printed values beside yours.

    The suite is written as suite.toml into the folder; the same command continues. Tables are made from the finished
    cells. Exit codes are those of `equipoise suite`.
    """
    from ..papers.experiments import PAPERS, write_suite
    from ..papers.tables import finished_parts, parts_of, write_tables
    from ..runs.run import Run
    from ..suites.execution import Choices

    folder = out or Path("runs") / f"paper-{name}"
    if run:
        paths = write_tables(PAPERS[name], parts_of(Run(path) for path in run), folder / "tables")
        typer.echo(printable(f"{len(paths)} files with the paper's tables in {folder / 'tables'}/"))
        return
    given = write_suite(name, model or ["smollm2"], folder, limit=limit)

    def tables(status: Status) -> None:
        paths = write_tables(PAPERS[name], finished_parts(status), folder / "tables")
        if not quiet:
            typer.echo(printable(f"{len(paths)} files with the paper's tables in {folder / 'tables'}/"))

    carry_out(given, Choices(only=tuple(only or ()), jobs=jobs), dry_run=dry_run, quiet=quiet, then=tables)
