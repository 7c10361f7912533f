"""Look a name up in a table one can read, then among the entry points other packages declare."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from .records import EquipoiseError

Item = TypeVar("Item")


def find(name: str, table: Mapping[str, Item], *, kind: str) -> Item:
    """Return the entry of that name; plug-ins come from the entry points `equipoise.<kind>s`."""
    if name in table:
        return table[name]
    plugins = _plugins(kind, tuple(sys.path))
    if name in plugins:
        try:
            item: Item = plugins[name].load()
        except Exception as error:  # anybody's code
            reason = f"{type(error).__name__}: {error}"
            raise EquipoiseError(f"the plug-in {plugins[name].value} for {kind} {name!r} fails: {reason}") from error
        row = next(iter(table.values()), item)
        if not callable(row) and not isinstance(item, type(row)):  # the function of a metric in place of its row
            raise EquipoiseError(
                f"the plug-in {plugins[name].value} for {kind} {name!r} is a {type(item).__name__}, not a row of the"
                f" class {type(row).__name__}"
            )
        return item
    known = sorted({*table, *plugins})
    meant = "".join(f"did you mean {close!r}?" for close in difflib.get_close_matches(name, known, n=1))
    raise EquipoiseError(f"unknown {kind} {name!r}; {meant or 'known: ' + ', '.join(known)}")


def package_of(name: str, *, kind: str) -> str:
    """Return the package that a plug-in comes with, and its version."""
    point = _plugins(kind, tuple(sys.path))[name]
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value


def names(table: Mapping[str, object], *, kind: str) -> list[str]:
    """Return all names that `find` knows, built-in ones first."""
    return [*table, *sorted(_plugins(kind, tuple(sys.path)).keys() - table.keys())]


@cache
def _plugins(kind: str, path: tuple[str, ...]) -> Mapping[str, EntryPoint]:
    """Return the entry points of a kind by name; the files of all installed packages are read once for each path."""
    return {point.name: point for point in entry_points(group=f"equipoise.{kind}s")}


def summary(name: str, table: Mapping[str, object], *, kind: str) -> str:
    """Return the first line of the entry's docstring; for a plug-in that cannot be loaded, the reason."""
    try:
        lines = (getattr(find(name, table, kind=kind), "__doc__", None) or "").strip().splitlines()
    except EquipoiseError as error:
        return str(error)
    return lines[0] if lines else ""
