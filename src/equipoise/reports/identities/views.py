"""What is shown of identities, apart from how: disparities, subgroups on a rim, lines, and the table of a heatmap.

The terminal, the figures and the page all show these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...datasets.occupations import OCCUPATIONS
from ...runs.measurements import KINDS, Measurements
from ...runs.run import Part, Run
from ..behaviour.views import Estimated

LARGE = 0.20
"""The paper marks disparities over this."""

NONE = "none"
WAYS = {"R": "marker on the referent (R)", "NR": "marker on the other person (NR)", "C": "contrasting markers (C)"}
WITH = {way: f"with {'' if way == 'C' else 'a '}{marked}" for way, marked in WAYS.items()}
"""The ways to mark a sentence, as part of another sentence."""
GENDERS = {"male": "masc", "female": "fem", "neutral": "they"}
MEASURES = ("confidence", "confidence_pair", "confidence_marked", "accuracy")
OVERALL = (*MEASURES, "candidate_mass", "confidence_drop")
HEADINGS = {
    "confidence": "confidence",
    "confidence_pair": "given one of the two",
    "confidence_marked": "“young nurse” counted",
    "accuracy": "accuracy",
    "candidate_mass": "candidate mass",
    "confidence_drop": "drop from no marker",
}

Frames = Mapping[str, pd.DataFrame]
"""Identity measurements by name: each table is of one run, dataset and task (`series`)."""

NON_DEMOGRAPHIC = "non-demographic"
"""The attribute of markers such as "focused". Its row is the mean gap between he and she, as in the paper's Table 2."""

Subgroup = tuple[str, str, str]
"""An augmentation, a marker and a gender; "" where it has none."""


@dataclass(frozen=True)
class Disparity:
    """How far an attribute's subgroups lie apart, by measure, and the corrected p-value of "none differs"."""

    attribute: str
    cells: Mapping[str, Any]
    p: Mapping[str, float]


@dataclass(frozen=True)
class Spoke:
    """A subgroup on the rim of a radar, and its name in one or two lines."""

    words: tuple[str, ...]
    subgroup: Subgroup


@dataclass(frozen=True)
class Radar:
    """The subgroups of an attribute, men opposite women, and what each model's mean confidence in them is."""

    attribute: str
    rim: Sequence[Spoke]
    series: Mapping[str, Sequence[Estimated | None]]


@dataclass(frozen=True)
class Line:
    """The confidence of a marker and gender, without a marker and with each augmentation."""

    marker: str
    gender: str
    model: str
    values: Sequence[Estimated | None]

    @property
    def name(self) -> str:
        """The subgroup in words."""
        return f"{self.marker} {GENDERS.get(self.gender, self.gender)}".strip()


@dataclass(frozen=True)
class Lines:
    """The lines of an attribute over the augmentations."""

    attribute: str
    ways: Sequence[str]
    lines: Sequence[Line]


def series(runs: Sequence[Run]) -> dict[str, pd.DataFrame]:
    """Return the identity measurements of each run, dataset and task apart, named apart where their names are equal.

    Runs of one model are told apart by their folders, the tasks of a run by their names.
    """
    return {name: part.identities for name, part in _named_parts(runs).items()}


def measured_series(runs: Sequence[Run]) -> dict[str, Measurements]:
    """Return all measurements of the same runs, datasets and tasks, by the same names."""
    return {name: part.measured for name, part in _named_parts(runs).items()}


def _named_parts(runs: Sequence[Run]) -> dict[str, Part]:
    if len(runs) > 1:
        # Comparisons take long to import; most pages and figures are of one run.
        from ..comparison.matching import named_apart

        runs = named_apart(runs)
    parts = [part for run in runs for part in run.parts]
    marked = [part for part in parts if has_markers(part.identities)]
    tasks = {run: {(part.dataset, part.task) for part in marked if part.run.name == run} for run in names_of(marked)}
    several = {(part.dataset, part.task) for part in marked}
    datasets = {part.dataset for part in marked}

    def name(part: Part) -> str:
        if len(tasks[part.run.name]) == 1 and len(several) == 1:
            return part.run.name
        return f"{part.run.name} · {part.task if len(datasets) == 1 else part}"

    return {name(part): part for part in marked}


