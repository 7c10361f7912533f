"""Outcomes that no model made: items with given log-probabilities, in sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from equipoise.records import Outcomes
from equipoise.uncertainty import renormalise


def outcomes_of(
    logprobs: np.ndarray, set_size: int, groups: Mapping[str, Sequence[str] | np.ndarray], **columns: Any
) -> Outcomes:
    """Return items with these log-probabilities, `set_size` after one another in a set.

    Unless `columns` say otherwise, the first candidate is right, and there is no stereotype.
    """
    items = len(logprobs)
    empty = np.full(items, "", dtype=object)
    usual = {
        "gold": np.zeros(items, dtype=np.int64),
        "stereotype": np.full(items, -1, dtype=np.int64),
        "answerable": np.ones(items, dtype=bool),
        "probs": renormalise(logprobs),
    }
    return Outcomes(
        example_id=np.array([f"e{number}" for number in range(items)], dtype=object),
        variant=empty,
        set_id=np.array([f"s{number // set_size}" for number in range(items)], dtype=object),
        logprobs=logprobs,
        groups={name: np.array(values, dtype=object) for name, values in groups.items()},
        flags=empty,
        **{**usual, **columns},
    )
