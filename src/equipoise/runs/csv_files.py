"""CSV that a spreadsheet can open safely: no text of a dataset or a model becomes a formula."""

from __future__ import annotations

import re
from typing import IO, Any

import pandas as pd

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
"""What a spreadsheet takes for a formula, also behind the quotes that mark such a text as text."""
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def to_csv(frame: pd.DataFrame) -> bytes:
    """Return the table as CSV; texts that begin like a formula get a quote before them, numbers stay numbers."""
    frame = frame.rename(columns=_harmless)
    texts = [place for place, kind in enumerate(frame.dtypes) if not pd.api.types.is_numeric_dtype(kind)]
    for place in texts:
        name = frame.columns[place]
        frame = frame.assign(**{name: frame[name].map(_harmless)})
    return str(frame.to_csv(index=False, lineterminator="\n")).encode("utf-8", "backslashreplace")


def read_csv(file: IO[bytes]) -> pd.DataFrame:
    """Return a table that `to_csv` wrote."""
    frame = pd.read_csv(file)
    texts = [name for name, kind in frame.dtypes.items() if not pd.api.types.is_numeric_dtype(kind)]
    cells: dict[Any, Any] = {
        name: frame[name].map(lambda cell: original(cell) if isinstance(cell, str) else cell) for name in texts
    }
    return frame.assign(**cells).rename(columns=original)


def original(cell: str) -> str:
    """Return the text of a cell as it was before `to_csv`."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def _harmless(cell: Any) -> Any:
    if not isinstance(cell, str) or not _FORMULA.match(cell) or _NUMBER.fullmatch(cell):
        return cell
    return f"'{cell}"
