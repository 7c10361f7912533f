"""`equipoise compare` and `gate`: finished runs, against each other and against requirements."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..options import PlanOptions
from ..records import EquipoiseError
from .config import required
from .console import print_out, progress_bar, tell
from .parameters import Against, Quiet, Resamples, Where, published_values
from .results import end_gate

if TYPE_CHECKING:
    from ..comparing.comparison import Comparison

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
            help="Compare two datasets of the runs: row by row (genderlex, genderlex-someone), or as "
            "different sentences (winobias, synthbias; winobias, fresh: seen before?).",
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
    (genderlex, genderlex-someone; --neutral) have the same rows and are compared row by row. Beside new sentences
    (fresh) it tests whether a model does better on published ones.
    """
    from ..comparing.datasets import are_apart, between_datasets
    from ..comparing.seen import new_and_published, seen_before
    from ..report import comparison_page, comparison_text, datasets_page, datasets_text, write_page
    from ..runs.run import Run

    chosen: dict[str, Any] = {"intersect": intersect, "correction": correction, "permutations": permutations}
    chosen |= {"resamples": resamples, "seed": seed, "where": tuple(where or ()), "data": tuple(data or ())}
    chosen |= {"metrics": tuple(metric)} if metric else {}
    opened = [Run(run) for run in runs]
    apart = tuple(data or new_and_published(opened, ()) or ())
    if are_apart(apart):
        moved = between_datasets(opened, apart, metrics=metric or (), correction=correction)
        tests = seen_before(opened, apart)
        write_page(out, datasets_page(moved, opened, tests))
        if not quiet:
            print_out(datasets_text(moved, tests))
            tell(f"To look at the comparison, open {out} in a browser.")
        return
    published = published_values(against)
    chosen["alone"] = bool(published)
    made = compared(runs, chosen, quiet=quiet)
    write_page(out, comparison_page(made, published))
    if quiet:
        return
    print_out(comparison_text(made))
    tell(f"To look at the comparison, open {out} in a browser.")


def gate(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    require: Annotated[
        list[str] | None,
        typer.Option(
            "--require",
            help="A bound, such as 'ucerf[type=type2] >= 0.80' or 'eo_sum[dataset=winobias] <= 0.30'. Repeatable. "
            "Default: what the audit was asked --until.",
        ),
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", help='A file with a table [gate]: require = ["…"] (`equipoise init`).')
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
    insist: Annotated[
        bool, typer.Option("--insist", help="Check a run that is not usable all the same; its scores mean nothing.")
    ] = False,
    junit: Annotated[Path | None, typer.Option("--junit", help="Write the checks as JUnit XML, for CI.")] = None,
    quiet: Quiet = False,
) -> None:
    """Check a run against requirements. Exit codes: 0 passed, 1 failed, 2 cannot be checked, 3 undecided, 4 not usable.

    The interval is tested, not the point: a requirement passes when the whole interval meets it, fails when none of it
    does, and is undecided when the bound is inside the interval. A requirement that matches nothing in the run is an
    error, never a pass. A run that is not usable never passes, unless you insist.
    """
    from ..files import write_file
    from ..media import terminal
    from ..topics.checks import checked
    from ..verdict import gate as gates

    chosen: dict[str, Any] = {"baseline": baseline, "max_drop": max_drop or [], "test_at": test_at}
    try:
        wanted = [*(require or []), *(required(config) if config else [])]
        checks = gates.gate(run, wanted, undecided=undecided, insist=insist, **chosen)
    except EquipoiseError as error:
        # An older green file must not outlive a gate that could not be checked.
        if junit is not None:
            write_file(junit, gates.junit_error(str(error), str(run)))
        raise
    if junit is not None:
        write_file(junit, gates.junit(checks, str(run)))
    if not quiet:
        print_out(terminal.draw(checked([(check.of, check) for check in checks])))
    for warning in gates.warnings(run, require or []):
        typer.echo(f"warning: {warning}", err=True)
    end_gate(checks, quiet=quiet)


def compared(runs: Sequence[Path], chosen: dict[str, Any], *, quiet: bool) -> Comparison:
    """Return the comparison of runs."""
    from ..comparing.comparison import Choices
    from ..comparing.comparison import compare as compare_runs

    with progress_bar(quiet=quiet) as progress:
        return compare_runs(runs, Choices(**chosen), progress=progress)