def names_of(parts: Iterable[Part]) -> list[str]:
    """Return the names of the parts' runs, each once."""
    return list(dict.fromkeys(part.run.name for part in parts))


def main_disparity(attribute: str) -> str:
    """Return the metric of an attribute's row: max - min over its subgroups, or the mean gap of he and she."""
    return "confidence_gender_gap" if attribute == NON_DEMOGRAPHIC else "confidence_disparity"


def row_title(attribute: str) -> str:
    """Return the name of an attribute's row; it says where the row is not max - min."""
    return f"{attribute} (mean of |he - she|)" if attribute == NON_DEMOGRAPHIC else attribute


def has_markers(frame: pd.DataFrame) -> bool:
    """Return whether marked sentences were asked."""
    return bool((frame["marker"] != "").any())


def ways_of(frame: pd.DataFrame) -> list[str]:
    """Return the augmentations that were asked."""
    return [way for way in WAYS if (frame["augmentation"] == way).any()]


def values_of(frame: pd.DataFrame, column: str) -> list[str]:
    """Return the values of a column in order of appearance, without the empty one."""
    return [str(value) for value in dict.fromkeys(frame[column]) if value]


def kinds_of(frame: pd.DataFrame) -> list[str]:
    """Return the types that were asked, resolvable first; [""] where sentences have none."""
    kinds = values_of(frame, "type")
    return [kind for kind in KINDS if kind in kinds] + [kind for kind in kinds if kind not in KINDS] or [""]


