"""Words that mark a person's identity, by attribute and side: ours in `markers.toml`, or a user's own."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from .. import packaged
from ..records import DatasetError
from .rows import read_text

SIDES = ("privileged", "disadvantaged")
NEUTRAL = "neutral"
_KEYS = (*SIDES, NEUTRAL, "contrasts", "a", "an")


@dataclass(frozen=True, slots=True)
class Marker:
    """A word for an identity, its side (privileged, disadvantaged or neutral), and the "a" or "an" before it."""

    word: str
    attribute: str
    side: str
    article: str


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute, its markers, and which marker contrasts with which (both ways round)."""

    name: str
    markers: tuple[Marker, ...]
    contrasts: Mapping[str, tuple[Marker, ...]]

    @property
    def demographic(self) -> bool:
        """Whether its markers have sides; a neutral attribute is a baseline and is used only where it is named."""
        return any(marker.side != NEUTRAL for marker in self.markers)

    def crossed(self) -> Attribute:
        """Return the attribute with every privileged marker against every disadvantaged one."""
        return Attribute(self.name, self.markers, _crossed(self.markers))


def read_markers(path: Path | str | None = None) -> dict[str, Attribute]:
    """Return the attributes of a TOML file by name, ours without one; an error names the file and the line."""
    if path is None:
        text = packaged.text(__package__, "markers.toml")
        return _Reader("markers.toml", text).attributes()
    return _Reader(Path(path).name, read_text(Path(path))).attributes()


def choose(attributes: Mapping[str, Attribute], names: Sequence[str] | None, *, crossed: bool) -> list[Attribute]:
    """Return the attributes asked for, all that are demographic by default."""
    if names is None:
        chosen = [attribute for attribute in attributes.values() if attribute.demographic] or list(attributes.values())
    else:
        chosen = [_named(name.strip(), attributes) for name in dict.fromkeys(names)]
    return [attribute.crossed() for attribute in chosen] if crossed else chosen


def _named(name: str, attributes: Mapping[str, Attribute]) -> Attribute:
    # "body-type" and "body_type" are how a shell likes to have it.
    plain = {_plain(known): known for known in attributes}
    if _plain(name) in plain:
        return attributes[plain[_plain(name)]]
    close = difflib.get_close_matches(name, attributes, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(attributes)}"
    raise DatasetError(f"unknown attribute {name!r}; {hint}")


def _plain(name: str) -> str:
    return name.lower().replace("-", " ").replace("_", " ")


def _crossed(markers: Iterable[Marker]) -> dict[str, tuple[Marker, ...]]:
    by_side = {side: tuple(marker for marker in markers if marker.side == side) for side in SIDES}
    other = {SIDES[0]: by_side[SIDES[1]], SIDES[1]: by_side[SIDES[0]], NEUTRAL: ()}
    return {marker.word: other[marker.side] for marker in markers}


