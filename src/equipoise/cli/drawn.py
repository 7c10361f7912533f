"""`equipoise drawn`: how much accuracy and equalized odds move when answers are drawn."""

from __future__ import annotations

from typing import Annotated

import typer

from .console import plain_table, print_out
from .reports import Runs


def drawn(
    runs: Runs,
    temperature: Annotated[
        list[float] | None, typer.Option("--temperature", help="Repeatable; by default 0.5, 1 and 2.")
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", help="Draws for each temperature.")] = 100,
    seed: Annotated[int, typer.Option("--seed", help="First seed.")] = 0,
) -> None:
    """Show how results change with temperature and seed. It uses stored probabilities.

    The first row of each type takes the most probable answers. "over seeds" is the mean and standard deviation over
    draws of one answer for each sentence. No model is asked.
    """
    from ..measuring.drawn_answers import drawn_answers
    from ..runs.measurements import kind_title
    from ..runs.run import Run

    header = ("run", "data", "temperature", "n", "accuracy, expected", "accuracy over seeds", "eo_sum over seeds")
    rows = []
    for run in map(Run, runs):
        for part in run.parts:
            for row in drawn_answers(part.outcomes, temperature or [0.5, 1.0, 2.0], seeds=seeds, seed=seed):
                name = f"{part}, {kind_title(row.kind)}"
                spreads = [f"{mean:.3f} ± {deviation:.3f}" for mean, deviation in (row.accuracy, row.odds)]
                heat = f"{row.temperature:g}" if row.temperature else "most probable"
                rows.append((run.name, name, heat, f"{row.n:,}", f"{row.expected:.3f}", *spreads))
    print_out(plain_table(header, rows))
