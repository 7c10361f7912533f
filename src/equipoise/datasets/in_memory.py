"""Tables that are in memory already: a DataFrame, a list of dicts, a Dataset of the datasets library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..records import DatasetError
from .rows import Row, Rows

NAME = "data"
"""What a table without a file is called."""


def rows_in_memory(data: Any) -> Rows:
    """Return the rows of a table in memory; DatasetError where `data` is not one."""
    if hasattr(data, "to_dict") and hasattr(data, "columns"):  # pandas
        records = data.to_dict("records")
    elif hasattr(data, "to_list") and hasattr(data, "column_names"):  # datasets
        records = data.to_list()
    else:
        records = data
    if not isinstance(records, list | tuple) or not all(isinstance(record, Mapping) for record in records):
        kinds = "a name, a path, a Dataset, a DataFrame, a list of dicts or a datasets.Dataset"
        raise DatasetError(f"data must be {kinds}, not {type(data).__name__}")
    if not records:
        raise DatasetError("data has no rows")
    columns = tuple(dict.fromkeys(str(name) for record in records for name in record))
    rows = [
        Row(number, {str(name): _plain(cell) for name, cell in record.items()})
        for number, record in enumerate(records, start=1)
    ]
    return Rows(NAME, columns, tuple(rows))


def _plain(cell: Any) -> Any:
    """Return a cell as Python's own type: numpy's numbers have `item`, its arrays `tolist`; NaT and NA are None."""
    if hasattr(cell, "tolist"):
        return cell.tolist()
    return None if type(cell).__name__ in ("NAType", "NaTType") else cell
