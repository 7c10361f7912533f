"""Has a model seen published sentences before? It should then do better on them than on new ones of the same kind."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ..records import Estimate, Example
from ..runs.run import Part, Run
from ..runs.tables import examples_from_frame
from ..stats.adjusted import Adjusted, adjusted_difference
from ..stats.paired import CORRECTIONS, is_detected
from ..tasks.pronoun_cloze import sentence_pairs
from .datasets import by_dataset

ACCURACY, MASS, BITS = "accuracy", "candidate mass", "log-probability"
MEASURES = (ACCURACY, MASS, BITS)
"""What is compared: answers of resolvable sentences, the mass of the answers, and the sentence's own probability."""

WHOLE = "sentence"
"""The task that asks for the probability of the sentence itself."""

MATCHED = ("kind", "first", "second")
"""Columns in which the two samples are made equal: type, place and form of the pronoun; both people in their order."""


@dataclass(frozen=True)
class Seen:
    """What a model does better on published sentences than on new ones, matched; `beyond` is a model to compare with.

    With `beyond` a value is the model's minus that of the other model, so what makes a sentence easy for both cancels
    out. `detectable` is the difference that four of five such audits would detect.
    """

    model: str
    task: str
    measure: str
    data: tuple[str, str]
    adjusted: Adjusted
    detectable: float
    beyond: str = ""

    @property
    def difference(self) -> Estimate:
        """Published minus new."""
        return self.adjusted.estimate

    @property
    def better(self) -> bool:
        """Whether the model is shown to do better on the published sentences."""
        return is_detected(self.difference) and self.difference.value > 0


def new_and_published(runs: Sequence[Run], data: Sequence[str]) -> tuple[str, str] | None:
    """Return the published dataset and the population of new sentences, in this order; None where they are not these.

    Without `data` they are those of runs that have no dataset in common: one run on each.
    """
    drawn = {name for run in runs for name, facts in run.manifest.datasets.items() if facts.get("population")}
    known = {name for run in runs for name in run.manifest.datasets}
    names = list(data) or [name for name in sorted(known) if not all(name in run.manifest.datasets for run in runs)]
    new = [name for name in names if name in drawn]
    if len(names) != 2 or len(new) != 1 or not known.issuperset(names):
        return None
    return next(name for name in names if name not in new), new[0]


def seen_before(runs: Sequence[Run], data: Sequence[str]) -> list[Seen]:
    """Return the tests of whether each model does better on published sentences; [] where none are beside new ones.

    All tests of a model are corrected together (Holm). Where there are several models, the first is also compared with
    each of the others.
    """
    chosen = new_and_published(runs, data)
    if chosen is None:
        return []
    models = {name: _values(parts, chosen) for name, parts in by_dataset(runs, chosen).items()}
    level = runs[0].level
    tests = [test for name, frames in models.items() for test in _tests(name, frames, chosen, level)]
    first, *others = models
    for other in others:
        shared = {
            key: _beyond(frame, models[other][key]) for key, frame in models[first].items() if key in models[other]
        }
        tests += [replace(test, beyond=other) for test in _tests(first, shared, chosen, level)]
    return tests


def _tests(
    model: str, frames: Mapping[tuple[str, str], pd.DataFrame], data: tuple[str, str], level: float
) -> list[Seen]:
    """Return the tests of one model, corrected together."""
    made: list[Seen] = []
    for (task, measure), frame in frames.items():
        is_published = (frame["dataset"] == data[0]).to_numpy(dtype=bool)
        columns = [frame[name].to_numpy() for name in MATCHED]
        values, clusters = frame["value"].to_numpy(dtype=np.float64), frame["cluster"].to_numpy()
        width = 1.0 if measure == ACCURACY else 0.0
        adjusted = adjusted_difference(values, is_published, columns, clusters, level=level, width=width)
        if adjusted is not None:
            made.append(Seen(model, task, measure, data, adjusted, math.nan))
    p = CORRECTIONS["holm"](np.array([test.difference.p for test in made])).tolist() if made else []
    return [
        replace(
            test,
            adjusted=replace(test.adjusted, estimate=replace(test.difference, p_corrected=corrected)),
            detectable=test.adjusted.detectable(len(made)),
        )
        for test, corrected in zip(made, p, strict=True)
    ]


def _values(parts: Mapping[tuple[str, str], Part], data: tuple[str, str]) -> dict[tuple[str, str], pd.DataFrame]:
    """Return what is compared of every task that both datasets were asked as: a row for each item."""
    frames: dict[tuple[str, str], pd.DataFrame] = {}
    for task in dict.fromkeys(task for _, task in parts):
        both = [parts[name, task] for name in data if (name, task) in parts]
        if len(both) < 2:
            continue
        for measure in MEASURES:
            rows = [row for part in both for row in _rows(part, measure)]
            frame = pd.DataFrame(rows, columns=["dataset", "item", "value", "cluster", *MATCHED])
            if frame["dataset"].nunique() == 2:
                frames[task, measure] = frame
    return frames


def _rows(part: Part, measure: str) -> Iterator[tuple[str, str, float, str, str, str, str]]:
    """Yield the items of a part for which a measure is defined."""
    frame = part.run.examples
    examples = {example.id: example for example in examples_from_frame(frame[frame["dataset"] == part.dataset])}
    rests = _rests(part, examples) if measure == BITS else {}
    rows: Iterable[Any] = part.items.itertuples(index=False)
    for row, logprobs in zip(rows, part.outcomes.logprobs.tolist(), strict=True):
        example = examples.get(str(row.example_id))
        if example is None or (part.task == WHOLE) != (measure == BITS):
            continue
        if measure == ACCURACY:
            value = float(row.correct) if example.answerable else math.nan
        elif measure == MASS:
            value = float(row.candidate_mass)
        else:
            bits = [log / length for log, length in zip(logprobs, rests.get(example.id, ()), strict=False)]
            value = sum(bits) / len(bits) / math.log(2) if bits else math.nan
        if not math.isnan(value):
            item, groups = f"{row.example_id}\0{row.variant}", example.groups
            place = groups.get("position", "") if example.answerable else ""
            kind = " ".join((groups.get("type", ""), place, groups.get("form", "")))
            first, second = example.candidates[:2]
            yield part.dataset, item, value, f"{part.dataset}\0{row.cluster_id}", kind, first, second


def _rests(part: Part, examples: Mapping[str, Example]) -> dict[str, tuple[int, ...]]:
    """Return the number of characters of each side's words, from the pronoun on: those that the task scores."""
    asked = [examples[str(id)] for id in part.items["example_id"] if str(id) in examples]
    pairs = [(example.id, example.pair) for example in sentence_pairs(asked)]
    return {id: tuple(len(rest) for rest in pair.rests) for id, pair in pairs if pair is not None}


def _beyond(frame: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """Return the items that both models were asked, with the difference of their values."""
    joined = frame.merge(other[["dataset", "item", "value"]], on=["dataset", "item"], suffixes=("", "_other"))
    return joined.assign(value=joined["value"] - joined["value_other"])
