"""How much D and U differ between near-duplicate sentences of a run (UCerF paper, appendix G)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ...records import EquipoiseError, Estimate, Floats
from ...runs.run import Part, Run
from ...stats.bounded import mean_interval
from ..rules.near_duplicates import MOST, near_pairs, words_of
from .diversity import without_pronouns


@dataclass(frozen=True)
class NearDuplicates:
    """The near-duplicates of one dataset, task and type.

    `u` and `d` are mean absolute differences between near-duplicate sets, a group of near-duplicates counting once;
    None where there are none. `u_any` and `d_any` are those between any two sets. D is compared group by group.
    `table` has a row for each pair.
    """

    dataset: str
    task: str
    kind: str
    sets: int
    groups: int
    u: Estimate | None
    d: Estimate | None
    u_any: float
    d_any: float
    table: pd.DataFrame


def near_duplicates(run: Run, *, words: int = MOST, seed: int = 0) -> list[NearDuplicates]:
    """Return the near-duplicates of each dataset, task and type: sets that differ in at most `words` words."""
    if not 0 <= words <= MOST:
        raise EquipoiseError(f"near-duplicates differ in 0 to {MOST} words, not {words}")
    rows = [_of_kind(part, kind, words, seed) for part in run.parts if len(part.pairs) for kind in part.kinds]
    if not rows:
        raise EquipoiseError(f"{run.path} has no counterfactual sets, so there is nothing to compare")
    return rows


def _of_kind(part: Part, kind: str, words: int, seed: int) -> NearDuplicates:
    pairs = part.of_kind(part.pairs, kind)
    columns = [str(name) for name in pairs.columns if str(name) == "u" or str(name).startswith("d_")]
    values = pairs.groupby("set_id", sort=False)[columns].mean()
    examples = part.run.examples[part.run.examples["dataset"] == part.dataset].drop_duplicates("set_id")
    texts = examples.set_index("set_id")["text"].reindex(values.index).map(without_pronouns)
    near = near_pairs(texts, words)
    table = pd.DataFrame(_rows(values, texts.to_list(), near))
    labels = _components(len(values), near)
    firsts = np.array([labels[first] for first, _ in near], dtype=np.int64)
    level = part.run.level

    def estimate(column: str, width: float) -> Estimate | None:
        if not near:
            return None
        units = table.groupby(firsts)[column].mean().to_numpy(dtype=np.float64)
        return replace(mean_interval(units, (0.0, width), level=level, seed=seed), n=len(near))

    d_any = float(np.mean([_any_two(values[name].dropna().to_numpy()) for name in columns if name != "u"]))
    return NearDuplicates(
        dataset=part.dataset,
        task=part.task,
        kind=kind,
        sets=len(values),
        groups=len(set(firsts.tolist())),
        u=estimate("u_difference", 1.0),
        d=estimate("d_difference", 2.0),
        u_any=_any_two(values["u"].to_numpy()),
        d_any=d_any,
        table=table.assign(dataset=part.dataset, task=part.task, type=kind),
    )


def _rows(values: pd.DataFrame, texts: Sequence[str], near: Sequence[tuple[int, int]]) -> Iterator[dict[str, Any]]:
    groups = [name for name in values.columns if name != "u"]
    for first, second in near:
        a, b = values.iloc[first], values.iloc[second]
        yield {
            "first_set": values.index[first],
            "second_set": values.index[second],
            "words": ", ".join(sorted(words_of(texts[first]) ^ words_of(texts[second]))),
            "u_first": a["u"],
            "u_second": b["u"],
            "u_difference": abs(a["u"] - b["u"]),
            "d_difference": float(np.nanmean([abs(a[name] - b[name]) for name in groups])),
        }


def _components(count: int, pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Return the group of each sentence: near-duplicates of near-duplicates are in one."""
    labels = list(range(count))

    def root(place: int) -> int:
        while labels[place] != place:
            labels[place] = labels[labels[place]]
            place = labels[place]
        return place

    for first, second in pairs:
        labels[root(second)] = root(first)
    return [root(place) for place in range(count)]


def _any_two(values: Floats) -> float:
    """Return the mean absolute difference of two different values (Gini); NaN of fewer than two."""
    count = len(values)
    if count < 2:
        return float("nan")
    places = 2 * np.arange(1, count + 1) - count - 1
    return float(2 * (places * np.sort(values)).sum() / (count * (count - 1)))
