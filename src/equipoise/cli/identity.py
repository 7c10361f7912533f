"""`equipoise identities`: pictures of what runs found about identities, without the model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .console import printable
from .results import keep_files


def identities(
    folders: Annotated[list[Path], typer.Argument(help="Run folders of audits with --data winoidentity.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Where to put the pictures; by default `figures` in the first folder.")
    ] = None,
    svg: Annotated[bool, typer.Option("--svg", help="Draw SVG instead of PNG.")] = False,
) -> None:
    """Draw the results about identities. These are radars, disparities, occupations by side, lines and heatmaps.

    Several runs, or several tasks of a run, share the pictures; lines and heatmaps are of one run and task each.
    """
    from ..report import identity_figures
    from ..run import load

    runs = [load(folder) for folder in folders]
    files = dict(identity_figures(runs, formats=("svg" if svg else "png",)))
    for path in keep_files(files, folders[0], out, "figures", made_from=runs[0].manifest):
        typer.echo(printable(str(path)))
