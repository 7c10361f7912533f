"""Examples and outcomes as the tables of a run folder, without a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from equipoise.records import Example, Outcomes
from equipoise.runs.checked_tables import checked_table, frame_of
from equipoise.runs.tables import column_rows, example_rows, outcome_columns


def examples_table(dataset: str, examples: Sequence[Example]) -> Any:
    """Return the examples as an arrow table."""
    return checked_table("examples.parquet", example_rows({dataset: examples}).table())


def examples_frame(dataset: str, examples: Sequence[Example]) -> pd.DataFrame:
    """Return the examples as `examples.parquet` holds them."""
    return frame_of("examples.parquet", examples_table(dataset, examples))


def outcomes_table(key: Mapping[str, str], outcomes: Outcomes, derived: Mapping[str, Any]) -> Any:
    """Return the outcomes as an arrow table."""
    return checked_table("outcomes.parquet", column_rows([outcome_columns(key, outcomes, derived)]).table())


def outcomes_frame(key: Mapping[str, str], outcomes: Outcomes, derived: Mapping[str, Any]) -> pd.DataFrame:
    """Return the outcomes as `outcomes.parquet` holds them."""
    return frame_of("outcomes.parquet", outcomes_table(key, outcomes, derived))
