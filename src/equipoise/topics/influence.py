"""Which sets carry a run's result: how far UCerF moves when a base sentence is left out."""

from __future__ import annotations

import pandas as pd

from ..metrics import METRICS
from ..records import Floats
from ..records.showing import Cell, Column, Row, Section, Table, case_link
from ..runs.run import Part, Run

MOST_INFLUENTIAL = 20
SHOWN = 5
"""Of these a page shows as many at once."""


def influence_section(run: Run) -> Section | None:
    """Return the sets that move a run's UCerF most; None for a run without sets."""
    tables = (_influence(part, kind) for part in run.parts for kind in part.kinds)
    shown = [table for table in tables if table]
    intro = (
        "UCerF is a mean over sets. Each row says how far it moves without one base sentence, which is named by its set"
        " that is treated least alike. If a result rests on few sentences, it moves far."
    )
    return (
        Section("Which sets carry the result", shown, "influence", "Influence", intro, folded=True) if shown else None
    )


def _influence(part: Part, kind: str) -> Table | None:
    pairs = part.of_kind(part.pairs, kind)
    # Where no answer is right, only the signed U sees which person was chosen.
    signed = part.measured.get("ucerf_signed", type=kind) is not None
    metric = METRICS["ucerf_signed" if signed else "ucerf"]
    (name,) = metric.inputs
    usable = pairs[pairs[name].notna()] if name in pairs else pairs[:0]
    if usable.empty or usable["cluster_id"].nunique() < 2:
        return None
    table = left_out(usable, usable[name].to_numpy(dtype=float))
    most = table.head(MOST_INFLUENTIAL)
    names = [str(name) for name in most["set_id"]]
    about = {"metric": metric.name, **part.about(kind)}
    people = most["people"].astype(str).tolist()
    named = [Column("people", words=True)] if any(people) else []
    columns = [Column("set", words=True), *named, Column("U")]
    columns += [Column(f"{metric.label} without", digits=4), Column("moved by", form="+.4f")]
    variants = [str(variant or "") for variant in most["variant"]]
    sets = [Cell(name, link=case_link(name, str(part), variant)) for name, variant in zip(names, variants, strict=True)]
    numbers = [most[column].to_numpy(dtype=float).tolist() for column in ("u", "without", "moved")]
    rows = [Row(cells) for cells in zip(sets, *([people] if named else []), *numbers, strict=True)]
    title = f"{metric.label}, {part.title(kind)}: the {len(most)} most influential of {len(table):,} base sentences"
    return Table(title, columns, rows, "influence", about, shown=SHOWN, more="more sentences")


def left_out(pairs: pd.DataFrame, values: Floats) -> pd.DataFrame:
    """Return the set of each base sentence that is treated least alike, and the mean without the sentence.

    A set counts once, with the mean over its wordings and option orders. The most influential sentence is first.
    """
    frame = pairs[["set_id", "variant", "cluster_id"]].assign(u=values)
    people = pairs.reindex(columns=["occupation", "other"]).astype(object).fillna("").astype(str)
    first, second = people["occupation"], people["other"]
    frame["people"] = (first + " and " + second).where((first != "") & (second != ""), first + second)
    sets = frame.groupby("set_id", sort=False).agg(
        {"variant": "first", "cluster_id": "first", "people": "first", "u": "mean"}
    )
    total, count = float(sets["u"].sum()), len(sets)
    by_cluster = sets.groupby("cluster_id", sort=False)["u"]
    sets["without"] = (total - by_cluster.transform("sum")) / (count - by_cluster.transform("size"))
    sets["moved"] = sets["without"] - total / count
    lowest = sets.reset_index().sort_values("u", kind="stable").drop_duplicates("cluster_id")
    return lowest.sort_values("moved", key=lambda moved: -moved.abs(), kind="stable")
