"""Reliability diagrams, calibration before and after, P(male) by occupation: tables in, PNG files out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # files only: no window, no display needed

import pandas as pd
from matplotlib.figure import Figure

from ...metrics.calibration import reliability
from .views import reliability_of, workforce_of

COLOURS = ("#3b3b3b", "#1f77b4", "#d9722e", "#2c9c74", "#9a5fb4", "#b8a020")
"""Told apart by colour-blind readers too; the first is for all items."""


def draw_reliability(table: pd.DataFrame, path: Path, *, title: str) -> list[str]:
    """Draw a reliability diagram into a file, and return the groups that are not drawn."""
    figure, left_out = reliability_figure(table, title=title)
    figure.savefig(path, dpi=150)
    return left_out


def reliability_figure(table: pd.DataFrame, *, title: str) -> tuple[Figure, list[str]]:
    """Return a reliability diagram, one line a group, with intervals and the number of items in each bin below.

    Beside it, the groups that are not drawn: beyond five a diagram can no longer be read.
    """
    view = reliability_of(table)
    figure = Figure(figsize=(6, 7), layout="constrained")
    above, below = figure.subplots(2, 1, height_ratios=[3, 1], sharex=True)
    _diagonal(above)
    beside = 1 if view.apart else len(view.lines)
    for number, (name, rows) in enumerate(view.lines):
        _line(above, rows, _colour(name, number), name)
        _counts(below, rows, _colour(name, number), number % beside, beside)
    above.set(title=title, ylabel="share that people call male-biased (first side)", ylim=(-0.02, 1.02))
    above.legend(loc="upper left", frameon=False, fontsize=9)
    below.set(xlabel="P(first side) of the model", ylabel="items", xlim=(0, 1))
    below.set_xticks([k / 10 for k in range(11)])
    below.margins(y=0.18)
    return figure, list(view.left_out)


def draw_before_after(sample: pd.DataFrame, table: pd.DataFrame, path: Path, *, title: str, method: str) -> None:
    """Draw the tested half of one split before and after a map, and the mean ECE of every method against the floor."""
    figure = Figure(figsize=(13, 4.6), layout="constrained")
    figure.suptitle(title)
    before, after, methods = figure.subplots(1, 3)
    for axes, column, words in ((before, "before", "before"), (after, "after", f"after {method}")):
        _diagonal(axes)
        bins = pd.DataFrame(reliability(sample["y"].to_numpy(), sample[column].to_numpy()))
        _line(axes, bins, COLOURS[1], f"{len(sample)} items of one tested half")
        axes.set(title=words, xlabel="probability", xlim=(0, 1), ylim=(-0.02, 1.02))
        axes.legend(loc="upper left", frameon=False, fontsize=9)
    before.set_ylabel("share labelled with the first side")
    _methods(methods, table[(table["metric"] == "ece") & (table["group"] == "all")])
    figure.savefig(path, dpi=150)


def _methods(axes: Any, rows: pd.DataFrame) -> None:
    labels = [f"{row.method} ({row.maps})" for row in rows.itertuples()]
    places = range(len(labels))
    axes.hlines(places, rows["before"], rows["after"], color="#bbbbbb", linewidth=2)
    axes.plot(rows["before"], places, "o", color=COLOURS[0], label="before")
    errors = [(rows["after"] - rows["low"]).clip(lower=0), (rows["high"] - rows["after"]).clip(lower=0)]
    axes.errorbar(
        rows["after"], places, xerr=errors, fmt="o", color=COLOURS[1], capsize=2, label="after (95% of splits)"
    )
    axes.axvline(float(rows["floor"].iloc[0]), color=COLOURS[2], linestyle=":", label="noise floor")
    axes.set(title="ECE of the tested half, mean over splits", xlabel="ECE (lower is better)")
    axes.set_yticks(places, labels, fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=3)


def draw_occupations(table: pd.DataFrame, path: Path, *, title: str) -> None:
    """Draw mean P(male) of each occupation against the share of men who work in it."""
    figure = Figure(figsize=(7, 6.5), layout="constrained")
    axes = figure.subplots()
    _diagonal(axes)
    errors = [(table["p"] - table["low"]).fillna(0).clip(lower=0), (table["high"] - table["p"]).fillna(0).clip(lower=0)]
    axes.errorbar(table["men"], table["p"], yerr=errors, fmt="o", color=COLOURS[1], ecolor="#bcd3e6", markersize=4)
    view = workforce_of(table)
    for row in view.named if view else ():
        side = "left" if row.men < 0.8 else "right"
        offset = (5, 4) if side == "left" else (-5, 4)
        axes.annotate(row.name, (row.men, row.p), offset, textcoords="offset points", ha=side, fontsize=8)
    axes.set(title=title, xlabel="share of men in the occupation (U.S. Bureau of Labor Statistics)", xlim=(-0.02, 1.02))
    axes.set(ylabel="mean P(male) of the model", ylim=(-0.02, 1.02))
    figure.savefig(path, dpi=150)


def _colour(name: str, number: int) -> str:
    return COLOURS[0] if name == "all" else COLOURS[1 + number % (len(COLOURS) - 1)]


def _counts(axes: Any, rows: pd.DataFrame, colour: str, number: int, groups: int) -> None:
    """Draw the number of items in each bin; groups stand beside each other."""
    width = 0.08 / groups
    middle = (rows["start"] + rows["end"]) / 2 + (number - (groups - 1) / 2) * width
    axes.bar(middle, rows["items"], width=width, color=colour)
    for x, items in zip(middle, rows["items"], strict=True):
        axes.annotate(str(items), (x, items), ha="center", va="bottom", fontsize=7)


def _diagonal(axes: Any) -> None:
    axes.plot([0, 1], [0, 1], color="#999999", linestyle="--", linewidth=1, zorder=0)
    axes.grid(color="#eeeeee", zorder=0)
    axes.set_axisbelow(True)
    _plain(axes.spines.values())


def _line(axes: Any, rows: pd.DataFrame, colour: str, name: str) -> None:
    errors: Sequence[Any] = [(rows["rate"] - rows["low"]).clip(lower=0), (rows["high"] - rows["rate"]).clip(lower=0)]
    axes.errorbar(
        rows["confidence"],
        rows["rate"],
        yerr=errors,
        color=colour,
        marker="o",
        markersize=4,
        capsize=2,
        label=name,
    )


def _plain(spines: Iterable[Any]) -> None:
    for spine in spines:
        spine.set_color("#bbbbbb")
