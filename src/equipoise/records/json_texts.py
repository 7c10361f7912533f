"""Texts as JSON, as `json.dumps` writes them and faster: for data of a million sentences."""

from __future__ import annotations

from collections.abc import Mapping
from json.encoder import encode_basestring

MOST_KNOWN = 2**16
"""Members and mappings that are remembered: where every example has its own, remembering all would only cost memory."""


class ObjectTexts:
    """Mappings of texts as JSON objects, in the order of their names if `ordered`.

    A mapping that many examples share is written once, so it must live, and stay as it is, as long as this.
    """

    def __init__(self, *, ordered: bool = False) -> None:
        self._ordered = ordered
        self._members = _Members()
        self._known: dict[int, str] = {}

    def __call__(self, mapping: Mapping[str, str]) -> str:
        written = self._known.get(id(mapping))
        if written is None:
            items = sorted(mapping.items()) if self._ordered else mapping.items()
            written = "{" + ", ".join([self._members[item] for item in items]) + "}"
            if len(self._known) < MOST_KNOWN:
                self._known[id(mapping)] = written
        return written


class _Members(dict[tuple[str, str], str]):
    """A name and its text as JSON; those that were asked for first are remembered."""

    def __missing__(self, member: tuple[str, str]) -> str:
        name, text = member
        written = f"{encode_basestring(name)}: {encode_basestring(text)}"
        if len(self) < MOST_KNOWN:
            self[member] = written
        return written
