"""Texts as JSON, as `json.dumps` writes them and faster: for data of a million sentences."""

from __future__ import annotations

from collections.abc import Mapping
from json.encoder import encode_basestring

MOST_KNOWN = 2**16
"""Texts whose quoted form is remembered: groups have a few hundred names and values, whatever the rows."""


class Quoted(dict[str, str]):
    """Each text as JSON; those that were asked for first are remembered."""

    def __missing__(self, text: str) -> str:
        quoted = encode_basestring(text)
        if len(self) < MOST_KNOWN:
            self[text] = quoted
        return quoted


def object_text(texts: Mapping[str, str], quoted: Quoted) -> str:
    """Return texts by name as JSON."""
    return "{" + ", ".join([f"{quoted[name]}: {quoted[text]}" for name, text in texts.items()]) + "}"
