"""`equipoise study suite`: what do the results of many runs depend on?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..options import PlanOptions
from .console import printable, progress_bar
from .parameters import Level, Quiet, Resamples
from .results import keep_study


def suite_sources(
    folders: Annotated[list[Path], typer.Argument(help="The folder of a suite, or run folders.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the tables (CSV) and figures.")] = Path("sources"),
    resamples: Resamples = 1000,
    level: Level = PlanOptions.level,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the resamples.")] = 0,
    figures: Annotated[bool, typer.Option("--figures/--no-figures", help="Draw a figure of each result.")] = True,
    quiet: Quiet = False,
) -> None:
    """Show what the results of a suite depend on: the model, data, task, wording, estimator, or chance.

    It divides UCerF's variation among them. It also shows whether UCerF, flips, equalized odds and calibration order
    the models alike, and how many base sentences carry the difference of two models. No model is asked. Runs that are
    not usable are left out.
    """
    from ..comparing.sources import frames, sources
    from ..measuring.estimators import Resamples
    from ..runs.csv_files import to_csv
    from ..runs.run import Run
    from ..topics.leaderboard.boards import read_submissions, run_folders
    from ..topics.sources import sections

    parts, left_out = [], []
    for entry in read_submissions(run_folders(folders)).entries:
        name = entry.model
        run = Run(entry.submission.folder, name=name)
        if entry.invalid:
            left_out.append(f"left out: {name}, {entry.dataset} · {entry.task}: {entry.invalid}")
        else:
            parts += [part for part in run.parts if (part.dataset, part.task) == (entry.dataset, entry.task)]
    with progress_bar(quiet=quiet) as progress:
        result = sources(parts, Resamples(resamples=resamples, level=level, seed=seed), progress=progress)
    shown = list(sections(result))
    contents = {f"{name}.csv": to_csv(frame) for name, frame in frames(result).items()}
    if not quiet:
        for note in left_out:
            typer.echo(printable(note))
    keep_study(shown, contents, out, figures=figures, quiet=quiet)
