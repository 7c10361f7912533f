"""Calibration as tables in a terminal: by group, by bin, before and after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
from rich.console import Group, RenderableType
from rich.text import Text

from ..records import parse_group
from .tables import SHOWN_GROUPS, literal
from .tables import _span as span
from .tables import _table as empty_table
from .tables import _texts as cell_texts

BY_GROUP = ("ece", "ece_debiased", "brier", "human_alignment")


def calibration_summary(measurements: pd.DataFrame) -> RenderableType:
    """Return the calibration of each group beside its noise floor, for every dataset and task that has one."""
    parts: list[RenderableType] = []
    for (model, dataset, task), rows in measurements.groupby(["model", "dataset", "task"], sort=False):
        found = {(str(row.metric), str(row.group)): row for row in rows.itertuples()}
        if ("ece", "all") not in found:
            continue
        groups = [group for metric, group in found if metric == "ece"]
        parts.append(Text(literal(f"calibration of {model} on {dataset} · {task}"), style="bold"))
        parts += [Text(sentence) for sentence in _in_words(found)]
        parts += [Text(), _by_group(found, _few(groups)), Text()]
    return Group(*parts)


def _few(groups: Sequence[str]) -> list[str]:
    """Return the groups of keys that have few values; the others are in `measurements.csv`."""
    keys = {group: ",".join(sorted(parse_group(group))) for group in groups}
    return [group for group in groups if list(keys.values()).count(keys[group]) <= SHOWN_GROUPS]


def _in_words(found: Any) -> Iterator[str]:
    ece, floor, mass = found["ece", "all"], found["ece_floor", "all"], found.get(("candidate_mass", "all"))
    beyond = found.get(("ece_debiased", "all"))
    yield (
        f"What it says comes true to within {span(ece)} on average; chance alone would show {floor.value:.3f} "
        f"at n = {ece.n}."
    )
    if beyond is not None and beyond.low <= 0:
        yield "That is no more than chance: these data are too few, or the model too close, to tell a miscalibration."
    if mass is not None and mass.value < 0.001:
        yield (
            f"The two pronouns together get a probability of only {mass.value:.1g}: the text may not be what the model "
            "expects (try --bos always), and its calibration then says little."
        )


def _by_group(found: Any, groups: Sequence[str]) -> RenderableType:
    table = empty_table("group", "n", BY_GROUP[0], "floor", *BY_GROUP[1:])
    for group in groups:
        rows = {metric: found.get((metric, group)) for metric in (*BY_GROUP, "ece_floor")}
        cells = ["–" if rows[metric] is None else span(rows[metric]) for metric in BY_GROUP]
        floor = "–" if rows["ece_floor"] is None else f"{rows['ece_floor'].value:.3f}"
        table.add_row(*cell_texts([group, str(rows["ece"].n), cells[0], floor, *cells[1:]]))
    return table


def bins_table(table: pd.DataFrame, title: str) -> RenderableType:
    """Return the bins of a reliability diagram: how probable, how often so, of how many."""
    shown = empty_table("group", "P from", "to", "items", "mean P", "share", "95% interval")
    for row in table.itertuples():
        cells = [str(row.group), f"{row.start:.1f}", f"{row.end:.1f}", str(row.items), f"{row.confidence:.3f}"]
        shown.add_row(*cell_texts([*cells, f"{row.rate:.3f}", f"[{row.low:.3f}, {row.high:.3f}]"]))
    return Group(Text(), Text(literal(title), style="bold"), shown)


def before_after_table(table: pd.DataFrame) -> RenderableType:
    """Return what calibration maps did to the ECE of the tested halves: a row a method and map, a column a group."""
    parts: list[RenderableType] = []
    for (dataset, task), here in table[table["metric"] == "ece"].groupby(["dataset", "task"], sort=False):
        groups = list(dict.fromkeys(here["group"]))[: SHOWN_GROUPS + 1]
        first = {group: here[here["group"] == group].iloc[0] for group in groups}
        shown = empty_table("maps", "method", *(f"{group} (n = {row['n']})" for group, row in first.items()))
        shown.add_row(*cell_texts(["", "before", *(f"{row['before']:.3f}" for row in first.values())]))
        shown.add_row(*cell_texts(["", "noise floor", *(f"{row['floor']:.3f}" for row in first.values())]))
        for (maps, method), rows in here.groupby(["maps", "method"], sort=False):
            cells = {row.group: f"{row.after:.3f} [{row.low:.3f}, {row.high:.3f}]" for row in rows.itertuples()}
            shown.add_row(*cell_texts([str(maps), str(method), *(cells.get(group, "–") for group in groups)]))
        splits = int(here["splits"].max())
        title = f"ECE of the tested half on {dataset} · {task}, mean over {splits} splits [the middle 95% of them]"
        parts += [Text(), Text(literal(title), style="bold"), shown]
    return Group(*parts, Text())
