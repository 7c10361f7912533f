"""Cells that hold texts by name as JSON, checked and read a whole column at a time."""

from __future__ import annotations

import json
import re
from typing import Any

_TEXT = r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"'
_OBJECT = rf"^\{{(?:{_TEXT}: {_TEXT}(?:, {_TEXT}: {_TEXT})*)?\}}$"
"""An object of texts as we write it; one written otherwise may be right, too, and is read to see."""

SHAPES = 8
"""At most this number of different lists of names is looked for among cells before each cell is read."""


def check_objects(column: Any, name: str) -> None:
    """Raise ValueError where a cell of an arrow column is not texts by name, as JSON."""
    import pyarrow.compute as pc

    plain = pc.match_substring_regex(column, _OBJECT)
    for text in column.filter(pc.invert(plain)).unique().to_pylist():
        _object(text, name)


def object_names(column: Any, name: str) -> list[str]:
    """Return the names that the objects of an arrow column have, in order of first appearance; ValueError as above."""
    import pyarrow.compute as pc

    names: dict[str, None] = {}
    column = column.unique()
    # Most cells have the names of another one: they are known by these, without being read.
    for _ in range(SHAPES):
        if not len(column):
            break
        names |= dict.fromkeys(_object(column[0].as_py(), name))
        column = column.filter(pc.invert(pc.match_substring_regex(column, _shape(column[0].as_py()))))
    if pc.all(pc.match_substring_regex(column, _OBJECT)).as_py():
        # Texts are blanked first: a million cells then are a few.
        column = pc.replace_substring_regex(column, pattern=rf"({_TEXT}): {_TEXT}", replacement=r'\1: ""')
    objects = [_object(text, name) for text in column.unique().to_pylist()]
    return list(names | dict.fromkeys(key for texts in objects for key in texts))


def _shape(text: str) -> str:
    """Return a pattern of the objects that have the names of this one, in the same order."""
    return r"^\{" + ", ".join(f"{re.escape(key)}: {_TEXT}" for key in re.findall(rf"({_TEXT}): {_TEXT}", text)) + r"\}$"


def _object(text: str, name: str) -> dict[str, str]:
    try:
        cell = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(f"its {name} are not JSON") from None
    if not isinstance(cell, dict) or not all(isinstance(value, str) for value in cell.values()):
        raise ValueError(f"its {name} are not JSON objects of texts")
    return cell
