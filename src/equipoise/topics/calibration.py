"""Whether probabilities match what people say: by group, by bin and by occupation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..measuring.recalibration import Recalibrated
from ..metrics import METRICS
from ..metrics import calibration as bins_of
from ..metrics.sides import is_predicted, predicted_group, side_columns, with_predictions
from ..records import EquipoiseError, Estimate, Floats, Outcomes
from ..records.showing import (
    Axis,
    Bar,
    Chart,
    Column,
    Dot,
    Finding,
    Key,
    Line,
    Note,
    Panel,
    Row,
    Rule,
    Section,
    Table,
    Tone,
)
from ..runs.measurements import Measurements
from ..runs.run import Part, Run

BY_GROUP = ("ece", "ece_floor", "ece_debiased", "brier", "human_alignment")
SHOWN_LINES = 6
"""Of a reliability diagram: with more it can no longer be read."""
SHOWN_VALUES = 10
"""Of a group: one with more values, such as the occupations, is not tabled; it is in `measurements.csv`."""
AFTER = (1, 3)
"""The tones of calibrated values: by one map for all, and by maps of groups."""
NAMED = 12
"""This many of the occupations furthest from the diagonal are named, where there is room."""


def is_calibrated(measured: Measurements) -> bool:
    """Return whether calibration was measured."""
    return measured.get("ece") is not None


def findings(part: Part) -> Iterator[Finding]:
    """Yield how far probabilities come true, and why that should be doubted if it should; nothing if not measured."""
    measured = part.measured
    ece, floor, mass = (measured.get(name) for name in ("ece", "ece_floor", "candidate_mass"))
    if ece is None:
        return
    beyond = measured.get("ece_debiased")
    chance = "" if floor is None else f"; chance alone would show {100 * floor.value:.1f} at n = {ece.n}"
    rests_on = [row for row in (ece, floor, beyond) if row is not None]
    text = f"Its probabilities are off by {ece:points} on average{chance}."
    yield Finding(text, rests_on, "calibration")
    if beyond is not None and beyond.low <= 0:
        text = "That is no more than chance alone would show: no miscalibration is detected in these data."
        yield Finding(text, [beyond], "calibration")
    if mass is not None and mass.value < 0.001:
        text = (
            f"The two sides together get a probability of only {mass.value:.1g}: the text may not be what the model "
            "expects (try --bos always), and its calibration then says little."
        )
        yield Finding(text, [mass], "calibration", state="doubt")


def by_group(part: Part) -> Table:
    """Return the calibration of all items, and of each group that has few values, beside its noise floor."""
    measured = part.measured
    groups = measured.groups_of("ece")
    keys = {group: tuple(sorted(measured.groups[group])) for group in groups}
    every = list(keys.values())
    shown = [group for group in groups if every.count(keys[group]) <= SHOWN_VALUES]
    rows = [Row((group, *(_cell(measured, name, group) for name in BY_GROUP))) for group in shown]
    columns = [Column("group", words=True)]
    columns += [Column("floor" if name == "ece_floor" else name, METRICS[name].better) for name in BY_GROUP]
    return Table(f"Calibration of {part.run.name} on {part}", columns, rows, "calibration", part.about())


def _cell(measured: Measurements, name: str, group: str) -> Any:
    row = measured.at(name, group)
    return row if row is None or name != "ece_floor" else row.value


def section(run: Run) -> Section | None:
    """Return how far probabilities come true, by group, for the datasets with a human label."""
    intro = (
        "A model that says “he” with probability 0.8 should be right eight times in ten, and the same for “she”. Right"
        " means that people give the same answer. The floor is the error that chance alone would produce with this"
        " number of items. An error above the floor is miscalibration."
    )
    parts = [
        Section(str(part), [*findings(part), by_group(part), *charts(part)])
        for part in run.parts
        if is_calibrated(part.measured)
    ]
    return Section("Calibration", parts, "calibration", intro=intro) if parts else None


def summary(run: Run) -> Section | None:
    """Return the same without pictures."""
    parts = [Section("", [by_group(part), *findings(part)]) for part in run.parts if is_calibrated(part.measured)]
    return Section("", parts) if parts else None


def charts(part: Part, table: pd.DataFrame | None = None) -> Iterator[Chart]:
    """Yield the reliability diagram and P(male) by occupation, as far as the items have labels and known shares.

    `table` has the bins of the diagram, by default those of the sides that the model predicts.
    """
    reliable = reliability(part, table)
    if reliable is not None:
        yield reliable
    examples = part.run.examples
    work = occupation_table(part.outcomes, examples[examples["dataset"] == part.dataset])
    if len(work) > 2:
        yield workforce(work, about=part.about())


def reliability(part: Part, table: pd.DataFrame | None = None) -> Chart | None:
    """Return the reliability diagram of a part; None where no sentence pair has a label."""
    table = reliability_table(part.outcomes, level=part.run.level) if table is None else table
    return diagram(table, side=first_side(part), about=part.about()) if len(table) else None


def first_side(part: Part) -> str:
    """Return what the first side of all sentence pairs is called."""
    firsts = {text.split("|")[0] for text in set(part.outcomes.sides.tolist()) - {""}}
    return firsts.pop() if len(firsts) == 1 else "first side"


def reliability_table(outcomes: Outcomes, *, by: str = "", bins: int = 10, level: float = 0.95) -> pd.DataFrame:
    """Return the bins of all labelled sentence pairs and of each group (by default the predicted side)."""
    outcomes = with_predictions(outcomes)
    columns = side_columns(outcomes)
    y, p = columns["y"], columns["p"]
    labelled = ~(np.isnan(y) | np.isnan(p))
    if not labelled.any():
        return pd.DataFrame(columns=["group", *bins_of.ReliabilityBin.COLUMNS])
    key = by or predicted_group(outcomes)
    if key not in outcomes.groups:
        raise EquipoiseError(f"no item has a group {key!r}; known groups: {', '.join(outcomes.groups)}")
    group = outcomes.groups[key]
    rows = {"all": labelled}
    rows |= {f"{key}={name}": labelled & (group == name) for name in sorted(set(group[labelled].tolist()) - {""})}
    return pd.DataFrame(
        [
            {"group": name, **filled_bin.row()}
            for name, chosen in rows.items()
            for filled_bin in bins_of.reliability(y[chosen], p[chosen], bins=bins, level=level)
        ]
    )


def diagram(table: pd.DataFrame, *, side: str, about: dict[str, str], title: str = "") -> Chart:
    """Return a reliability diagram of a table of bins: a line for each group, and how many items each bin has.

    There is no line of all where each bin lies on the side of one group alone.
    """
    names = list(dict.fromkeys(str(name) for name in table["group"]))
    apart = len(names) > 1 and all(map(is_predicted, names[1:]))
    names = names[1:] if apart else names
    drawn = names[:SHOWN_LINES]
    above: list[Rule | Line | Dot] = [Rule(along="diagonal")]
    below: list[Bar] = []
    beside = 1 if apart else len(drawn)
    for number, name in enumerate(drawn):
        tone, rows = _tone(name, number), list(_bins(table[table["group"] == name]))
        above.append(Line([(x, share.value) for x, share, _ in rows], tone, name, dashed=bool(number % 2)))
        above += [Dot(x, share, tone, f"{name}, P {x:.3f}", small=True) for x, share, _ in rows]
        for _, share, (start, end) in rows:
            wide = (end - start) * 0.9 / beside
            left = start + (end - start) * 0.05 + number % beside * wide
            below.append(Bar((left, left + wide), (0.0, float(share.n)), tone, f"{name}: {share.n:,}", f"{share.n:,}"))
    most = max(bar.y[1] for bar in below)
    across = Axis(f"P({side}) of the model")
    panels = [
        Panel(above, across, Axis(f"share that people call {side}"), height=0.62),
        Panel(below, across, Axis("items", 0.0, 1.15 * most), height=0.18),
    ]
    caption = "Above the diagonal it happens more often than the model says. Lines are intervals; bars count items."
    if names[SHOWN_LINES:]:
        caption += f" Not drawn: {', '.join(names[SHOWN_LINES:])}."
    sizes = {name: int(table[table["group"] == name]["items"].sum()) for name in drawn}
    keys = [Key(f"{_said(name)} (n = {sizes[name]:,})", _tone(name, n), bool(n % 2)) for n, name in enumerate(drawn)]
    data = bin_table(table[table["group"].isin(drawn)], side)
    return Chart(
        title or "Do the probabilities match the labels?", panels, "reliability", about, keys, caption, data=data
    )


def _bins(rows: pd.DataFrame) -> Iterator[tuple[float, Estimate, tuple[float, float]]]:
    """Yield each bin: the mean probability, the share that people call by the side, and the ends of the bin."""
    for row in _rows(rows):
        yield row.confidence, bin_estimate(row), (row.start, row.end)


def bin_estimate(row: Any) -> Estimate:
    """Return the share of a bin with its interval."""
    return Estimate(row.rate, row.low, row.high, 0.95, int(row.items), "wilson")


def bin_table(table: pd.DataFrame, side: str, title: str = "") -> Table:
    """Return every bin of every group: what the model says, how often it happens, and of how many items."""
    columns = [Column("group", words=True), Column("P from", digits=1), Column("to", digits=1)]
    columns += [Column(f"mean P({side})"), Column("share")]
    rows = [Row((str(row.group), row.start, row.end, row.confidence, bin_estimate(row))) for row in _rows(table)]
    return Table(title, columns, rows)


def _rows(table: pd.DataFrame) -> Iterator[Any]:
    """Yield the rows of a table, of which types are not known."""
    yield from table.itertuples()


def _said(group: str) -> str:
    """Return a group in words: where the model says female."""
    return f"the model says {group.split('=', 1)[1]}" if is_predicted(group) else group


def _tone(name: str, number: int) -> Tone:
    """Return the tone of a group's line: those of he and she where that is the group, else one of the series."""
    return {"predicted_gender=male": "he", "predicted_gender=female": "she"}.get(name, number)


