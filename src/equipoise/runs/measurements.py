"""Measurements of one model, dataset and task, looked up by metric and group; and their table on disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from functools import cached_property
from typing import IO, Any, get_args

import numpy as np
import pandas as pd

from ..metrics import METRICS
from ..metrics.naming import metric_of, suffixes
from ..records import DECIDED, Better, Estimate, Measurement, group_label, parse_group
from .csv_files import original

KINDS = {"type2": "resolvable (type 2)", "type1": "ambiguous (type 1)", DECIDED: "decided (type 3)"}
VARIANTS = {"seed", "wording"}
"""Parts of a group that name one of several ways in which the same sentences were asked."""


class Measurements:
    """The measurements of one run on one dataset and task."""

    def __init__(self, measurements: Iterable[Measurement]) -> None:
        self._by_name: dict[tuple[str, str], Measurement] = {}
        for measurement in measurements:
            self._by_name.setdefault((measurement.metric, measurement.group), measurement)
        self.metrics = list(dict.fromkeys(metric for metric, _ in self._by_name))
        self.groups = {label: parse_group(label) for label in dict.fromkeys(label for _, label in self._by_name)}

    def __iter__(self) -> Iterator[Measurement]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    def get(self, metric: str, **parts: str) -> Measurement | None:
        """Return the measurement of that metric and group, or None; an empty part is left out of the group."""
        return self.at(metric, group_label({key: value for key, value in parts.items() if value}))

    def at(self, metric: str, group: str) -> Measurement | None:
        """Return the measurement of that metric and the group of that label, or None."""
        return self._by_name.get((metric, group))

    def own(self, metric: str) -> str:
        """Return the metric's name by perplexity or, where it was measured by others only, by the first of these."""
        if metric in self.metrics:
            return metric
        estimated = {metric + suffix for suffix in suffixes()}
        return next((name for name in self.metrics if name in estimated), metric)

    def groups_of(self, metric: str) -> list[str]:
        """Return the labels of the groups that have that metric."""
        return [group for name, group in self._by_name if name == metric]

    def values_of(self, key: str, kind: str) -> Mapping[str, str]:
        """Return the values of a group within a type, each with the group's label."""
        wanted = {key, "type"} if kind else {key}
        labels = {
            parts[key]: label
            for label, parts in self.groups.items()
            if set(parts) == wanted and parts.get("type", "") == kind
        }
        return dict(sorted(labels.items()))

    @cached_property
    def kinds(self) -> list[str]:
        """The types that were measured, resolvable first; [""] where the items have none."""
        return ordered_kinds({parts["type"] for parts in self.groups.values() if "type" in parts})

    @cached_property
    def keys(self) -> list[str]:
        """The groups that the types are broken down by."""
        within = [parts for parts in self.groups.values() if len(parts) == 2 and "type" in parts]
        keys = dict.fromkeys(key for parts in within for key in parts)
        return [key for key in keys if key not in ("type", "seed", "pair")]

    def groupings(self) -> list[Measurement]:
        """Return the values that are taken over all groups of a name, such as the mean ECE of the groups."""
        return [row for (_, group), row in self._by_name.items() if set(self.groups[group]) == {"by"}]

    def spread(self, metric: str, group: str) -> float | None:
        """Return the standard deviation over seeds, None where there are fewer than two."""
        parts = self.groups[group]
        seeds = dict.fromkeys(p["seed"] for p in self.groups.values() if "seed" in p)
        rows = [self.at(metric, group_label({**parts, "seed": seed})) for seed in seeds]
        values = [row.value for row in rows if row is not None]
        return float(pd.Series(values).std()) if len(values) > 1 else None

    def ways_asked(self, metric: str, group: str) -> list[Measurement]:
        """Return the values of each way to ask that a value is the mean over; [] unless there are several."""
        parts = self.groups[group]
        if parts.keys() & VARIANTS:
            return []
        rows = [self.at(metric, group_label({**parts, **way})) for way in self._ways]
        known = [row for row in rows if row is not None]
        return known if len(known) > 1 else []

    @cached_property
    def _ways(self) -> list[dict[str, str]]:
        ways = [{key: part for key, part in parts.items() if key in VARIANTS} for parts in self.groups.values()]
        return [dict(way) for way in dict.fromkeys(tuple(way.items()) for way in ways if way)]


