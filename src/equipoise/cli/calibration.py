"""`report --as reliability` and `study calibration`: do a run's probabilities come true, and what do maps change?"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..records import EquipoiseError
from .console import print_out, progress_bar, tell
from .parameters import Quiet, Recalibration

if TYPE_CHECKING:
    import pandas as pd

    from ..records.showing import Chart

Group = Annotated[str, typer.Option("--by", help="Group to compare; by default the side that the model predicts.")]
Figures = Annotated[bool, typer.Option("--figures/--no-figures", help="Draw figures into the folder's figures/.")]

FILES = {"workforce": "occupations"}
"""What a file of this command is called, where that is not the chart's own name."""


def reliability(folder: Path, *, by: str, bins: int, quiet: bool) -> None:
    """Print a table of bins, and draw a reliability diagram by group and P(male) by occupation, where it is known."""
    import pandas as pd

    from ..media import terminal
    from ..runs.run import Run
    from ..topics import calibration

    run = Run(folder)
    tables: list[pd.DataFrame] = []
    charts: list[Chart] = []
    for part in run.parts:
        table = calibration.reliability_table(part.outcomes, by=by, bins=bins)
        title = f"{run.name} on {part}"
        for chart in calibration.charts(part, table):
            charts.append(replace(chart, title=title, topic=FILES.get(chart.topic, chart.topic)))
        if len(table):
            tables.append(table.assign(dataset=part.dataset, task=part.task))
            if not quiet:
                print_out(terminal.draw(calibration.bin_table(table, calibration.first_side(part), title)))
    drawn = _drawn(charts)
    if not tables and not drawn:
        raise EquipoiseError(f"{folder} has no sentence pairs with a human label; ask for --task cloze or sentence")
    run.folder.add({**({"reliability.csv": pd.concat(tables)} if tables else {}), **drawn}, made_from=run.manifest)
    if quiet:
        return
    _say_drawn(folder, drawn)
    if tables:
        tell(f"The bins are in {folder}/reliability.csv")


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
    from ..media import terminal
    from ..records.showing import Section
    from ..runs.run import Run
    from ..topics.calibration import before_and_after, maps_charts

    chosen = Splits(splits=splits, seed=seed, by=by, **({"methods": tuple(method)} if method else {}))
    run = Run(folder)
    answers = ((key.dataset, key.task, outcomes) for key, outcomes in run.answers())
    with progress_bar(quiet=quiet) as progress:
        recalibrated = recalibrate(answers, chosen, progress=progress)
    maps = json.dumps(list(recalibrated.maps), indent=1) + "\n"
    drawn = _drawn(maps_charts(recalibrated, run.manifest.model, chosen.methods[0])) if figures else {}
    files: dict[str, Any] = {"calibration.csv": recalibrated.table, "calibration_maps.json": maps, **drawn}
    run.folder.add(files, made_from=run.manifest)
    if quiet:
        return
    print_out(terminal.draw(Section("", list(before_and_after(recalibrated.table)))))
    for warning in recalibrated.warnings:
        tell(f"warning: {warning}")
    _say_drawn(folder, drawn)
    tell(f"The table is {folder}/calibration.csv, the maps are {folder}/calibration_maps.json")


def _drawn(charts: Iterable[Chart]) -> dict[str, bytes]:
    """Return the charts as PNG, by file name; nothing without matplotlib."""
    from ..media.paper import figure_files

    if not importlib.util.find_spec("matplotlib"):
        typer.echo("no figures: matplotlib is not installed (pip install 'equipoise[figures]')", err=True)
        return {}
    return {f"figures/{name}": content for name, content in figure_files(charts, ("png",), "page", title=True)}


def _say_drawn(folder: Path, drawn: Iterable[str]) -> None:
    for name in drawn:
        tell(f"drawn: {folder / name}")
