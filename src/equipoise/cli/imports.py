"""`equipoise import`: other people's results become a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from .audit import By, Json, Level, Metrics, Quiet, Resamples, chosen_options
from .console import progress_bar
from .results import show_run


def import_results(
    files: Annotated[
        list[Path],
        typer.Argument(help="Result files (or folders of logs) of one model; several datasets make one run."),
    ],
    format: Annotated[
        Literal["general", "gender-ece", "lm-eval", "inspect"],
        typer.Option(
            "--format",
            help="general: a row for each item and candidate (item, candidate, logprob, gold, …); gender-ece: the "
            "paper's per-item CSVs; lm-eval and inspect: logs of tasks that `equipoise export` wrote.",
        ),
    ] = "general",
    model: Annotated[str, typer.Option("--model", help="The model's name; by default from the file.")] = "",
    dataset: Annotated[str, typer.Option("--dataset", help="The dataset's name; by default from the file.")] = "",
    out: Annotated[Path | None, typer.Option("--out", help="The run folder; by default under runs/.")] = None,
    metric: Metrics = None,
    by: By = None,
    level: Level = None,
    resamples: Resamples = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Import results of other tools. Every metric, table and figure then works on them, without a model.

    For example: equipoise import --format gender-ece winobias/GPT-J-6B.results.csv
    """
    from ..run import import_results as run_import

    chosen = chosen_options(metrics=metric, by=by, level=level, resamples=resamples)
    with progress_bar(quiet=quiet) as progress:
        run = run_import(files, format=format, model=model, dataset=dataset, out=out, progress=progress, **chosen)
    show_run(run, quiet=quiet, as_json=as_json)
