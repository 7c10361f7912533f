"""What a command makes of a finished run: its page, what is printed of it, and what trackers are told."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..records.scripts import printable
from .console import print_out, tell

if TYPE_CHECKING:
    from ..records import RunManifest
    from ..records.showing import Section
    from ..runs import Run
    from ..verdict.gate import Check

SHOWN_NOTES = 6
FAILED_GATE, UNDECIDED_GATE, UNUSABLE_GATE = 1, 3, 4
"""Exit codes of requirements that were checked and not passed; 2 is for those that could not be checked."""


def show_run(run: Run, *, quiet: bool, as_json: bool, every: bool = False, elsewhere: Path | None = None) -> None:
    """Print a run's verdict and tables, or all of it as JSON; with `every` all metrics, groups and notes.

    `elsewhere` is where the page was written, if not into the run's folder.
    """
    if as_json:
        from ..verdict.summary import run_json

        typer.echo(run_json(run))
        return
    if quiet:
        return
    from rich.text import Text

    from ..measuring.undefined import is_on_undefined
    from ..report import run_text
    from ..verdict.summary import legend

    notes = [note for note in run.manifest.notes if every or not is_on_undefined(note)]
    typer.echo()
    print_out(run_text(run, all_rows=every))
    shown = notes if every else notes[:SHOWN_NOTES]
    for note in shown:
        print_out(Text(printable(f"note: {note}")))
    if len(notes) > len(shown):
        print_out(Text(printable(f"note: {len(notes) - len(shown)} more notes are in {run.path}/manifest.json")))
    page = run.path / "report.html"
    new = page.name in run.folder.manifest().files and page.is_file()
    if shown:
        typer.echo()
    print_out(Text(printable(legend(run))))
    tell(f"Everything is in {run.path}/")
    if elsewhere:
        tell(f"To look at it, open {elsewhere} in a browser.")
    elif new:
        typer.echo(f"To look at it, open {page.name} there in a browser.")


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
                tell(f"logged to {tracker}: {where}")


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


def keep_study(shown: Sequence[Section], contents: dict[str, bytes], out: Path, *, figures: bool, quiet: bool) -> None:
    """Write the files of a study and, where they can be drawn, its figures into a folder, and print what it found."""
    from ..files import write_together
    from ..media import terminal
    from ..media.paper import figure_files
    from ..records.showing import Chart, every

    if figures and importlib.util.find_spec("matplotlib"):
        contents |= dict(figure_files(every(shown, Chart), ("png",), "page", title=True))
    write_together(out, contents)
    if not quiet:
        print_out(terminal.sections(shown))
        tell(f"{len(contents)} files in {out}/")


def end_gate(checks: Sequence[Check], *, quiet: bool) -> None:
    """Say how many requirements passed, and end the command with the exit code that says so to a pipeline."""
    from ..metrics.requirement import FAILED, UNDECIDED
    from ..verdict.gate import NOT_USABLE

    unusable = [check for check in checks if check.outcome == NOT_USABLE]
    if unusable:
        tell(f"{unusable[0].why} Nothing was checked; --insist checks it all the same.", err=True)
        raise typer.Exit(UNUSABLE_GATE)
    failed = [check for check in checks if check.outcome == FAILED]
    open_checks = [check for check in checks if check.outcome == UNDECIDED]
    if failed:
        typer.echo(f"{len(failed)} of {len(checks)} requirements failed", err=True)
        raise typer.Exit(FAILED_GATE)
    if not all(check.passed for check in open_checks):
        typer.echo(f"{len(open_checks)} of {len(checks)} requirements are undecided", err=True)
        raise typer.Exit(UNDECIDED_GATE)
    if not quiet:
        passed = len(checks) - len(open_checks)
        more = f", {len(open_checks)} undecided" if open_checks else ""
        typer.echo(f"{passed} of {len(checks)} requirements passed{more}")
