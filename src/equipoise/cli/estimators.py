"""`equipoise study estimators`: does the choice of uncertainty estimator change what runs say?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ..options import PlanOptions
from .console import progress_bar
from .parameters import Level, Quiet, Resamples
from .reports import Intersect, Runs
from .results import keep_study


def estimators(
    runs: Runs,
    out: Annotated[Path, typer.Option("--out", help="Folder for the tables (CSV, JSON) and figures.")] = Path(
        "estimators"
    ),
    estimator: Annotated[
        list[str] | None,
        typer.Option("--estimator", help="Compare only this estimator; repeatable. Default: all that the runs allow."),
    ] = None,
    intersect: Intersect = False,
    resamples: Resamples = 1000,
    level: Level = PlanOptions.level,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the resamples.")] = 0,
    figures: Annotated[bool, typer.Option("--figures/--no-figures", help="Draw UCerF by estimator.")] = True,
    quiet: Quiet = False,
) -> None:
    """Compare the uncertainty estimators on finished runs. Shows UCerF, ranks and agreement of each, without the model.

    Kendall's tau and Spearman's rho between every two estimators, over models, occupations and sets; the pairs of
    models and the sets whose order depends on the estimator. On data that people have labelled: how well each
    estimator's certainty predicts where the model agrees with them.
    """
    from ..comparing.estimators import estimator_studies, frames
    from ..measuring.estimators import Resamples
    from ..runs.csv_files import to_csv
    from ..runs.run import Run
    from ..topics.estimators import answers, sections

    plan = Resamples(resamples=resamples, level=level, seed=seed)
    with progress_bar(quiet=quiet) as progress:
        opened = [Run(run) for run in runs]
        studies = estimator_studies(opened, plan, estimators=estimator or (), intersect=intersect, progress=progress)
    made, shown = frames(studies), list(sections(studies))
    contents = {f"{name}.csv": to_csv(frame) for name, frame in made.items()}
    document = {"answers": answers(studies)}
    document |= {name: json.loads(frame.to_json(orient="records")) for name, frame in made.items() if name != "sides"}
    contents["estimators.json"] = (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()
    keep_study(shown, contents, out, figures=figures, quiet=quiet)
