"""Wordings of the question from a TOML file: the one that comes with the package, or the user's own."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from ..records import EquipoiseError
from .wording import Wording

BUILT_IN = "built-in"
"""What names the file that comes with the package."""

_NEEDED, _OPTIONAL = ("name", "beginning", "choice"), ("instruction", "free", "alone")


def read_wordings(file: str | Path) -> tuple[Wording, ...]:
    """Return the wordings of a file, at least two, each with a name of its own."""
    if str(file) == BUILT_IN:
        text = resources.files(__package__).joinpath("wordings.toml").read_text(encoding="utf-8")
    else:
        try:
            text = Path(file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
            raise EquipoiseError(f"wordings {file} cannot be read: {str(reason).lower()}") from None
    try:
        rows = tomllib.loads(text).get("wording", [])
    except tomllib.TOMLDecodeError as error:
        raise EquipoiseError(f"wordings {file} is not TOML: {error}") from None
    if not isinstance(rows, list) or len(rows) < 2:
        raise EquipoiseError(f"wordings {file} needs at least two tables [[wording]]")
    wordings = tuple(_wording(row, f"{file}, wording {number}") for number, row in enumerate(rows, start=1))
    names = [wording.name for wording in wordings]
    duplicates = sorted({name for name in names if names.count(name) > 1})
    if duplicates:
        raise EquipoiseError(f"wordings {file}: duplicate name {duplicates[0]!r}")
    return wordings


def _wording(row: Any, place: str) -> Wording:
    if not isinstance(row, Mapping) or not all(isinstance(value, str) for value in row.values()):
        raise EquipoiseError(f"{place}: every key must be text")
    unknown = [key for key in row if key not in (*_NEEDED, *_OPTIONAL)]
    if unknown:
        raise EquipoiseError(f"{place}: unknown key {unknown[0]!r}; the keys are: {', '.join((*_NEEDED, *_OPTIONAL))}")
    missing = [key for key in _NEEDED if not row.get(key)]
    if missing:
        raise EquipoiseError(f"{place}: {missing[0]} is missing")
    if set(row["name"]) & set(",=|%"):
        raise EquipoiseError(f"{place}: the name {row['name']!r} must not have any of , = | %")
    return Wording.named(**row)
