"""Examples and outcomes as the tables of a run folder, without a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from equipoise.records import Example, Outcomes
from equipoise.runs.tables import column_rows, example_rows, outcome_columns, typed_frame


def examples_frame(dataset: str, examples: Sequence[Example]) -> pd.DataFrame:
    """Return the examples as `examples.parquet` holds them."""
    return typed_frame("examples.parquet", example_rows({dataset: examples}).table())


def outcomes_frame(key: Mapping[str, str], outcomes: Outcomes, derived: Mapping[str, Any]) -> pd.DataFrame:
    """Return the outcomes as `outcomes.parquet` holds them."""
    return typed_frame("outcomes.parquet", column_rows([outcome_columns(key, outcomes, derived)]).table())
