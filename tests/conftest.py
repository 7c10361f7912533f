"""Fixtures that several test files share."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from equipoise.records import ABSENT, Outcomes

# Derandomised: a run of the tests on one commit always tries the same examples.
settings.register_profile("equipoise", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("equipoise")


@pytest.fixture(scope="session")
def real_data() -> Callable[[str], Path]:
    """Return a function that gives the folder of a real dataset, or skips; in CI a missing one is a failure."""

    def folder(name: str) -> Path:
        root = os.environ.get("EQUIPOISE_DATA")
        found = Path(root).expanduser() / name if root else None
        if found is not None and found.is_dir():
            return found.resolve()
        reason = f"needs the real {name}: set EQUIPOISE_DATA to the folder that holds a folder {name!r}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)

    return folder


@pytest.fixture(scope="session")
def make_outcomes() -> Callable[[Sequence[Mapping[str, Any]]], Outcomes]:
    """Return a function that makes Outcomes of rows: `pair` and `probs`, and what else of the item matters.

    `gold`, `answerable` (default: whether there is a gold answer), `variant`, `mass`; every other key is a group.
    """
    fields = ("pair", "probs", "gold", "answerable", "variant", "mass")

    def strings(values: Sequence[str]) -> Any:
        return np.array(list(values), dtype=object)

    def outcomes(rows: Sequence[Mapping[str, Any]]) -> Outcomes:
        probs = np.array([row["probs"] for row in rows], dtype=np.float64)
        names = list(dict.fromkeys(name for row in rows for name in row if name not in fields))
        masses = np.array([[row.get("mass", 1.0)] for row in rows])
        with np.errstate(divide="ignore"):
            logprobs = np.log(probs * masses)
        return Outcomes(
            example_id=strings([f"item-{number}" for number in range(len(rows))]),
            variant=strings([row.get("variant", "") for row in rows]),
            pair_id=strings([row["pair"] for row in rows]),
            probs=probs,
            logprobs=logprobs,
            gold=np.array([row.get("gold", ABSENT) for row in rows], dtype=np.int64),
            stereotype=np.full(len(rows), ABSENT, dtype=np.int64),
            answerable=np.array([row.get("answerable", "gold" in row) for row in rows], dtype=bool),
            groups={name: strings([row.get(name, "") for row in rows]) for name in names},
            flags=strings([""] * len(rows)),
        )

    return outcomes