def overall(rows: pd.DataFrame) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the measurements of a type without and with markers, each with its name."""
    for way in (NONE, *WAYS):
        whole = rows[(rows["augmentation"] == way) & (rows[["attribute", "gender", "privilege"]] == "").all(axis=1)]
        if len(whole):
            yield "no marker" if way == NONE else WAYS[way], _by_metric(whole, OVERALL)


def disparities(rows: pd.DataFrame) -> Iterator[Disparity]:
    """Yield the disparities of a type and augmentation by attribute, the largest first.

    Markers without a side come last, with the mean gap of he and she: max - min over 18 subgroups says nothing of them.
    """
    whole = rows[(rows["marker"] == "") & (rows["attribute"] != "")]
    order = whole[whole["metric"] == "confidence_disparity"].sort_values("value", ascending=False)["attribute"]
    for attribute in sorted(order, key=lambda name: name == NON_DEMOGRAPHIC):
        attribute_rows = whole[whole["attribute"] == attribute]
        if attribute == NON_DEMOGRAPHIC:
            gap = _by_metric(attribute_rows, [main_disparity(attribute)]).get(main_disparity(attribute))
            yield Disparity(row_title(attribute), {} if gap is None else {"confidence": gap}, {})
            continue
        cells = _by_metric(attribute_rows, [f"{name}_disparity" for name in MEASURES])
        yield Disparity(
            str(attribute),
            {name: cells[f"{name}_disparity"] for name in MEASURES if f"{name}_disparity" in cells},
            {name: cells[f"{name}_disparity"].p_corrected for name in MEASURES if f"{name}_disparity" in cells},
        )


def _by_metric(rows: pd.DataFrame, metrics: Iterable[str]) -> dict[str, Any]:
    estimates: dict[str, Any] = {}
    wanted = set(metrics)
    for row in rows.itertuples():
        if row.metric in wanted:
            estimates.setdefault(str(row.metric), row)
    return estimates


def confidences(frame: pd.DataFrame, kind: str) -> dict[Subgroup, Estimated]:
    """Return the mean confidence of every marker and gender of a type, and of each gender without a marker."""
    rows = frame[
        (frame["metric"] == "confidence")
        & (frame["type"] == kind)
        & (frame["occupation"] == "")
        & (frame["privilege"] == "")
        & ((frame["marker"] != "") | (frame["attribute"] == ""))
    ]
    given: Iterable[Any] = rows.itertuples()
    return {(r.augmentation, r.marker, r.gender): Estimated(r.value, r.low, r.high) for r in given}


def extremes(rows: pd.DataFrame) -> list[str]:
    """Return the identities of a type and augmentation with their confidence, from the least to the most."""
    single = rows[(rows["metric"] == "confidence") & (rows["marker"] != "") & (rows["gender"] != "")]
    single = single[single["occupation"] == ""].sort_values("value")
    return [f"{row.marker} {row.gender} {row.value:.3f}" for row in single.itertuples()]


def radars(frames: Frames, kind: str, way: str) -> Iterator[Radar]:
    """Yield a radar for each attribute."""
    every = pd.concat(frames.values())
    known = {model: confidences(frame, kind) for model, frame in frames.items()}
    marked = every[(every["augmentation"] == way) & (every["type"] == kind)]
    for attribute in values_of(marked, "attribute"):
        rim = list(_rim(marked[marked["attribute"] == attribute], way))
        series = {model: [estimates.get(spoke.subgroup) for spoke in rim] for model, estimates in known.items()}
        yield Radar(attribute, rim, series)


def _rim(part_rows: pd.DataFrame, way: str) -> Iterator[Spoke]:
    """Yield the subgroups on the rim: of each gender the unmarked one, then its markers."""
    genders = [gender for gender in ("female", "male", "neutral") if (part_rows["gender"] == gender).any()] or [""]
    for gender in genders:
        short = GENDERS.get(gender, gender)
        yield Spoke((short or "no marker",), (NONE, "", gender))
        for marker in values_of(part_rows, "marker"):
            yield Spoke((f"{short}:", marker) if short else (marker,), (way, marker, gender))


def lines(frames: Frames, kind: str) -> Iterator[Lines]:
    """Yield, for each attribute, every marker, gender and model without a marker and with each augmentation."""
    every = pd.concat(frames.values())
    ways = [NONE, *ways_of(every)]
    known = {model: confidences(frame, kind) for model, frame in frames.items()}
    for attribute in values_of(every, "attribute"):
        views = [
            Line(marker, gender, model, [values.get((way, marker if way != NONE else "", gender)) for way in ways])
            for marker in values_of(every[every["attribute"] == attribute], "marker")
            for model, values in known.items()
            for gender in values_of(frames[model], "gender") or [""]
        ]
        yield Lines(attribute, ways, views)


def heat_table(frame: pd.DataFrame, kind: str, way: str) -> pd.DataFrame:
    """Return mean confidence by identity (rows) and referent occupation (columns, the least first).

    The table must be of one run and task: a mean over several would be a number that none of them has.
    """
    if len(frame[["model", "dataset", "task"]].drop_duplicates()) > 1:
        raise ValueError("a heatmap is of one run, dataset and task")
    cells = frame[
        (frame["metric"] == "confidence")
        & (frame["occupation"] != "")
        & (frame["type"] == kind)
        & frame["augmentation"].isin([NONE, way])
    ]
    genders = cells["gender"].map(lambda gender: GENDERS.get(gender, gender))
    identity = (cells["marker"] + " " + genders).str.strip().replace("", "no marker")
    table = cells.assign(identity=identity).pivot_table(
        index="identity", columns="occupation", values="value", sort=False, aggfunc="mean"
    )
    return table[table.mean().sort_values(kind="stable").index]


def sides_of(table: pd.DataFrame) -> list[str]:
    """Return whose stereotype each column's occupation is: "he", "she", or "" where that is not on record."""
    known = [OCCUPATIONS.get(str(name)) or OCCUPATIONS.get(str(name).lower()) for name in table.columns]
    words = {"male": "he", "female": "she"}
    return ["" if occupation is None else words.get(occupation.side, "") for occupation in known]


def heat_limit(table: pd.DataFrame) -> float:
    """Return where the colours end, on both sides of 0."""
    return max(0.05, float(np.nanmax(np.abs(table.to_numpy()))))
