"""Examples and Outcomes as tables, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np
import pandas as pd

from ..records import Example, Outcomes
from ..scoring.reductions import REDUCTIONS


def examples_frame(dataset: str, examples: Iterable[Example]) -> pd.DataFrame:
    """Return the examples as a table; groups, slots and sentence pairs are JSON, so that nothing is lost."""
    rows = [
        {
            "dataset": dataset,
            **{field.name: getattr(example, field.name) for field in fields(Example)},
            "candidates": list(example.candidates),
            "groups": json.dumps(dict(example.groups), ensure_ascii=False),
            "slots": json.dumps(dict(example.slots), ensure_ascii=False),
            "pair": None if example.pair is None else json.dumps(asdict(example.pair), ensure_ascii=False),
        }
        for example in examples
    ]
    return pd.DataFrame(rows).astype({"gold": "Int64", "stereotype": "Int64", "pair": object})


def outcomes_frame(key: Mapping[str, str], outcomes: Outcomes, derived: Mapping[str, Any]) -> pd.DataFrame:
    """Return the outcomes as a table: identity, groups, probabilities, and what was derived from them."""
    with_marker = outcomes.logprobs_with_marker
    columns: dict[str, Any] = {
        **key,
        "example_id": outcomes.example_id,
        "variant": outcomes.variant,
        "set_id": outcomes.set_id,
        "cluster_id": outcomes.cluster_id,
        "sides": outcomes.sides,
        **outcomes.groups,
        "answerable": outcomes.answerable,
        "gold": outcomes.gold,
        "stereotype_index": outcomes.stereotype,
        "predicted": outcomes.predicted,
        "probs": list(outcomes.probs),
        "logprobs": list(outcomes.logprobs),
        **({} if with_marker is None else {"logprobs_with_marker": list(with_marker)}),
        **outcomes.reductions,
        **derived,
        "flags": outcomes.flags,
    }
    return pd.DataFrame(columns, index=range(len(outcomes)))


def outcomes_from_frame(frame: pd.DataFrame, groups: Sequence[str]) -> Outcomes:
    """Return the outcomes of one dataset and task, read back from the table."""

    def text(name: str) -> Any:
        return frame[name].fillna("").to_numpy(dtype=object)

    marker = "logprobs_with_marker"
    return Outcomes(
        example_id=text("example_id"),
        variant=text("variant"),
        set_id=text("set_id"),
        cluster_id=text("cluster_id"),
        sides=text("sides"),
        probs=np.stack(frame["probs"].to_list()),
        logprobs=np.stack(frame["logprobs"].to_list()),
        gold=frame["gold"].to_numpy(dtype=np.int64),
        stereotype=frame["stereotype_index"].to_numpy(dtype=np.int64),
        answerable=frame["answerable"].to_numpy(dtype=bool),
        groups={name: text(name) for name in groups if name in frame and (text(name) != "").any()},
        flags=text("flags"),
        logprobs_with_marker=np.stack(frame[marker].to_list()) if _has_values(frame, marker) else None,
        reductions={name: frame[name].to_numpy(dtype=np.float64) for name in REDUCTIONS if _has_values(frame, name)},
    )


def _has_values(frame: pd.DataFrame, name: str) -> bool:
    """Return whether these rows have that column: another task's rows may have brought it into the table."""
    return name in frame and bool(frame[name].notna().all())


def group_names(examples: pd.DataFrame) -> list[str]:
    """Return the names of the groups that the examples have."""
    texts = examples["groups"].drop_duplicates()
    return list(dict.fromkeys(name for groups in texts for name in json.loads(groups)))
