"""`equipoise leaderboard` and `equipoise verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..records import EquipoiseError
from .console import plain_table, print_out, progress_bar, tell
from .parameters import Against, Quiet, published_values

NOT_VERIFIED = 1
"""Exit code of `verify` where a folder is not what it claims."""


def leaderboard(
    folders: Annotated[list[Path], typer.Argument(help="Run folders, or folders that hold them at any depth.")],
    out: Annotated[Path, typer.Option("--out", help="Folder of the site; an earlier site in it is replaced.")] = Path(
        "leaderboard"
    ),
    title: Annotated[str, typer.Option("--title", help="Heading of the site.")] = "Leaderboard",
    metric: Annotated[str, typer.Option("--metric", help="Metric of the first page.")] = "ucerf",
    level: Annotated[float, typer.Option("--level", help="Confidence that all ranges of ranks hold together.")] = 0.95,
    check: Annotated[
        bool, typer.Option("--verify", help="Verify every run first, and leave out runs that fail.")
    ] = False,
    against: Against = None,
    no_sentences: Annotated[
        bool,
        typer.Option(
            "--no-sentences", help="Leave the sentences out of the pages of runs, for data that must not be shared."
        ),
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Write a site that ranks the models of many runs. It is static, and has a page for each model and dataset.

    A rank is a range where the tests do not settle the order. The site fetches nothing: any web server can serve
    it, and it opens from a folder as well.
    """
    from ..report import SiteOptions, write_site
    from ..topics.leaderboard.boards import run_folders

    folders_of_runs = run_folders(folders)
    if check:
        folders_of_runs = _verified(folders_of_runs, quiet=quiet)
    options = SiteOptions(
        title,
        metric,
        level,
        sentences=not no_sentences,
        verified=folders_of_runs if check else (),
        published=published_values(against),
    )
    with progress_bar(quiet=quiet) as progress:
        site = write_site(folders_of_runs, out, options, progress=progress)
    if quiet:
        return
    for note in site.submissions.left_out:
        tell(f"left out: {note}")
    counts = {"model": len(site.models), "board": len(site.boards), "run": len(site.submissions.runs)}
    listed = ", ".join(f"{count} {noun}{'s' if count != 1 else ''}" for noun, count in counts.items())
    tell(f"{listed}: open {out}/index.html")


def _verified(folders: list[Path], *, quiet: bool) -> list[Path]:
    """Return the folders that are what they claim; the others are named with a reason."""
    from ..verification import verify as verify_run

    kept = []
    with progress_bar(quiet=quiet) as progress:
        for number, folder in enumerate(folders):
            faults = [finding for finding in verify_run(folder) if not finding.passed]
            if not faults:
                kept.append(folder)
            else:
                tell(f"not verified, left out: {folder}: {faults[0].name}: {faults[0].what}", err=True)
            progress("verifying runs", number + 1, len(folders))
    if not kept:
        raise EquipoiseError(f"none of the {len(folders)} runs passed the verification, so there is nothing to rank")
    return kept


def verify(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the checks as JSON.")] = False,
    quiet: Quiet = False,
) -> None:
    """Verify run folders. Checks the hashes of files and examples, and recomputes the measurements.

    Exit codes: 0 all checks passed, 1 a check failed. No model is loaded: only a new audit can show that the outcomes
    are the model's answers.
    """
    from ..verification import to_json
    from ..verification import verify as verify_run

    failed = 0
    of_runs = {}
    for folder in runs:
        with progress_bar(quiet=quiet or as_json) as progress:
            findings = verify_run(folder, progress=progress)
        failed += not all(finding.passed for finding in findings)
        of_runs[str(folder)] = findings
        if not as_json and not quiet:
            rows = [("passed" if finding.passed else "FAILED", finding.name, finding.what) for finding in findings]
            tell(f"{folder}:")
            print_out(plain_table(("", "check", "result"), rows))
    if as_json:
        typer.echo(to_json(of_runs))
    if failed:
        typer.echo(f"{failed} of {len(runs)} runs failed the verification", err=True)
        raise typer.Exit(NOT_VERIFIED)
