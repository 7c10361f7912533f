"""Disparities between identities as tables in a terminal; what is over 0.20 is marked, as in the WinoIdentity paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pandas as pd
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..records import parse_group
from .frames import KINDS
from .tables import FirstThatFits, literal

LARGE = 0.20
"""The paper marks disparities over this."""

WAYS = {"R": "marker on the referent (R)", "NR": "on the other (NR)", "C": "contrasting, on both (C)"}
MEASURES = ("confidence", "confidence_pair", "confidence_marked", "accuracy")
HEADINGS = {
    "confidence": "raw",
    "confidence_pair": "given one of the two",
    "confidence_marked": "“young nurse” counted",
    "accuracy": "accuracy",
    "candidate_mass": "mass of the two",
    "confidence_drop": "lost, raw",
}


def identity_frame(measurements: pd.DataFrame) -> pd.DataFrame:
    """Return the measurements of identities with a column for each part of their group ("" where it has none)."""
    parts = pd.DataFrame([parse_group(str(group)) for group in measurements["group"]], index=measurements.index)
    keys = ("type", "augmentation", "attribute", "marker", "gender", "privilege", "occupation")
    parts = parts.reindex(columns=list(keys)).astype(object).fillna("")
    frame = pd.concat([measurements.drop(columns="group"), parts], axis=1)
    return frame[frame["augmentation"] != ""]


def identity_summary(measurements: pd.DataFrame) -> RenderableType | None:
    """Return what a run found about identities, None if it asked about none."""
    frame = identity_frame(measurements)
    if not (frame["marker"] != "").any():
        return None
    parts: list[RenderableType] = []
    for (model, dataset, task), rows in frame.groupby(["model", "dataset", "task"], sort=False):
        parts += [Text(literal(f"identities: {model} on {dataset} · {task}"), style="bold")]
        for kind, own in rows.groupby("type", sort=False):
            parts += [*_kind(str(kind), own), Text()]
    return Group(*parts)


def _kind(kind: str, rows: pd.DataFrame) -> Iterator[RenderableType]:
    yield Text(KINDS.get(kind, kind), style="bold")
    yield _overall(rows)
    yield Text()
    for way in [way for way in WAYS if (rows["augmentation"] == way).any()]:
        yield Text(f"confidence disparity, {WAYS[way]}: max - min over gender x marker; over {LARGE:.2f} is marked *")
        yield _layouts(partial(_disparities, rows[rows["augmentation"] == way]), MEASURES)
        yield from _extremes(rows[rows["augmentation"] == way])


def _layouts(make: Callable[[Sequence[str]], Table], names: Sequence[str]) -> RenderableType:
    """Return the numbers side by side, or two, or one at a time, as wide as the terminal is."""
    halves = [names[start : start + 2] for start in range(0, len(names), 2)]
    return FirstThatFits([[make(names)], [make(some) for some in halves], [make([name]) for name in names]])


def _overall(rows: pd.DataFrame) -> RenderableType:
    """Return confidence and accuracy without and with markers."""

    def table(names: Sequence[str]) -> Table:
        table = _table("", *(HEADINGS[name] for name in names))
        for way in ("none", *WAYS):
            whole = rows[(rows["augmentation"] == way) & (rows[["attribute", "gender", "privilege"]] == "").all(axis=1)]
            if len(whole):
                table.add_row("no marker" if way == "none" else WAYS[way], *(_cell(whole, name) for name in names))
        return table

    return _layouts(table, (*MEASURES, "candidate_mass", "confidence_drop"))


def _disparities(rows: pd.DataFrame, names: Sequence[str]) -> Table:
    table = _table("attribute", *(HEADINGS[name] for name in names), "p (Holm)")
    whole = rows[(rows["marker"] == "") & (rows["attribute"] != "")]
    order = _of(whole, "confidence_disparity").sort_values("value", ascending=False)["attribute"]
    for attribute in order:
        own = whole[whole["attribute"] == attribute]
        cells = [_cell(own, f"{name}_disparity", mark=True) for name in names]
        # The p-value stands with the disparity that is shown first.
        p = _of(own, f"{names[0]}_disparity_p_holm")["value"]
        table.add_row(literal(str(attribute)), *cells, f"{p.iloc[0]:.4f}" if len(p) else "–")
    return table


def _extremes(rows: pd.DataFrame) -> Iterator[RenderableType]:
    """Yield the identities the model is least and most confident of."""
    single = _of(rows, "confidence")
    single = single[(single["marker"] != "") & (single["gender"] != "") & (single["occupation"] == "")]
    ordered = [f"{row.marker} {row.gender} {row.value:.3f}" for row in single.sort_values("value").itertuples()]
    if len(ordered) > 5:
        yield Text(literal(f"least confident of: {', '.join(ordered[:3])}; most: {', '.join(ordered[::-1][:3])}"))
    yield Text()


def _of(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    return rows[rows["metric"] == metric]


def _cell(rows: pd.DataFrame, metric: str, *, mark: bool = False) -> str:
    found: Any = _of(rows, metric)
    if not len(found):
        return "–"
    row = found.iloc[0]
    large = "*" if mark and row["value"] > LARGE else " "
    return f"{row['value']:.3f}{large}[{row['low']:.3f}, {row['high']:.3f}]"


def _table(first: str, *rest: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(first)
    for name in rest:
        table.add_column(name, justify="right", no_wrap=True)
    return table