class _Reader:
    """The content of one file; what is wrong with it is said with its line."""

    def __init__(self, file: str, text: str) -> None:
        self._file, self._text = file, text
        try:
            self._content = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            line = getattr(error, "lineno", None) or _line_in(str(error)) or 1
            raise DatasetError(f"{file}:{line}: is not TOML ({getattr(error, 'msg', None) or error})") from None

    def attributes(self) -> dict[str, Attribute]:
        """Return the attributes of the file by name."""
        attributes = {name: self._attribute(name, fields) for name, fields in self._content.items()}
        if not attributes:
            raise DatasetError(f"{self._file}: names no attribute; write a section such as [age]")
        seen: dict[str, str] = {}
        for name, attribute in attributes.items():
            for marker in attribute.markers:
                if seen.setdefault(marker.word.lower(), name) != name:
                    raise self._error(name, marker.word, f"{marker.word!r} is in {seen[marker.word.lower()]!r} too")
        return attributes

    def _attribute(self, name: str, fields: Any) -> Attribute:
        if not isinstance(fields, dict):
            raise self._error(name, name, f"{name!r} is outside of a section; write [{name}] and its words below")
        unknown = [key for key in fields if key not in _KEYS]
        if unknown:
            raise self._error(name, unknown[0], f"{unknown[0]!r} is not one of {', '.join(_KEYS)}")
        sides = {side: self._words(name, side, fields[side]) for side in (*SIDES, NEUTRAL) if side in fields}
        if NEUTRAL in sides:
            if len(sides) > 1:
                raise self._error(name, NEUTRAL, f"[{name}] has neutral words and sides; it can have one or the other")
        elif set(sides) != set(SIDES):
            missing = next(side for side in SIDES if side not in sides)
            raise self._error(name, None, f"[{name}] has no {missing} words")
        a, an = (self._words(name, key, fields.get(key, [])) for key in ("a", "an"))
        markers = [
            Marker(word, name, side, _article(word, a=a, an=an)) for side, words in sides.items() for word in words
        ]
        repeated = [m.word for i, m in enumerate(markers) if m.word.lower() in {x.word.lower() for x in markers[:i]}]
        if repeated:
            raise self._error(name, repeated[0], f"duplicate {repeated[0]!r} in [{name}]", last=True)
        contrasts = _crossed(markers)
        if "contrasts" in fields:
            contrasts = self._contrasts(name, markers, fields["contrasts"])
        return Attribute(name, tuple(markers), contrasts)

    def _words(self, name: str, key: str, value: Any) -> list[str]:
        if not isinstance(value, list) or (not value and key in (*SIDES, NEUTRAL)):
            raise self._error(name, key, f'{key} must be a list of words such as ["young"]')
        for word in value:
            if not isinstance(word, str) or not word.strip() or word != " ".join(word.split()):
                raise self._error(name, key, f"{word!r} among the {key} words is not a word")
        return list(value)

    def _contrasts(self, name: str, markers: Sequence[Marker], value: Any) -> dict[str, tuple[Marker, ...]]:
        known = {marker.word: marker for marker in markers}
        against: dict[str, list[Marker]] = {marker.word: [] for marker in markers}
        for pair in value if isinstance(value, list) else [value]:
            if not isinstance(pair, list) or len(pair) != 2:
                raise self._error(name, "contrasts", 'contrasts must be pairs of words such as [["rich", "poor"]]')
            for word in pair:
                if word not in known:
                    raise self._error(name, "contrasts", f"{word!r} among the contrasts is not a marker of [{name}]")
            first, second = (known[word] for word in pair)
            if first.side == second.side:
                raise self._error(name, "contrasts", f"{first.word!r} and {second.word!r} are on the same side")
            against[first.word].append(second)
            against[second.word].append(first)
        return {word: tuple(others) for word, others in against.items()}

    def _error(self, section: str, what: str | None, why: str, *, last: bool = False) -> DatasetError:
        return DatasetError(f"{self._file}:{self._line(section, what, last=last)}: {why}")

    def _line(self, section: str, what: str | None, *, last: bool = False) -> int:
        """Return the line of a word or key within a section, that of the section's heading without one."""
        lines = self._text.split("\n")
        headings = {f"[{section}]", f'["{section}"]', f"['{section}']"}
        start = next((i for i, line in enumerate(lines) if line.split("#")[0].strip() in headings), None)
        if start is None or what is None:
            top = next((i for i, line in enumerate(lines) if line.strip().startswith((section, f'"{section}"'))), 0)
            return 1 + (top if start is None else start)
        end = next((i for i in range(start + 1, len(lines)) if lines[i].lstrip().startswith("[")), len(lines))
        hits = [i for i in range(start + 1, end) if _has(lines[i], what)]
        return 1 + (hits[-1 if last else 0] if hits else start)


def _has(line: str, what: str) -> bool:
    code = line.split("#")[0]
    return code.split("=")[0].strip() == what or f'"{what}"' in code or f"'{what}'" in code


def _line_in(message: str) -> int | None:
    """Return the line that Python's TOML reader names in its message."""
    words = message.replace(",", " ").split()
    return next((int(b) for a, b in pairwise(words) if a == "line" and b.isdigit()), None)


def _article(word: str, *, a: Sequence[str], an: Sequence[str]) -> str:
    if word in a or word in an:
        return "a" if word in a else "an"
    return "an" if word[0].lower() in "aeiou" else "a"
