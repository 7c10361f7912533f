"""What the tables of a run must hold: columns of the right kind, within what a run can have."""

from __future__ import annotations

import re
from typing import IO, Any

import pandas as pd

from ..records import Limits
from .json_cells import check_objects
from .tables import SUMMARIES

MOST_VALUES, MOST_BYTES = 10**9, 2**34
"""What a table may unpack to: a small file can hold a billion equal values."""

TEXTS = {
    "examples.parquet": ("dataset", "id", "text", "groups", "set_id", "cluster_id", "slots"),
    "outcomes.parquet": (
        *("model", "dataset", "task", "example_id", "variant", "set_id", "cluster_id", "sides", "flags"),
    ),
    "pairs.parquet": ("model", "dataset", "task", "set_id", "cluster_id", "variant"),
}
NUMBERS = {
    "outcomes.parquet": ("gold", "stereotype_index", "predicted", "correct", "perplexity", "candidate_mass"),
    "examples.parquet": ("gold", "stereotype"),
}
FLAGS = {"outcomes.parquet": ("answerable",), "examples.parquet": ("answerable",)}
LISTS = {"outcomes.parquet": ("probs", "logprobs")}
DERIVED = {
    "outcomes.parquet": re.compile(
        "first_named|good|correct|perplexity|candidate_mass|(certainty|desirability)(_.*)?|y|p|" + "|".join(SUMMARIES)
    ),
    "pairs.parquet": re.compile("[dc]_.*|u(_.*)?"),
    "examples.parquet": re.compile("good"),
}
"""Names of columns that hold numbers, where a table has them."""

TEXT_LISTS = {"examples.parquet": ("candidates",)}
OPTIONAL_LISTS = ("logprobs_with_marker", *Limits.COLUMNS.values())
"""Columns that hold lists of numbers, where a table has them. All columns without a name here are texts, or empty."""


def checked_table(name: str, table: Any) -> Any:
    """Return an arrow table of a run; ValueError names a column that is missing or of another kind."""
    import pyarrow.types as kinds

    def is_text(kind: Any) -> bool:
        return bool(kinds.is_string(kind) or kinds.is_large_string(kind))

    def is_number(kind: Any) -> bool:
        return bool(kinds.is_integer(kind) or kinds.is_floating(kind))

    def is_numbers(kind: Any) -> bool:
        return bool((kinds.is_list(kind) or kinds.is_large_list(kind)) and is_number(kind.value_type))

    def is_texts(kind: Any) -> bool:
        return bool((kinds.is_list(kind) or kinds.is_large_list(kind)) and is_text(kind.value_type))

    if len(set(table.column_names)) < len(table.column_names):
        raise ValueError("two columns have one name")
    if name in ("examples.parquet", "outcomes.parquet") and not table.num_rows:
        raise ValueError("it has no rows")
    needed = (
        *((TEXTS, is_text), (NUMBERS, is_number), (FLAGS, kinds.is_boolean)),
        *((LISTS, is_numbers), (TEXT_LISTS, is_texts)),
    )
    for columns, fits in needed:
        for column in columns.get(name, ()):
            if column not in table.column_names:
                raise ValueError(f"it has no column {column}")
            if not fits(table.schema.field(column).type):
                raise ValueError(f"its column {column} has values of another kind")
            if columns is not NUMBERS and table.column(column).null_count:
                raise ValueError(f"its column {column} has gaps")
    checked = {column for columns, _ in needed for column in columns.get(name, ())}
    for field in table.schema:
        if name in DERIVED and DERIVED[name].fullmatch(field.name):
            fitting = is_number(field.type) or kinds.is_boolean(field.type)
        elif field.name in OPTIONAL_LISTS:
            fitting = is_numbers(field.type)
        else:
            fitting = field.name in checked or is_text(field.type) or kinds.is_null(field.type)
        if not fitting:
            raise ValueError(f"its column {field.name} has values of another kind")
    if name == "examples.parquet":
        for column in ("groups", "slots"):
            check_objects(table.column(column), column)
    return table


def frame_of(name: str, table: Any) -> pd.DataFrame:
    """Return a checked table as the frame of a run."""
    frame: pd.DataFrame = table.to_pandas(ignore_metadata=True)
    if name == "examples.parquet":
        return frame.astype({"gold": "Int64", "stereotype": "Int64", "pair": object})
    return frame


def read_parquet(handle: IO[bytes]) -> Any:
    """Return the arrow table of a Parquet file; ValueError where it would unpack to more than any run has."""
    import pyarrow.parquet as pq

    facts = pq.read_metadata(handle)
    columns = [facts.row_group(i).column(j) for i in range(facts.num_row_groups) for j in range(facts.num_columns)]
    if sum(column.num_values for column in columns) > MOST_VALUES:
        raise ValueError(f"it has more than {MOST_VALUES:,} values")
    if sum(column.total_uncompressed_size for column in columns) > MOST_BYTES:
        raise ValueError(f"it unpacks to more than {MOST_BYTES / 2**30:.0f} GiB")
    handle.seek(0)
    # It is in memory already: reading ahead would take time and hold it once more.
    return pq.read_table(handle, use_threads=False, pre_buffer=False)
