"""What a command makes of a finished run: its page, what is printed of it, and what trackers are told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .console import print_out, printable

if TYPE_CHECKING:
    from ..records import RunManifest
    from ..runs import Run

SHOWN_NOTES = 6


def show_run(run: Run, *, quiet: bool, as_json: bool, every: bool = False) -> None:
    """Print a run's verdict and tables, or all of it as JSON; with `every` the tables have all metrics."""
    if as_json:
        from ..verdict.summary import run_json

        typer.echo(run_json(run))
        return
    if quiet:
        return
    from rich.text import Text

    from ..report import run_text
    from ..verdict.summary import legend

    notes = run.manifest.notes
    typer.echo()
    print_out(run_text(run, all_rows=every))
    for note in notes[:SHOWN_NOTES]:
        print_out(Text(printable(f"note: {note}")))
    if len(notes) > SHOWN_NOTES:
        print_out(Text(f"note: {len(notes) - SHOWN_NOTES} more notes are in {run.path}/manifest.json"))
    page = run.path / "report.html"
    new = page.name in run.folder.manifest().files and page.is_file()
    typer.echo()
    print_out(Text(legend(run)))
    typer.echo(
        f"Everything is in {run.path}/" + (f"\nTo look at it, open {page.name} there in a browser." if new else "")
    )


def write_page(run: Run, *, no_html: bool, out: Path | None = None, sentences: bool = True) -> None:
    """Write the page of a run, unless none is wanted."""
    if not no_html:
        from ..report import write_run_page

        write_run_page(run, out=out, sentences=sentences)


def check_trackers(trackers: Sequence[str]) -> None:
    """Raise an error where a tracker's package is missing: before the work, not after it."""
    if trackers:
        from ..exports.trackers import check_tracker

        for tracker in trackers:
            check_tracker(tracker)


def log_run(run: Run, trackers: Sequence[str], *, quiet: bool) -> None:
    """Log the run to the trackers, and print where it is."""
    if trackers:
        from ..exports import trackers as exports

        for tracker in trackers:
            where = exports.log_run(run, tracker)
            if not quiet:
                typer.echo(printable(f"logged to {tracker}: {where}"))


def keep_files(
    contents: Mapping[str, bytes], run: Path, out: Path | None, place: str, *, made_from: RunManifest
) -> list[Path]:
    """Write the files into `out`, or, in one step, into the folder `place` of the run; return where they are."""
    from ..files import write_together
    from ..runs import RunFolder

    if out is None:
        RunFolder(run).add({f"{place}/{name}": content for name, content in contents.items()}, made_from)
    else:
        write_together(out, contents)
    return [(out or run / place) / name for name in contents]
