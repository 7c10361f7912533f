"""A run's tables, as everything in this package reads them; no model and no dataset is needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .folder import TASK_GROUPS, RunFolder, group_names, outcomes_from_frame
from ..metrics import METRICS, Metric
from ..metrics.calibration_table import CALIBRATION
from ..records import Floats, Outcomes, RunError, RunManifest, group_label, parse_group

KINDS = {"type2": "resolvable (type 2)", "type1": "ambiguous (type 1)"}
ALL_METRICS = {**METRICS, **CALIBRATION}
ARROWS = {"higher": "↑", "lower": "↓", "neither": ""}


class RunFrames:
    """The tables of a finished run, each read once, when it is first asked for."""

    def __init__(self, path: str | Path, *, name: str | None = None) -> None:
        self.folder = RunFolder(Path(path))
        self.manifest: RunManifest = self.folder.manifest()
        if self.manifest.finished is None:
            raise RunError(
                f"the run in {path} was not finished; run its command again to continue: {self.manifest.command}"
            )
        self.name = name or self.manifest.model

    @property
    def path(self) -> Path:
        """Where the run is."""
        return self.folder.path

    @cached_property
    def measurements(self) -> pd.DataFrame:
        """Every metric for every group, with its interval."""
        return self.folder.frame("measurements.csv")

    @cached_property
    def outcomes(self) -> pd.DataFrame:
        """What the model made of each item."""
        return self.folder.frame("outcomes.parquet")

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """D of each side, and U, of every counterfactual set."""
        return self.folder.frame("pairs.parquet")

    @cached_property
    def examples(self) -> pd.DataFrame:
        """What was asked."""
        return self.folder.frame("examples.parquet")

    @cached_property
    def parts(self) -> list[Part]:
        """The run by dataset and task, in the order in which they were audited."""
        keys = self.measurements[["dataset", "task"]].drop_duplicates()
        return [Part(self, str(row.dataset), str(row.task)) for row in keys.itertuples()]

    @cached_property
    def groups(self) -> list[str]:
        """The names of the groups that the examples have."""
        return group_names(self.examples.drop_duplicates("groups"))

    @property
    def level(self) -> float:
        """The confidence level of the intervals."""
        return float(self.manifest.settings.get("level", 0.95))


@dataclass(frozen=True)
class Part:
    """A run on one dataset as one task."""

    run: RunFrames
    dataset: str
    task: str

    def __str__(self) -> str:
        return f"{self.dataset} · {self.task}"

    def _of(self, frame: pd.DataFrame) -> pd.DataFrame:
        return frame[(frame["dataset"] == self.dataset) & (frame["task"] == self.task)]

    @cached_property
    def items(self) -> pd.DataFrame:
        """The rows of `outcomes.parquet`."""
        return self._of(self.run.outcomes)

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """The rows of `pairs.parquet`."""
        return self._of(self.run.pairs)

    @cached_property
    def outcomes(self) -> Outcomes:
        """The items as `measure` takes them."""
        # A task may drop groups of its examples (a cloze has no gender) and add its own.
        here = [name for name in (*self.run.groups, *TASK_GROUPS) if name in self.items]
        return outcomes_from_frame(self.items, here)

    @cached_property
    def identities(self) -> pd.DataFrame:
        """The measurements of identities, by the parts of their groups."""
        return identity_frame(self._of(self.run.measurements))

    @cached_property
    def measured(self) -> Measured:
        """The measurements, by metric and group."""
        return Measured(self._of(self.run.measurements))

    @cached_property
    def kinds(self) -> list[str]:
        """The types that the items have, resolvable first; [""] where they have none."""
        here = set(self.items["type"].dropna().unique().tolist()) - {""} if "type" in self.items else set()
        return [kind for kind in KINDS if kind in here] + sorted(here - set(KINDS)) or [""]

    def of_kind(self, frame: pd.DataFrame, kind: str) -> pd.DataFrame:
        """Return the rows of one type; all of them where the items have no types."""
        return frame[frame["type"] == kind] if kind else frame


class Measured:
    """The measurements of one run on one dataset and task, looked up by metric and group."""

    def __init__(self, rows: pd.DataFrame) -> None:
        self.rows: dict[tuple[str, str], Any] = {}
        for row in rows.itertuples():
            self.rows.setdefault((str(row.metric), str(row.group)), row)
        self.metrics = list(dict.fromkeys(metric for metric, _ in self.rows))
        self.groups = {label: parse_group(label) for label in dict.fromkeys(label for _, label in self.rows)}

    def get(self, metric: str, **parts: str) -> Any:
        """Return the row of that metric and group, or None; a group of the type "" is that of all items."""
        return self.rows.get((metric, group_label({key: value for key, value in parts.items() if value})))

    def values_of(self, key: str, kind: str) -> Mapping[str, str]:
        """Return the values of a group within a type, each with the group's label."""
        wanted = {key, "type"} if kind else {key}
        found = {}
        for label, parts in self.groups.items():
            if set(parts) == wanted and parts.get("type", "") == kind:
                found[parts[key]] = label
        return dict(sorted(found.items()))


def identity_frame(measurements: pd.DataFrame) -> pd.DataFrame:
    """Return the measurements of identities with a column for each part of their group ("" where it has none)."""
    keys = ("type", "augmentation", "attribute", "marker", "gender", "privilege", "occupation")
    parts = pd.DataFrame([parse_group(str(group)) for group in measurements["group"]], index=measurements.index)
    parts = parts.reindex(columns=list(keys)).astype(object).fillna("")
    frame = pd.concat([measurements.drop(columns="group"), parts], axis=1)
    return frame[frame["augmentation"] != ""]


def kind_title(kind: str) -> str:
    """Return a type's name in words."""
    return KINDS.get(kind, kind or "all items")


def metric_row(name: str) -> Metric | None:
    """Return the row of the table of metrics that a name stands for, also with an estimator's suffix."""
    named = [known for known in ALL_METRICS if f"{name}_".startswith(f"{known}_")]
    return ALL_METRICS[max(named, key=len)] if named else None


def column(frame: pd.DataFrame, name: str) -> Floats:
    """Return a column of numbers, all NaN where the table does not have it."""
    if name not in frame:
        return np.full(len(frame), np.nan)
    return frame[name].to_numpy(dtype=np.float64)


def main_estimator(frame: pd.DataFrame, name: str) -> str:
    """Return the column of that name, or, where perplexity was not asked for, that of the first estimator."""
    if name in frame:
        return name
    return next((str(one) for one in frame.columns if str(one).startswith(f"{name}_")), name)


def interval(row: Any) -> str:
    """Return the interval as text; a metric undefined in most resamples has none that could be trusted."""
    if pd.isna(row.low) or pd.isna(row.high):
        return "[no interval]"
    return f"[{row.low:.3f}, {row.high:.3f}]"


def span(row: Any) -> str:
    """Return the value with its interval, as text."""
    return f"{row.value:.3f} {interval(row)}"


def all_parts(runs: list[RunFrames]) -> Iterator[tuple[str, str]]:
    """Yield every dataset and task that one of the runs has."""
    yield from dict.fromkeys((part.dataset, part.task) for run in runs for part in run.parts)
