"""`equipoise sensitivity`: do almost equal sentences get almost equal scores?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .audit import Quiet
from .console import plain_table, print_out, printable

if TYPE_CHECKING:
    from ..records import Estimate


def sensitivity(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    words: Annotated[int, typer.Option("--words", help="Words that may differ, in both sentences together.")] = 2,
    seed: Annotated[int, typer.Option("--seed", help="Of the intervals.")] = 0,
    quiet: Quiet = False,
) -> None:
    """Show how much UCerF and desirability differ between near-duplicate sentences, beside any two sentences.

    Writes sensitivity.csv, a row for each near-duplicate pair of sets, into the run folder.
    """
    import pandas as pd

    from ..builder.compare.sensitivity import near_duplicates
    from ..runs.measurements import kind_title
    from ..runs.run import Run

    opened = Run(run)
    parts = near_duplicates(opened, words=words, seed=seed)
    tables = [part.table for part in parts if len(part.table)]
    if tables:
        opened.folder.add({"sensitivity.csv": pd.concat(tables)}, made_from=opened.manifest)
    if quiet:
        return
    header = ("data", "sets", "near pairs", "groups", "U differs by", "any two", "D differs by", "any two")
    rows = [
        (
            f"{part.dataset} · {part.task}, {kind_title(part.kind)}",
            *(f"{part.sets:,}", f"{len(part.table):,}", f"{part.groups:,}"),
            *(_cell(part.u), f"{part.u_any:.3f}", _cell(part.d), f"{part.d_any:.3f}"),
        )
        for part in parts
    ]
    print_out(plain_table(header, rows))
    where = f"The pairs are in {run}/sensitivity.csv" if tables else "No two sets are near-duplicates."
    typer.echo(printable(where))


def _cell(estimate: Estimate | None) -> str:
    from ..runs.measurements import span

    return "–" if estimate is None else span(estimate)
