"""Kept texts: anything that a module returns, written out to be read, and compared with what was kept of it.

`make accept` shows how the texts have changed, and keeps them.
"""

from __future__ import annotations

import difflib
import itertools
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from equipoise.records import Estimate, Measurement

KEPT = Path(__file__).resolve().parents[1] / "kept"
WIDTH = 116
MOST = 40
"""Of longer rows of plain numbers the first are written, and their sum."""

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")

MANY_DIGITS, NOISE = 4, 1e-8
"""Digits from which a fraction was computed, not chosen, and what such a number may be where it is nothing."""


def assert_kept(name: str, *values: Any, hide: Iterable[str] = ()) -> None:
    """Fail where the outline of some values is not the kept one; with EQUIPOISE_ACCEPT keep it, and show the change.

    `hide` are texts that differ from run to run, such as the path of a temporary folder.
    """
    text = rounded("\n\n".join(outline(value) for value in values)).strip() + "\n"
    for hidden in hide:
        text = text.replace(hidden, "…")
    text = re.sub(r"\b20\d\d-\d\d-\d\d(-\d\b)?([ T]\d\d:\d\d(:\d\d)?)?", "DATE", text)
    text = "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
    file = KEPT / f"{name}.txt"
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    if alike(text, before):
        return
    names = (f"{name} as it was", f"{name} as it is now")
    lines = difflib.unified_diff(before.splitlines(), text.splitlines(), *names, n=1, lineterm="")
    change = "\n".join(itertools.islice(lines, 200))
    if not os.environ.get("EQUIPOISE_ACCEPT"):
        raise AssertionError(f"{change}\n\nIf that is meant: `make accept` keeps it.")
    print(change)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def rounded(text: str) -> str:
    """Return a text whose long fractions have nine digits: processors differ in the last of sixteen."""
    return re.sub(r"-?\d+\.\d{10,}(e-?\d+)?", lambda number: f"{float(number[0]):.9g}", text)


def alike(text: str, other: str) -> bool:
    """Return whether two texts are the same but for the last digit of fractions: processors add up differently."""
    if NUMBER.split(text) != NUMBER.split(other):
        return False
    return all(map(_nearly, NUMBER.findall(text), NUMBER.findall(other)))


def _nearly(number: str, other: str) -> bool:
    """Return whether two written numbers are equal; of fractions with many digits, to the fifth of them."""
    digits = max(len(re.sub(r"e.*|\D", "", text).strip("0")) for text in (number, other))
    if number == other or digits < MANY_DIGITS or "." not in number + other:
        return number == other
    first, second = float(number), float(other)
    place = math.floor(math.log10(max(abs(first), abs(second)))) - 4
    return abs(first - second) <= max(1.01 * 10.0**place, NOISE)


def assert_lines_kept(name: str, lines: Mapping[str, Any]) -> None:
    """Fail where a named value is not the kept one; a new name is kept by the next `make accept`."""
    now = {key: re.sub(r"\n *", "; ", outline(value)).rstrip() for key, value in lines.items()}
    file = KEPT / f"{name}.txt"
    kept = (
        dict(line.partition(" = ")[::2] for line in file.read_text(encoding="utf-8").splitlines())
        if file.exists()
        else {}
    )
    if os.environ.get("EQUIPOISE_ACCEPT"):
        assert_kept(name, "\n".join(f"{key} = {value}" for key, value in now.items()))
        return
    changed = [f"{key} was {kept[key]}, and is {value}" for key, value in now.items() if kept.get(key, value) != value]
    assert not changed, "\n".join([*changed, "If that is meant: `make accept` keeps it."])


def outline(value: Any) -> str:
    """Return a value written out: one line where it is short, else its parts one under another, equal ones once."""
    line = _line(value)
    if isinstance(value, Estimate | Measurement):
        return str(line)
    if line is not None and len(line) <= WIDTH and "\n" not in line:
        return line
    if isinstance(value, str):
        return value
    if isinstance(value, pd.DataFrame):
        return value.to_csv(index=False, float_format="%.5g", lineterminator="\n").strip()
    return "\n".join(_repeated(_parts(value)))


def _repeated(parts: Iterable[str]) -> Iterator[str]:
    for part, same in itertools.groupby(parts):
        times = sum(1 for _ in same)
        yield part if times == 1 else f"{part}  ×{times}"