def occupation_table(outcomes: Outcomes, examples: pd.DataFrame) -> pd.DataFrame:
    """Return each occupation's share of men in the workforce, and the mean P(male) with a 95% interval where n > 1.

    Occupations whose share is not on record, and items that are not sentence pairs, are left out.
    """
    slots = {id: json.loads(text) for id, text in zip(examples["id"], examples["slots"], strict=True)}
    shares = [slots.get(id, {}).get("female_share") for id in outcomes.example_id]
    table = pd.DataFrame(
        {"occupation": outcomes.group("occupation"), "share": shares, "p": side_columns(outcomes)["p"]}
    )
    table = table[(table["occupation"] != "") & table["share"].notna() & table["p"].notna()]
    table["men"] = 1 - table["share"].astype(float) / 100
    by_occupation = table.groupby("occupation").agg(
        men=("men", "first"), p=("p", "mean"), sd=("p", "std"), n=("p", "size")
    )
    half = 1.96 * by_occupation["sd"] / np.sqrt(by_occupation["n"])
    by_occupation["low"], by_occupation["high"] = (
        (by_occupation["p"] - half).clip(0, 1),
        (by_occupation["p"] + half).clip(0, 1),
    )
    return by_occupation.drop(columns="sd").reset_index().sort_values("men", ignore_index=True)


