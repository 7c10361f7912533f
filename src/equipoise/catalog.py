"""Look a name up in a table one can read, then among the entry points other packages declare."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Mapping
from functools import cache, wraps
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from .records import EquipoiseError

Item = TypeVar("Item")
Made = TypeVar("Made")


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


def made(name: str, table: Mapping[str, Callable[..., Made]], *given: Any, kind: str) -> Made:
    """Return what the function of that name makes of what is given; one of a plug-in that fails is an error of its."""
    function = find(name, table, kind=kind)
    return function(*given) if name in table else explained(function, whose_is(name, kind=kind))(*given)


def whose_is(name: str, *, kind: str) -> str:
    """Return the name of a plug-in with the package that it comes with, for a sentence."""
    point = _plugins(kind, tuple(sys.path))[name]
    package = f"{point.dist.name} {point.dist.version}" if point.dist else point.value
    return f"the {kind} {name!r} of {package}"


def explained(function: Callable[..., Made], whose: str, advice: str = "") -> Callable[..., Made]:
    """Return a function whose errors say whose they are, and where they were raised."""

    @wraps(function)
    def careful(*given: Any, **options: Any) -> Made:
        try:
            return function(*given, **options)
        except (EquipoiseError, MemoryError):
            raise
        except Exception as error:  # anybody's code
            message = " ".join(f"{type(error).__name__}: {error}".split()).strip(": ")
            place, end = _place(error.__traceback__), advice and f"; {advice}"
            raise EquipoiseError(f"{whose} raised {message}{place}{end}") from error

    return careful


def _place(trace: TracebackType | None) -> str:
    """Return where in the function an error was raised; "" where that is not known, as of compiled code."""
    inside = trace and trace.tb_next
    return f" ({Path(inside.tb_frame.f_code.co_filename).name}, line {inside.tb_lineno})" if inside else ""


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