def _parts(value: Any) -> Iterator[str]:
    """Yield the parts of a value, each under its name."""
    if is_dataclass(value) and not isinstance(value, type):
        yield type(value).__name__
        yield from (_named(name, part) for name, part in _fields(value))
    elif isinstance(value, Mapping):
        yield from (_named(str(_line(key)), part) for key, part in value.items())
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        yield type(value).__name__
        yield from (_named(name, part) for name, part in zip(value._fields, value, strict=True))
    elif isinstance(value, np.ndarray) and value.ndim == 1:
        yield f"{value.size} values: {_line(list(value[:MOST]))}"
        if value.dtype.kind in "fiub":
            yield f"sum {_line(float(np.nansum(value)))}"
    elif isinstance(value, Iterable) and not isinstance(value, str):
        rows = sorted(value, key=str) if isinstance(value, set | frozenset) else list(value)
        if len(rows) > MOST and all(isinstance(row, int | float | np.number) for row in rows):
            rows = [*rows[:MOST], f"{len(rows)} with the sum {_line(math.fsum(rows))}"]
        elif len(rows) > MOST // 2 and all(_is_point(row) for row in rows):
            sums = [math.fsum(column) for column in zip(*rows, strict=True)]
            rows = [*rows[:3], "…", *rows[-2:], f"{len(rows)} points with the sums {_line(sums)}"]
        yield from (f"- {_indented(outline(row))}" for row in rows)
    else:
        yield str(_line(value))


def _is_point(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(part, int | float | np.number) for part in value)


def _named(name: str, part: Any) -> str:
    text = outline(part)
    return f"  {name}: {text}" if "\n" not in text else f"  {name}:\n    {_indented(text, 4)}"


def _indented(text: str, by: int = 2) -> str:
    return text.replace("\n", "\n" + " " * by)


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a record that are not what they are by default."""
    for field in fields(value):
        part = getattr(value, field.name)
        usual = field.default_factory() if field.default_factory is not MISSING else field.default
        if not field.name.startswith("_") and not (type(part) is type(usual) and _line(part) == _line(usual)):
            yield field.name, part


def _line(value: Any) -> str | None:
    """Return a value in one line; None where it is no such value."""
    match value:
        case Estimate():
            tested = "" if math.isnan(value.p) else f", p {value.p:.4g} ({value.p_corrected:.4g})"
            ends = f"[{_line(value.low)}, {_line(value.high)}] at {value.level:g}"
            return f"{_line(value.value)} {ends}, n {value.n}{tested}, {value.method}"
        case Measurement():
            where = " · ".join((value.model, value.dataset, value.task, value.group))
            return f"{value.metric} ({value.better}), {where}: {_line(value.estimate)}"
        case str():
            return value if value else '""'
        case None | bool() | np.bool_() | int():
            return str(value)
        case float() | np.floating():
            return f"{float(value):.5g}" if abs(value) > 1e-9 else "0"
        case np.integer():
            return str(int(value))
        case bytes():
            return f"{len(value)} bytes {value[:40]!r}"
        case Enum():
            return f"{type(value).__name__}.{value.name}"
        case re.Pattern():
            return f"/{value.pattern}/"
        case type():
            return value.__name__
        case Path():
            return value.name
        case pd.DataFrame():
            return None
        case Mapping():
            parts = [_line(part) for part in value.values()]
            pairs = [f"{_line(key)}: {part}" for key, part in zip(value, parts, strict=True)]
            return None if None in parts else "{" + ", ".join(pairs) + "}"
        case set() | frozenset():
            return "{" + ", ".join(sorted(map(str, map(_line, value)))) + "}"
        case list() | tuple() | range():
            parts = [_line(part) for part in value]
            return None if None in parts else f"({', '.join(map(str, parts))})"
        case np.ndarray():
            return None if value.size > MOST else _line(value.tolist())
    if is_dataclass(value):
        named = {name: _line(part) for name, part in _fields(value)}
        inner = ", ".join(f"{name}={part}" for name, part in named.items())
        return None if None in named.values() else f"{type(value).__name__}({inner})"
    if callable(value):
        return re.sub(r"<locals>\.", "", getattr(value, "__qualname__", type(value).__name__))
    text = str(value)
    return type(value).__name__ if " at 0x" in text else text