def ordered_kinds(kinds: set[str]) -> list[str]:
    """Return the types in the order in which they are shown, resolvable first; [""] where there are none."""
    kinds = kinds - {""}
    return [kind for kind in KINDS if kind in kinds] + sorted(kinds - set(KINDS)) or [""]


def kind_title(kind: str) -> str:
    """Return a type's name in words."""
    return KINDS.get(kind, kind or "all items")


def metric_place(name: str) -> int:
    """Return where a measurement's metric comes in tables: the order of the table of metrics."""
    metric = metric_of(name)
    return list(METRICS).index(metric.name) if metric and metric.name in METRICS else len(METRICS)


def measurements_frame(measurements: Iterable[Measurement]) -> pd.DataFrame:
    """Return the measurements as the table of `measurements.csv`."""
    return pd.DataFrame([measurement.row() for measurement in measurements], columns=list(Measurement.COLUMNS))


def measurements_from_frame(frame: pd.DataFrame) -> list[Measurement]:
    """Return the rows of `measurements.csv` as measurements."""
    # Lists column by column: a row of pandas takes ten times as long to make.
    estimates = map(Estimate, *(frame[field.name].tolist() for field in fields(Estimate)))
    about = [frame[name].tolist() for name in ("metric", "model", "dataset", "task", "group")]
    return list(map(Measurement, *about, estimates, frame["better"].tolist()))


def read_measurements(file: IO[bytes]) -> pd.DataFrame:
    """Return the table of `measurements.csv` as it was written; ValueError if it is not whole."""
    # As text first: else a model called 1.0 would be a number, and a dataset called NA would be missing.
    frame = pd.read_csv(file, dtype=str, keep_default_na=False)
    if tuple(frame.columns) != Measurement.COLUMNS or not frame["better"].isin(get_args(Better)).all():
        raise ValueError("it is cut off or altered")
    numbers = frame[["value", "low", "high", "level", "p", "p_corrected"]].replace("", "nan").astype(float)
    # Where a subset is empty, only the interval is known.
    known = np.isfinite(numbers[["value", "low", "high"]].to_numpy())
    if (
        not (known[:, 0] | (known[:, 1:].all(axis=1) & frame["value"].eq("").to_numpy())).all()
        or not numbers["level"].between(0, 1).all()
    ):
        raise ValueError("a value is not a number")
    chances, ends = numbers[["p", "p_corrected"]], numbers[["low", "high"]].dropna()
    counts = frame["n"].astype(int)
    if (counts < 0).any() or ((chances < 0) | (chances > 1)).any(axis=None) or (ends["low"] > ends["high"]).any():
        raise ValueError("it has a number that no measurement can have")
    # Equal rows contradict nothing: earlier versions wrote those of `--by type` more than once.
    if frame.drop_duplicates().duplicated(["metric", "model", "dataset", "task", "group"]).any():
        raise ValueError("two rows say different things of one group")
    for group in frame["group"].drop_duplicates():
        parse_group(original(group))
    names = ("metric", "model", "dataset", "task", "group", "method")
    texts = {name: frame[name].map(original) for name in names if frame[name].str.startswith("'").any()}
    return frame.assign(**texts, **numbers, n=counts)


def interval(row: Any) -> str:
    """Return the interval of an estimate, a measurement or a row of their table, as text."""
    if pd.isna(row.low) or pd.isna(row.high):
        return "[no interval]"
    return f"[{row.low:.3f}, {row.high:.3f}]"


def span(row: Any) -> str:
    """Return the value with its interval, as text."""
    return f"{row.value:.3f} {interval(row)}"
