"""`equipoise estimators`: does the choice of uncertainty estimator change what runs say?"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Annotated

import typer

from ..options import PlanOptions
from .console import print_out, printable, progress_bar
from .parameters import Level, Quiet, Resamples
from .reports import Intersect, Runs


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
    from ..files import write_together
    from ..measuring.estimators import Resamples
    from ..reports.estimators.answers import answer
    from ..reports.estimators.coverage import coverage_sentence, coverage_table, coverages
    from ..reports.estimators.labels import label_answer, label_parts, label_report, label_table
    from ..reports.estimators.studies import estimator_studies, tables
    from ..reports.estimators.tables import study_tables
    from ..runs.csv_files import to_csv

    plan = Resamples(resamples=resamples, level=level, seed=seed)
    with progress_bar(quiet=quiet) as progress:
        labelled = label_parts(runs, plan, estimators=estimator)
        studies = estimator_studies(
            runs, plan, estimators=estimator, intersect=intersect, progress=progress, needed=not labelled
        )
    made = tables(studies)
    covered = [] if estimator and "conformal" not in estimator else list(coverages(runs, level=level))
    made |= {"human": label_table(labelled)} if labelled else {}
    made |= {"conformal": coverage_table(covered)} if covered else {}
    contents = {f"{name}.csv": to_csv(frame) for name, frame in made.items()}
    document = {"answers": [*(answer(part) for part in studies), *map(label_answer, labelled)]}
    document |= {name: json.loads(frame.to_json(orient="records")) for name, frame in made.items() if name != "sides"}
    contents["estimators.json"] = (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()
    if figures and importlib.util.find_spec("matplotlib"):
        from ..reports.estimators.figures import study_figures

        contents |= {drawn.name: drawn.content for drawn in study_figures(studies)}
    write_together(out, contents)
    if quiet:
        return
    for part in studies:
        print_out(study_tables(part))
    for labels in labelled:
        print_out(label_report(labels))
    for row in covered:
        typer.echo(printable(coverage_sentence(row)))
    typer.echo(printable(f"{len(contents)} files in {out}/"))
