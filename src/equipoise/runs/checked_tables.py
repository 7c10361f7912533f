"""What the tables of a run must hold: columns of the right kind, within what a run can have."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pandas as pd

from ..records import Limits
from .json_cells import check_objects
from .tables import SUMMARIES

MOST_VALUES, MOST_BYTES = 10**9, 2**34
"""What a table may unpack to: a small file can hold a billion equal values."""

MOST_COLUMNS = 10_000
"""Columns of a table at most: each group that a table has is one, and each is measured."""

TEXTS = {
    "examples.parquet": ("dataset", "id", "text", "groups", "set_id", "cluster_id", "slots"),
    "outcomes.parquet": (
        *("model", "dataset", "task", "example_id", "variant", "set_id", "cluster_id", "sides", "flags"),
    ),
    "pairs.parquet": ("model", "dataset", "task", "set_id", "cluster_id", "variant"),
}
NUMBERS = {
    "outcomes.parquet": ("gold", "stereotype_index", "predicted", "correct", "perplexity", "candidate_mass"),
}
INTEGERS = {"examples.parquet": ("gold", "stereotype")}
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

IDS = ("example_id", "set_id", "cluster_id")
"""Texts that differ from row to row."""

DERIVED_TEXTS = ("letters", "predicted_side")


def group_names(schema: Any) -> list[str]:
    """Return the names of the groups that `outcomes.parquet` has: all texts that are nothing else."""
    import pyarrow.types as kinds

    others = {*TEXTS["outcomes.parquet"], *DERIVED_TEXTS}
    return [f.name for f in schema if f.name not in others and (_is_text(f.type) or kinds.is_null(f.type))]


def checked_table(name: str, table: Any, columns: Sequence[str] = ()) -> Any:
    """Return an arrow table of a run; ValueError names a column that is missing or of another kind.

    `columns` are those that were read, where these are not all.
    """
    import pyarrow.types as kinds

    def is_number(kind: Any) -> bool:
        return bool(kinds.is_integer(kind) or kinds.is_floating(kind))

    def is_numbers(kind: Any) -> bool:
        return _is_list(kind) and is_number(kind.value_type)

    def is_texts(kind: Any) -> bool:
        return _is_list(kind) and _is_text(kind.value_type)

    if len(set(table.column_names)) < len(table.column_names):
        raise ValueError("two columns have one name")
    if name in ("examples.parquet", "outcomes.parquet") and not table.num_rows:
        raise ValueError("it has no rows")
    needed = (
        *((TEXTS, _is_text), (NUMBERS, is_number), (INTEGERS, kinds.is_integer), (FLAGS, kinds.is_boolean)),
        *((LISTS, is_numbers), (TEXT_LISTS, is_texts)),
    )
    checked = set()
    for named, fits in needed:
        for column in named.get(name, ()):
            if columns and column not in columns:
                continue
            if column not in table.column_names:
                raise ValueError(f"it has no column {column}")
            if not fits(table.schema.field(column).type):
                raise ValueError(f"its column {column} has values of another kind")
            if named not in (NUMBERS, INTEGERS) and table.column(column).null_count:
                raise ValueError(f"its column {column} has gaps")
            checked.add(column)
    for field in table.schema:
        if name in DERIVED and DERIVED[name].fullmatch(field.name):
            fitting = is_number(field.type) or kinds.is_boolean(field.type)
        elif field.name in OPTIONAL_LISTS:
            fitting = is_numbers(field.type)
        else:
            fitting = field.name in checked or _is_text(field.type) or kinds.is_null(field.type)
        if not fitting:
            raise ValueError(f"its column {field.name} has values of another kind")
    if name == "examples.parquet":
        for column in {"groups", "slots"} & checked:
            check_objects(_different_texts(table[column]), column)
    return table


def _is_list(kind: Any) -> bool:
    import pyarrow.types as kinds

    return bool(kinds.is_list(kind) or kinds.is_large_list(kind))


def _is_text(kind: Any) -> bool:
    import pyarrow.types as kinds

    kind = kind.value_type if kinds.is_dictionary(kind) else kind
    return bool(kinds.is_string(kind) or kinds.is_large_string(kind))


def frame_of(name: str, table: Any, *, categories: bool = False) -> pd.DataFrame:
    """Return a checked table as the frame of a run.

    With `categories` texts are these, but for ids, and lists of numbers are left out: a million of these take more
    memory than all else.
    """
    table = _with_categories(table) if categories else _decoded(table)
    frame: pd.DataFrame = table.to_pandas(ignore_metadata=True)
    if name == "examples.parquet":
        return frame.astype({"gold": "Int64", "stereotype": "Int64", "pair": object})
    return frame


def _decoded(table: Any) -> Any:
    """Return an arrow table with plain texts where it has numbers of different texts."""
    import pyarrow as pa
    import pyarrow.types as kinds

    plain = [f.with_type(f.type.value_type) if kinds.is_dictionary(f.type) else f for f in table.schema]
    return table.cast(pa.schema(plain))


def _with_categories(table: Any) -> Any:
    """Return an arrow table with numbers of different texts, but for ids, and without lists."""
    import pyarrow as pa
    import pyarrow.types as kinds

    columns = {}
    for field in table.schema:
        column = table[field.name]
        if field.name in IDS:
            columns[field.name] = column.cast(pa.string())
        elif not _is_list(field.type):
            is_plain = _is_text(field.type) and not kinds.is_dictionary(field.type)
            columns[field.name] = column.dictionary_encode() if is_plain else column
    return pa.table(columns)


def _different_texts(column: Any) -> Any:
    """Return the texts that an arrow column has, those that are read as numbers once."""
    import pyarrow as pa
    import pyarrow.types as kinds

    if not kinds.is_dictionary(column.type):
        return column
    return pa.chunked_array([chunk.dictionary for chunk in column.chunks], column.type.value_type)


def parquet_columns(content: bytes) -> list[str]:
    """Return the names of the columns of a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    return list(pq.read_schema(pa.BufferReader(content)).names)


def read_parquet(content: bytes, columns: Sequence[str] = ()) -> Any:
    """Return the arrow table of a Parquet file, or these columns, texts as numbers of different texts.

    ValueError where it would unpack to more than any run has.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq
    import pyarrow.types as kinds

    facts = pq.read_metadata(pa.BufferReader(content))
    if facts.num_columns > MOST_COLUMNS:
        raise ValueError(f"it has more than {MOST_COLUMNS:,} columns")
    parts = [facts.row_group(i).column(j) for i in range(facts.num_row_groups) for j in range(facts.num_columns)]
    if sum(part.num_values for part in parts) > MOST_VALUES:
        raise ValueError(f"it has more than {MOST_VALUES:,} values")
    if sum(part.total_uncompressed_size for part in parts) > MOST_BYTES:
        raise ValueError(f"it unpacks to more than {MOST_BYTES / 2**30:.0f} GiB")
    texts = [field.name for field in facts.schema.to_arrow_schema() if kinds.is_string(field.type)]
    # It is in memory already: reading ahead would take time and hold it once more.
    file = pq.ParquetFile(pa.BufferReader(content), read_dictionary=texts, pre_buffer=False)
    return file.read(list(columns) or None, use_threads=False)
