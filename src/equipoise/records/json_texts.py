"""Texts as JSON, as `json.dumps` writes them and faster: for data of a million sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from json.encoder import encode_basestring

MOST_KNOWN = 2**16
"""Texts whose quoted form is remembered: groups have a few hundred names and values, whatever the rows."""


def quoting() -> Callable[[str], str]:
    """Return a function that returns a text as JSON, and remembers it."""
    known: dict[str, str] = {}

    def quoted(text: str) -> str:
        found = known.get(text)
        if found is None:
            found = encode_basestring(text)
            if len(known) < MOST_KNOWN:
                known[text] = found
        return found

    return quoted


def object_text(texts: Mapping[str, str], quoted: Callable[[str], str] = encode_basestring) -> str:
    """Return texts by name as JSON, as `json.dumps` writes them."""
    return "{" + ", ".join([f"{quoted(name)}: {quoted(text)}" for name, text in texts.items()]) + "}"
