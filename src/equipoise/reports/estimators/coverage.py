"""How often the conformal sets of finished runs hold the right answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from ...measuring.conformal import coverage, is_calibratable
from ...records import Estimate, RunKey
from ...runs.measurements import span
from ...runs.run import Run
from ...stats.conformal import LEVEL
from ..comparison.matching import named_apart
from .studies import estimate_columns

Coverage = tuple[RunKey, Estimate]


def coverages(runs: Sequence[Path], *, level: float = 0.95) -> Iterator[Coverage]:
    """Yield the coverage of each part that has enough right answers to calibrate with."""
    for run in named_apart([Run(path) for path in runs]):
        for part in run.parts:
            if is_calibratable(part.outcomes):
                yield part.key, coverage(part.outcomes, level=level)


def coverage_sentence(covered: Coverage) -> str:
    """Return the coverage in words."""
    key, estimate = covered
    return (
        f"{key.model} on {key}: conformal sets hold the right answer in {span(estimate)} of {estimate.n:,} items;"
        f" they claim at least {LEVEL:.0%}."
    )


def coverage_table(covered: Sequence[Coverage]) -> pd.DataFrame:
    """Return the rows of `conformal.csv`."""
    return pd.DataFrame(
        [
            {"dataset": key.dataset, "task": key.task, "model": key.model, "claimed": LEVEL, **estimate_columns(row)}
            for key, row in covered
        ]
    )
