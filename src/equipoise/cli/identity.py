"""`equipoise identities`: pictures of what runs found about identities, without the model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .console import printable


def identities(
    folders: Annotated[list[Path], typer.Argument(help="Run folders of audits with --data winoidentity.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Where to put the pictures; by default `figures` in the first folder.")
    ] = None,
    svg: Annotated[bool, typer.Option("--svg", help="Draw SVG instead of PNG.")] = False,
) -> None:
    """Draw what runs found about identities: radars, lines, heatmaps and the table of disparities.

    Several runs are drawn into the same pictures, a line a model.
    """
    from ..reports.identities.figures import draw
    from ..run import load

    tables = [load(folder).measurements for folder in folders]
    for path in draw(tables, out or folders[0] / "figures", suffix="svg" if svg else "png"):
        typer.echo(printable(str(path)))
