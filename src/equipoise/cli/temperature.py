"""`equipoise study temperature`: what to expect when answers are drawn at a temperature."""

from __future__ import annotations

from typing import Annotated

import typer

from .console import print_out
from .reports import Runs


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
