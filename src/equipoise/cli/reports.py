"""`equipoise compare`, `figures`, `tables` and `gate`: what is made of finished runs, without the model."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..options import PlanOptions
from ..records import EquipoiseError
from .console import listing, print_out, printable, progress_bar
from .parameters import Against, FigureFormat, Quiet, Resamples, TableFormat, Where, published_values

if TYPE_CHECKING:
    from ..comparing.comparison import Comparison

FAILED_GATE, UNDECIDED_GATE = 1, 3
"""Exit codes of a gate that was checked and not passed; 2 is for one that could not be checked."""

Runs = Annotated[list[Path], typer.Argument(help="Run folders.")]
Intersect = Annotated[
    bool,
    typer.Option("--intersect", help="If the runs were asked different sentences, compare those that all were asked."),
]


def compare(
    runs: Runs,
    out: Annotated[Path, typer.Option("--out", help="The page to write.")] = Path("compare.html"),
    intersect: Intersect = False,
    against: Against = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data",
            help="Compare two datasets of the runs: row by row (genderlex, genderlex-someone), or "
            "as different sentences (winobias, synthbias).",
        ),
    ] = None,
    where: Where = None,
    metric: Annotated[
        list[str] | None, typer.Option("--metric", help="Test the differences of this metric; repeatable.")
    ] = None,
    correction: Annotated[
        Literal["holm", "bh"],
        typer.Option("--correction", help="Correction for the number of comparisons: Holm, or Benjamini and Hochberg."),
    ] = "holm",
    permutations: Annotated[
        int | None,
        typer.Option(
            "--permutations",
            help="Number of random exchanges behind each p-value; by default it follows from the number of tests.",
        ),
    ] = None,
    resamples: Resamples = PlanOptions.resamples,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the exchanges and resamples.")] = 0,
    quiet: Quiet = False,
) -> None:
    """Compare runs on the same sentences. Shows ranks by every metric, paired differences with p-values, and overlaps.

    Runs that were asked different sentences are refused, unless --intersect is given. A dataset and its neutral form
    (genderlex, genderlex-someone; --neutral) have the same rows and are compared row by row.
    """
    from ..comparing.datasets import are_apart, between_datasets
    from ..report import comparison_page, comparison_text, datasets_page, datasets_text, write_page

    chosen: dict[str, Any] = {"intersect": intersect, "correction": correction, "permutations": permutations}
    chosen |= {"resamples": resamples, "seed": seed, "where": tuple(where or ()), "data": tuple(data or ())}
    chosen |= {"metrics": tuple(metric)} if metric else {}
    if are_apart(data or ()):
        moved = between_datasets([str(run) for run in runs], data or (), metrics=metric or (), correction=correction)
        write_page(out, datasets_page(moved))
        if not quiet:
            print_out(datasets_text(moved))
        return
    published = published_values(against)
    chosen["alone"] = bool(published)
    made = _compared(runs, chosen, quiet=quiet)
    write_page(out, comparison_page(made, published))
    if quiet:
        return
    print_out(comparison_text(made))
    typer.echo(printable(f"To look at the comparison, open {out} in a browser."))


def figures(
    runs: Runs,
    kind: Annotated[
        list[FigureFormat] | None, typer.Option("--format", help="Repeatable; by default all three.")
    ] = None,
    width: Annotated[
        Literal["column", "page"],
        typer.Option("--width", help="Width in a paper: column (3.25 inches) or page (6.75)."),
    ] = "column",
    out: Annotated[
        Path | None, typer.Option("--out", help="Output folder; by default figures/ in the run folder.")
    ] = None,
    intersect: Intersect = False,
    quiet: Quiet = False,
) -> None:
    """Write all figures of a run for publication. For several runs, write the figures of their comparison."""
    from ..report import comparison_figures, run_figures
    from ..runs.run import Run

    formats = tuple(kind or FigureFormat)
    if len(runs) == 1:
        drawn = run_figures(Run(runs[0]), width=width, formats=formats)
    else:
        drawn = comparison_figures(_compared(runs, {"intersect": intersect}, quiet=quiet), width=width, formats=formats)
    _write_all(drawn, runs, out, "figures", quiet=quiet)


def tables(
    runs: Runs,
    kind: Annotated[
        list[TableFormat] | None, typer.Option("--format", help="Repeatable; by default all three.")
    ] = None,
    fit: Annotated[
        Literal["column", "page", "longtable"], typer.Option(help="Width of LaTeX tables, or longtable over pages.")
    ] = "column",
    out: Annotated[
        Path | None, typer.Option("--out", help="Output folder; by default tables/ in the run folder.")
    ] = None,
    intersect: Intersect = False,
    quiet: Quiet = False,
) -> None:
    """Write all tables of a run for publication. For several runs, write the tables of their comparison."""
    from ..report import comparison_tables, run_tables
    from ..runs.run import Run

    formats = tuple(kind or TableFormat)
    if len(runs) == 1:
        files = run_tables(Run(runs[0]), formats=formats, fit=fit)
    else:
        files = comparison_tables(_compared(runs, {"intersect": intersect}, quiet=quiet), formats=formats, fit=fit)
    _write_all(files, runs, out, "tables", quiet=quiet)


def gate(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    require: Annotated[
        list[str] | None,
        typer.Option(
            "--require",
            help="A bound, such as 'ucerf[type=type2] >= 0.80' or 'eo_sum[dataset=winobias] <= 0.30'. Repeatable.",
        ),
    ] = None,
    baseline: Annotated[Path | None, typer.Option("--baseline", help="An earlier run on the same sentences.")] = None,
    max_drop: Annotated[
        list[str] | None,
        typer.Option("--max-drop", help="How much worse than the baseline is allowed: ucerf=0.02. Repeatable."),
    ] = None,
    test_at: Annotated[
        Literal["cautious", "low", "high", "value"],
        typer.Option(
            "--test-at",
            help="What must meet the bound: an end of the interval, the value, or (cautious) the end that is furthest "
            "from meeting it.",
        ),
    ] = "cautious",
    undecided: Annotated[
        Literal["pass", "fail"],
        typer.Option("--undecided", help="Whether an undecided requirement passes or fails."),
    ] = "fail",
    junit: Annotated[Path | None, typer.Option("--junit", help="Write the checks as JUnit XML, for CI.")] = None,
    quiet: Quiet = False,
) -> None:
    """Check a run against requirements. Exit codes: 0 passed, 1 failed, 2 cannot be checked, 3 undecided.

    The interval is tested, not the point: a requirement passes when the whole interval meets it, fails when none of it
    does, and is undecided when the bound is inside the interval. A requirement that matches nothing in the run is an
    error, never a pass.
    """
    from ..files import write_file
    from ..verdict import gate as gates

    chosen: dict[str, Any] = {"baseline": baseline, "max_drop": max_drop or [], "test_at": test_at}
    try:
        checks = gates.gate(run, require or [], undecided=undecided, **chosen)
    except EquipoiseError as error:
        # An older green file must not outlive a gate that could not be checked.
        if junit is not None:
            write_file(junit, gates.junit_error(str(error), str(run)))
        raise
    if junit is not None:
        write_file(junit, gates.junit(checks, str(run)))
    if not quiet:
        print_out(listing(("", "required", "of", "found"), list(gates.rows(checks))))
    failed = [check for check in checks if check.outcome == gates.FAILED]
    open_checks = [check for check in checks if check.outcome == gates.UNDECIDED]
    if failed:
        typer.echo(f"{len(failed)} of {len(checks)} requirements failed", err=True)
        raise typer.Exit(FAILED_GATE)
    if open_checks and undecided == "fail":
        typer.echo(f"{len(open_checks)} of {len(checks)} requirements are undecided", err=True)
        raise typer.Exit(UNDECIDED_GATE)
    if not quiet:
        passed = len(checks) - len(open_checks)
        more = f", {len(open_checks)} undecided" if open_checks else ""
        typer.echo(f"{passed} of {len(checks)} requirements passed{more}")


def _compared(runs: list[Path], chosen: dict[str, Any], *, quiet: bool) -> Comparison:
    from ..comparing.comparison import Choices
    from ..comparing.comparison import compare as compare_runs

    with progress_bar(quiet=quiet) as progress:
        return compare_runs(runs, Choices(**chosen), progress=progress)


def _write_all(
    files: Iterable[tuple[str, bytes]], runs: list[Path], out: Path | None, what: str, *, quiet: bool
) -> None:
    """Write files into the run's own folder, in one step, or into another one."""
    from ..runs import RunFolder
    from .results import keep_files

    if out is None and len(runs) > 1:
        raise EquipoiseError(f"--out is needed to write the {what} of several runs")
    made_from = RunFolder(runs[0]).manifest()
    contents: dict[str, bytes] = {}
    with progress_bar(quiet=quiet) as progress:
        for count, (name, content) in enumerate(files, 1):
            contents[name] = content
            progress(f"making {what}", count, count)
    keep_files(contents, runs[0], out, what, made_from=made_from)
    if not quiet:
        typer.echo(printable(f"{len(contents)} files in {out or runs[0] / what}/"))
