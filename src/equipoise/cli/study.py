"""`equipoise study`: what results depend on besides the model, and what papers found."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..options import PlanOptions
from ..records import EquipoiseError
from . import calibration, suite
from .console import print_out, progress_bar, tell
from .help import PanelCommand, with_help_all
from .parameters import Level, Quiet, Resamples
from .reports import Intersect, Runs
from .results import keep_study

if TYPE_CHECKING:
    from ..builder.compare.sensitivity import NearDuplicates
    from ..runs.run import Run

app = typer.Typer(help="Study what results depend on, or repeat a paper.", rich_markup_mode=None)


@app.command("estimators")
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


@app.command("wording")
def wording(
    runs: Runs,
    out: Annotated[Path, typer.Option("--out", help="Folder for the tables about wordings (CSV).")] = Path("wordings"),
    words: Annotated[
        int, typer.Option("--words", help="Maximum number of different words, in both sentences together.")
    ] = 2,
    intersect: Intersect = False,
    resamples: Resamples = 1000,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the intervals.")] = 0,
    quiet: Quiet = False,
) -> None:
    """Show how much results depend on the wording. It compares wordings (audits with --wordings) and near-duplicates.

    Wordings: the spread of every metric, its variance by wording, sentence and group, UCerF's mean and worst wording,
    and whether the order of several runs holds in all of them. Near-duplicates: how much UCerF and desirability differ
    between sentences with few different words; sensitivity.csv in each run folder has a row for each pair of sets.
    """
    from ..runs.run import Run

    opened = [Run(run) for run in runs]
    for run in opened:
        _near_duplicates(run, words=words, seed=seed, quiet=quiet)
    _wordings(opened, out, intersect=intersect, resamples=resamples, seed=seed, quiet=quiet)


def _wordings(runs: Sequence[Run], out: Path, *, intersect: bool, resamples: int, seed: int, quiet: bool) -> None:
    from ..comparing.wordings import frames, wording_parts
    from ..files import write_together
    from ..measuring.estimators import Resamples
    from ..media import terminal
    from ..runs.csv_files import to_csv
    from ..topics.wordings import section

    if not any(run.manifest.settings.get("wordings") or run.manifest.settings.get("questions") for run in runs):
        return
    parts = wording_parts(runs, Resamples(resamples=resamples, seed=seed), intersect=intersect)
    contents = {f"{name}.csv": to_csv(frame) for name, frame in frames(parts).items()}
    if contents:
        write_together(out, contents)
    if quiet:
        return
    print_out(terminal.sections(map(section, parts)))
    where = f"{len(contents)} files in {out}/" if contents else "No part has 30 base sentences in several wordings."
    tell(where)


def _near_duplicates(run: Run, *, words: int, seed: int, quiet: bool) -> None:
    import pandas as pd

    from ..builder.compare.sensitivity import near_duplicates

    parts = near_duplicates(run, words=words, seed=seed)
    tables = [part.table for part in parts if len(part.table)]
    if tables:
        run.folder.add({"sensitivity.csv": pd.concat(tables)}, made_from=run.manifest)
    if quiet:
        return
    print_near_duplicates(parts)
    where = f"The pairs are in {run.path}/sensitivity.csv" if tables else "No two sets are near-duplicates."
    tell(where)


def print_near_duplicates(parts: Sequence[NearDuplicates]) -> None:
    """Print how far apart near-duplicates are scored, a line for each dataset, task and type."""
    from ..media import terminal
    from ..records.showing import Column, Row, Table
    from ..runs.measurements import kind_title

    columns = [Column("data", words=True), *map(Column, ("sets", "near pairs", "groups"))]
    columns += [Column(title) for title in ("U differs by", "any two", "D differs by", "any two")]
    rows = []
    for part in parts:
        name, pairs = f"{part.dataset} · {part.task}, {kind_title(part.kind)}", len(part.table)
        rows.append(Row((name, part.sets, pairs, part.groups, part.u, part.u_any, part.d, part.d_any)))
    print_out(terminal.draw(Table("", columns, rows)))


@app.command("temperature")
def temperature(
    runs: Runs,
    temperatures: Annotated[
        list[float] | None, typer.Option("--temperature", help="Repeatable; by default 0.5, 1 and 2.")
    ] = None,
    draws: Annotated[int, typer.Option("--draws", help="Draws for each temperature.")] = 100,
    seed: Annotated[int, typer.Option("--seed", help="First seed.")] = 0,
) -> None:
    """Show how results change when answers are drawn. It uses stored probabilities.

    The first row of each type takes the most probable answers, the others what is expected over all draws. "of one
    draw" is the mean and standard deviation over draws of one answer for each sentence, noise included. No model is
    asked.
    """
    from ..media import terminal
    from ..runs.run import Run
    from ..topics.wordings import drawn_section

    opened = [Run(run) for run in runs]
    print_out(terminal.sections([drawn_section(opened, temperatures or [0.5, 1.0, 2.0], draws=draws, seed=seed)]))


app.command("calibration")(calibration.calibrate)


@app.command("suite")
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
    from ..comparing.values import parts_of
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
            parts += parts_of([run], entry.dataset, entry.task)
    try:
        with progress_bar(quiet=quiet) as progress:
            result = sources(parts, Resamples(resamples=resamples, level=level, seed=seed), progress=progress)
    except EquipoiseError as error:  # what is left may be too little for what was left out
        raise EquipoiseError("; ".join([str(error), *left_out])) from error
    shown = list(sections(result))
    contents = {f"{name}.csv": to_csv(frame) for name, frame in frames(result).items()}
    if not quiet:
        for note in left_out:
            tell(note)
    keep_study(shown, contents, out, figures=figures, quiet=quiet)


app.command("paper", cls=PanelCommand)(with_help_all("paper", suite.paper))
