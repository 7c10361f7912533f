"""`equipoise suite` and `equipoise study paper`: many audits; what a paper ran, on models of the user's."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..options import QuestionOptions, options_of
from .console import plain_table, print_out, progress_bar, tell
from .errors import FAILED
from .parameters import Quiet, with_options
from .results import FAILED_GATE, UNDECIDED_GATE

if TYPE_CHECKING:
    from ..suites.results import Results
    from ..suites.status import Status
    from ..suites.suite_file import Suite

HEADER = ("cell", "state", "prompts", "time", "")

Only = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        help="Run the cells of this model, data or task, or of several ('MODEL / DATA'); * stands for anything. "
        "Repeatable.",
    ),
]
Jobs = Annotated[
    int, typer.Option("--jobs", help="Number of models that run at the same time, each in its own process.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Check everything, print the cells with their prompts, and stop.")
]


@with_options("cluster", "workers", "worker_cores")
def suite(
    file: Annotated[Path, typer.Argument(help="The suite: a TOML file with models, data and task.")],
    only: Only = None,
    jobs: Jobs = 1,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    **on_cluster: Any,
) -> None:
    """Audit many models on many datasets and tasks. Rerunning the same command continues.

    Everything is checked before a model is loaded. Each cell is an ordinary run folder. A cell that fails does not stop
    the others. At the end there are a leaderboard, the gates, and measurements.parquet with all numbers. Exit codes: 0
    all cells are done and the gates passed, 1 a gate failed, 2 a cell failed or is left, 3 a gate is undecided.
    """
    from ..suites.execution import Choices
    from ..suites.suite_file import read_suite

    choices = Choices(only=tuple(only or ()), jobs=jobs, settings=on_cluster)
    _carry_out(read_suite(file), choices, dry_run=dry_run, quiet=quiet)


@with_options(*options_of(QuestionOptions), limit="Ask at most N base sentences of each dataset, spread evenly.")
def paper(
    name: Annotated[Literal["ucerf", "winoidentity", "gender-ece"], typer.Argument(help="The paper.")],
    model: Annotated[
        list[str] | None, typer.Option("--model", help="A model as `equipoise audit` takes it. Repeatable.")
    ] = None,
    run: Annotated[
        list[Path] | None,
        typer.Option("--run", help="Make the tables from this run, and ask no model. Repeatable."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="The folder; by default runs/paper-NAME.")] = None,
    only: Only = None,
    jobs: Jobs = 1,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    **choices: Any,
) -> None:
    """Repeat a paper's experiments as a suite of runs. Writes its tables with the printed values beside yours.

    The suite is written as suite.toml into the folder; the same command continues, and what you change in the file
    stays. Tables are made from the finished cells. Exit codes are those of `equipoise suite`.
    """
    from ..papers.experiments import PAPERS, write_suite
    from ..papers.tables import finished_parts, parts_of, write_tables
    from ..runs.run import Run
    from ..suites.execution import Choices

    folder = out or Path("runs") / f"paper-{name}"
    if run:
        paths = write_tables(PAPERS[name], parts_of(Run(path) for path in run), folder / "tables")
        tell(f"{len(paths)} files with the paper's tables in {folder / 'tables'}/")
        return
    # A switch that is not given is False: the paper's own setting counts then.
    settings = {key: value for key, value in choices.items() if value is not False}
    given = write_suite(name, model or [], folder, **settings)

    def tables(status: Status) -> None:
        paths = write_tables(PAPERS[name], finished_parts(status), folder / "tables")
        if not quiet:
            tell(f"{len(paths)} files with the paper's tables in {folder / 'tables'}/")

    _carry_out(given, Choices(only=tuple(only or ()), jobs=jobs), dry_run=dry_run, quiet=quiet, then=tables)


def _carry_out(
    given: Suite, choices: Any, *, dry_run: bool, quiet: bool, then: Callable[[Status], None] | None = None
) -> None:
    """Run a suite, or only check it, and end with the code that says what came out; `then` is called before that."""
    from ..suites.execution import plan, run_suite
    from ..suites.results import check_gates, write_results

    check_gates(given.gates)
    if dry_run:
        _rehearse(given, choices)
        return
    with progress_bar(quiet=quiet) as progress:
        status = plan(given, choices, progress=progress)
    with _status_table(quiet=quiet) as show:
        run_suite(given, choices, show=show, status=status)
    with progress_bar(quiet=quiet) as progress:
        results = write_results(given, status, progress=progress)
    if then is not None:
        then(status)
    _finish(status, results, quiet=quiet)


def _rehearse(given: Suite, choices: Any) -> None:
    """Print every cell with its prompts or with what is wrong with it."""
    from ..suites.cells import cells
    from ..suites.execution import plan
    from ..suites.status import FAILED as BROKEN
    from ..suites.status import NAME, Status

    with progress_bar(quiet=True) as progress:
        status = Status(cells(given, only=choices.only, progress=progress), given.out / NAME)
    print_out(plain_table(HEADER, list(status.rows())))
    prompts, size = sum(cell.prompts for cell in status.cells), sum(cell.size for cell in status.cells)
    typer.echo(f"{prompts:,} prompts, {size / 1e6:,.0f} MB on disk; {status.line()}")
    hours = given.budget.hours
    if hours is not None and status.seconds_left()[0] > 3600 * hours * choices.jobs:
        typer.echo(f"note: the budget of {hours:g} h is shorter; the same command goes on after it")
    if status.of(BROKEN):
        typer.echo(f"{len(status.of(BROKEN))} cells cannot run", err=True)
        raise typer.Exit(FAILED)
    plan(given, choices)


@contextmanager
def _status_table(*, quiet: bool) -> Iterator[Callable[[Status], None]]:
    """Give a function that shows the status: a table that changes on a terminal, a line for each change elsewhere."""
    if quiet:
        yield lambda status: None
        return
    if not sys.stderr.isatty():
        yield _status_lines()
        return
    from rich.console import Console, Group
    from rich.live import Live
    from rich.text import Text

    with Live(console=Console(stderr=True), auto_refresh=False) as live:

        def show(status: Status) -> None:
            live.update(Group(plain_table(HEADER, list(status.rows())), Text(status.line())), refresh=True)

        yield show


def _status_lines() -> Callable[[Status], None]:
    known: dict[str, str] = {}

    def show(status: Status) -> None:
        for name, state in status.states.items():
            if known.get(name) != state.state and (name in known or state.state != "waiting"):
                note = f": {state.note}" if state.note and state.state != "running" else ""
                tell(f"{name}: {state.state}{note} ({status.line()})", err=True)
            known[name] = state.state

    return show


def _finish(status: Status, results: Results | None, *, quiet: bool) -> None:
    """Print what came out, and end with the code that says it."""
    from ..media import terminal
    from ..suites.status import FAILED as BROKEN
    from ..suites.status import WAITING
    from ..topics.checks import checked

    if not quiet:
        print_out(plain_table(HEADER, list(status.rows())))
        typer.echo(status.line())
        if results is not None:
            if results.checks:
                print_out(terminal.draw(checked(results.checks)))
            tell(f"open {results.site}/index.html; all numbers are in {results.measurements}")
    if status.of(BROKEN, WAITING):
        left = f"{len(status.of(BROKEN))} cells failed, {len(status.of(WAITING))} are left"
        typer.echo(f"{left}; the same command tries them again", err=True)
        raise typer.Exit(FAILED)
    if results is not None and results.failed:
        typer.echo(f"{len(results.failed)} of {len(results.checks)} requirements failed", err=True)
        raise typer.Exit(FAILED_GATE)
    if results is not None and results.undecided:
        typer.echo(f"{len(results.undecided)} of {len(results.checks)} requirements are undecided", err=True)
        raise typer.Exit(UNDECIDED_GATE)