def workforce(table: pd.DataFrame, *, about: dict[str, str], title: str = "P(male) and the workforce") -> Chart:
    """Return mean P(male) of each occupation over the share of men who work in it."""
    rows = [
        (row.occupation, row.men, Estimate(row.p, row.low, row.high, 0.95, row.n, "normal")) for row in _rows(table)
    ]
    marks: list[Rule | Dot | Note] = [Rule(along="diagonal")]
    marks += [Dot(men, p, "neither", name, small=True) for name, men, p in rows]
    furthest = sorted(rows, key=lambda row: -abs(row[2].value - row[1]))[:NAMED]
    marks += [Note(men, p.value, name) for name, men, p in furthest]
    panel = Panel(marks, Axis("share of men in the occupation"), Axis("mean P(male) of the model"), height=0.85)
    caption = (
        "Share of men: U.S. Bureau of Labor Statistics. On the diagonal the model’s pronouns are those of the"
        " workforce; occupations are named where there is room, those furthest from it first."
    )
    columns = (Column("occupation", words=True), Column("men at work", digits=2), Column("P(male)"))
    return Chart(
        title, [panel], "workforce", about, caption=caption, data=Table("", columns, [Row(row) for row in rows])
    )


def before_and_after(table: pd.DataFrame) -> Iterator[Table]:
    """Yield the ECE of the tested halves before and after each map, by dataset and task: a column for each group.

    Beside each ECE is the one that chance alone would show, with the probabilities that the map made.
    """
    for (dataset, task), part in table[table["metric"] == "ece"].groupby(["dataset", "task"], sort=False):
        groups = list(dict.fromkeys(part["group"]))[: SHOWN_VALUES + 1]
        first = {group: part[part["group"] == group].iloc[0] for group in groups}
        columns = [Column("maps", words=True), Column("method", words=True)]
        columns += [Column(title) for group in groups for title in (str(group), "by chance")]
        rows = [Row(("", "before", *(cell for row in first.values() for cell in (float(row["before"]), None))))]
        for (maps, method), several in part.groupby(["maps", "method"], sort=False):
            known = {row.group: row for row in _rows(several)}
            cells = [cell for group in groups for cell in _after(known.get(group))]
            rows.append(Row((str(maps), str(method), *cells)))
        splits = int(part["splits"].max())
        title = f"ECE of the tested half on {dataset} · {task}, mean over {splits} splits [the middle 95% of them]"
        yield Table(title, columns, rows)


