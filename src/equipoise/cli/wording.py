"""`equipoise study wording`: do other wordings and almost equal sentences get almost equal scores?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .console import print_out, printable
from .parameters import Quiet, Resamples
from .reports import Intersect, Runs

if TYPE_CHECKING:
    from ..builder.compare.sensitivity import NearDuplicates
    from ..runs.run import Run


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
    typer.echo(printable(where))


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
    typer.echo(printable(where))


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
