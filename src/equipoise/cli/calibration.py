"""`equipoise reliability` and `equipoise calibrate`: do a run's probabilities come true, and what do maps change?"""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..records import EquipoiseError
from .console import print_out, printable, progress_bar
from .drawings import drawn_files, easel
from .parameters import Quiet, Recalibration

if TYPE_CHECKING:
    import pandas as pd

    from ..measuring.recalibration import Recalibrated

Group = Annotated[str, typer.Option("--by", help="Group to compare; by default the side that the model predicts.")]
Figures = Annotated[bool, typer.Option("--figures/--no-figures", help="Draw figures into the folder's figures/.")]


def reliability(
    folder: Annotated[Path, typer.Argument(help="A run folder with sentence pairs (tasks cloze or sentence).")],
    by: Group = "",
    bins: Annotated[int, typer.Option("--bins", help="Number of bins of equal width.", min=1)] = 10,
    figures: Figures = True,
    quiet: Quiet = False,
) -> None:
    """Show how well probabilities match the labels. Prints a table of bins, and draws a reliability diagram by group.

    Also draws mean P(male) by occupation against the share of men in it, where that is known.
    """
    import pandas as pd

    from ..reports.calibration.reliability import occupation_table, reliability_table
    from ..reports.calibration.tables import bins_table
    from ..runs import Run

    run = Run(folder)
    examples = run.examples
    tables: list[pd.DataFrame] = []
    drawn: dict[str, bytes] = {}
    for key, outcomes in run.answers():
        dataset, task = key.dataset, key.task
        table = reliability_table(outcomes, by=by, bins=bins)
        work = occupation_table(outcomes, examples[examples["dataset"] == dataset])
        title = f"{run.manifest.model} on {dataset} · {task}"
        if len(table):
            tables.append(table.assign(dataset=dataset, task=task))
            if not quiet:
                print_out(bins_table(table, title))
        if figures and (len(table) or len(work) > 2):
            drawn |= _draw(f"{dataset}-{task}", title, table, work)
    if not tables and not drawn:
        raise EquipoiseError(f"{folder} has no sentence pairs with a human label; ask for --task cloze or sentence")
    bins_file = {"reliability.csv": pd.concat(tables)} if tables else {}
    run.folder.add({**bins_file, **drawn}, made_from=run.manifest)
    if quiet:
        return
    _say_drawn(folder, drawn)
    if tables:
        typer.echo(printable(f"The bins are in {folder}/reliability.csv"))


def calibrate(
    folder: Annotated[Path, typer.Argument(help="A run folder with sentence pairs (tasks cloze or sentence).")],
    method: Annotated[
        list[Recalibration] | None,
        typer.Option("--method", help="Repeatable; by default all."),
    ] = None,
    splits: Annotated[int, typer.Option("--splits", help="Number of random splits in halves, averaged.")] = 100,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the first split.")] = 0,
    by: Group = "",
    figures: Figures = True,
    quiet: Quiet = False,
) -> None:
    """Fit and test calibration maps, pooled and by group. They are fitted on half of the sentences, tested on the rest.

    Writes calibration.csv (before and after) and calibration_maps.json (the maps) into the run folder.
    """
    from ..measuring.recalibration import Splits, recalibrate
    from ..reports.calibration.tables import before_after_table
    from ..runs import Run

    chosen = Splits(splits=splits, seed=seed, by=by, **({"methods": tuple(method)} if method else {}))
    run = Run(folder)
    answers = ((key.dataset, key.task, outcomes) for key, outcomes in run.answers())
    with progress_bar(quiet=quiet) as progress:
        recalibrated = recalibrate(answers, chosen, progress=progress)
    maps = json.dumps(list(recalibrated.maps), indent=1) + "\n"
    drawn = _draw_maps(recalibrated, run.manifest.model, chosen.methods[0]) if figures and _can_draw() else {}
    files: dict[str, Any] = {"calibration.csv": recalibrated.table, "calibration_maps.json": maps, **drawn}
    run.folder.add(files, made_from=run.manifest)
    if quiet:
        return
    print_out(before_after_table(recalibrated.table))
    for warning in recalibrated.warnings:
        typer.echo(printable(f"warning: {warning}"))
    _say_drawn(folder, drawn)
    typer.echo(printable(f"The table is {folder}/calibration.csv, the maps are {folder}/calibration_maps.json"))


def _draw(name: str, title: str, table: pd.DataFrame, work: pd.DataFrame) -> dict[str, bytes]:
    """Return the figures of one dataset and task by file name."""
    if not _can_draw():
        return {}
    from ..reports.calibration.figures import draw_occupations, draw_reliability

    with easel() as scratch:
        if len(table):
            draw_reliability(table, scratch / _figure(f"reliability-{name}"), title=title)
        if len(work) > 2:
            draw_occupations(work, scratch / _figure(f"occupations-{name}"), title=title)
        return _in_figures(scratch)


def _draw_maps(recalibrated: Recalibrated, model: str, method: str) -> dict[str, bytes]:
    """Return the figures of calibration maps by file name."""
    from ..reports.calibration.figures import draw_before_after

    with easel() as scratch:
        for (dataset, task), sample in recalibrated.samples.items():
            rows = recalibrated.table[(recalibrated.table["dataset"] == dataset) & (recalibrated.table["task"] == task)]
            path = scratch / _figure(f"calibrated-{dataset}-{task}")
            draw_before_after(sample, rows, path, title=f"{model} on {dataset} · {task}", method=method)
        return _in_figures(scratch)


def _in_figures(scratch: Path) -> dict[str, bytes]:
    return {f"figures/{name}": content for name, content in drawn_files(scratch).items()}


def _say_drawn(folder: Path, drawn: Iterable[str]) -> None:
    for name in drawn:
        typer.echo(printable(f"drawn: {folder / name}"))


def _figure(name: str) -> str:
    return re.sub(r"[^\w.+-]+", "-", name) + ".png"


def _can_draw() -> bool:
    """Return whether matplotlib is here; say so where it is not."""
    if importlib.util.find_spec("matplotlib"):
        return True
    typer.echo("no figures: matplotlib is not installed (pip install 'equipoise[figures]')", err=True)
    return False