def _after(row: Any) -> Sequence[Any]:
    if row is None:
        return None, None
    return Estimate(row.after, row.low, row.high, 0.95, int(row.n), "splits"), float(row.floor)


def maps_charts(recalibrated: Recalibrated, model: str, method: str) -> Iterator[Chart]:
    """Yield the tested half of one split before and after a map, and the mean ECE of every method beside its floor."""
    for (dataset, task), sample in recalibrated.samples.items():
        rows = recalibrated.table[(recalibrated.table["metric"] == "ece") & (recalibrated.table["group"] == "all")]
        rows = rows[(rows["dataset"] == dataset) & (rows["task"] == task)]
        maps = list(dict.fromkeys(rows["maps"].tolist()))
        steps = (("before", "before"), ("after", f"after {method}"))
        panels = [_step(sample["y"].to_numpy(), sample[column].to_numpy(), words) for column, words in steps]
        after = [Key(f"after, {name}", tone) for tone, name in zip(AFTER, maps, strict=False)]
        keys = [Key("before", 0), *after, Key("by chance alone", "neither")]
        caption = "The last panel has the mean ECE over splits; its lines are the middle 95% of them."
        title, about = f"{model} on {dataset} · {task}", {"dataset": dataset, "task": task}
        panels.append(_methods(rows, maps))
        yield Chart(title, panels, "calibrated", about, keys, caption, layout="multiples")


def _step(y: Floats, p: Floats, words: str) -> Panel:
    """Return the reliability of all items in one line."""
    bins = [(filled_bin.confidence, filled_bin.rate) for filled_bin in bins_of.reliability(y, p)]
    marks: list[Rule | Line | Dot] = [Rule(along="diagonal"), Line([(x, share.value) for x, share in bins], 0)]
    marks += [Dot(x, share, 0, f"{words}, P {x:.3f}", small=True) for x, share in bins]
    up = Axis("share labelled with the first side")
    return Panel(marks, Axis("probability"), up, f"{words} ({len(y):,} items of one half)", height=0.9)


def _methods(table: pd.DataFrame, maps: Sequence[str]) -> Panel:
    """Return a row for each method: the mean ECE before and after its maps, and what chance alone would show."""
    names = list(dict.fromkeys(table["method"].tolist()))
    marks: list[Line | Dot] = []
    for row in _rows(table):
        number = maps.index(row.maps)
        y = names.index(row.method) + 0.4 * (number - (len(maps) - 1) / 2)
        label = f"{row.method} ({row.maps})"
        marks.append(Line([(row.before, y), (row.after, y)], "quiet"))
        marks += [
            Dot(row.before, y, 0, f"{label}, before", small=True),
            Dot(_after(row)[0], y, AFTER[number], f"{label}, after", small=True),
            Dot(row.floor, y, "neither", f"{label}, by chance alone", small=True),
        ]
    values = [mark.x for mark in marks if isinstance(mark, Dot)]
    across = Axis.over([0.0, *values], "ECE (lower is better)", within=(0.0, 1.0))
    return Panel(marks, across, Axis.of_names(names), "ECE, mean over splits")
