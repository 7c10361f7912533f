"""Cells that hold texts by name as JSON, checked a whole column at a time."""

from __future__ import annotations

import json
from typing import Any

_TEXT = r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"'
_OBJECT = rf"^\{{(?:{_TEXT}: {_TEXT}(?:, {_TEXT}: {_TEXT})*)?\}}$"
"""An object of texts as we write it; one written otherwise may be right, too, and is read to see."""


def check_objects(column: Any, name: str) -> None:
    """Raise ValueError where a cell of an arrow column is not texts by name, as JSON."""
    import pyarrow.compute as pc

    plain = pc.match_substring_regex(column, _OBJECT)
    for text in column.filter(pc.invert(plain)).unique().to_pylist():
        _object(text, name)


def _object(text: str, name: str) -> dict[str, str]:
    try:
        cell = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(f"its {name} are not JSON") from None
    if not isinstance(cell, dict) or not all(isinstance(value, str) for value in cell.values()):
        raise ValueError(f"its {name} are not JSON objects of texts")
    return cell
