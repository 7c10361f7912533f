"""The sentences in a model's reply: numbered lists as models really write them."""

from __future__ import annotations

import json
import re

_NUMBERED = re.compile(r"^\s*(?:[*_#>\s]*)(?:\(?\d{1,3}[.):\]]|\d{1,3}\s+[-–—])[*_]*\s*(.*)$")
_BULLET = re.compile(r"^\s*[-*•–]\s+(.*)$")
_QUOTES = "\"'“”‘’«»`"
_NOTE = re.compile(r"\s*(?:\((?:[^()]*)\)|[-–—]\s*(?:note|explanation|here|the pronoun)\b.*)\s*$", re.IGNORECASE)
_END = re.compile(r"[.!?…][\"'”’)\]]*$")


def sentences_of(reply: str, *, cut_off: bool = False) -> list[str]:
    """Return the sentences of a numbered list, a list of bullets, a JSON list, or one a line, as written but bare.

    What a model writes around a list (greetings, headings, code fences, quotes, bold, a note in parentheses) goes.
    `cut_off` says that the reply ran out of tokens: a last sentence without an end is then left out.
    """
    listed = _json_list(reply)
    if listed is None:
        lines = [line for line in reply.splitlines() if line.strip() and not line.strip().startswith("```")]
        listed = (
            _items(lines, _NUMBERED) or _items(lines, _BULLET) or [line for line in lines if _END.search(line.strip())]
        )
    found = [bare for item in listed if (bare := _bare(item))]
    if cut_off and found and not _END.search(found[-1]):
        found.pop()
    return found


def _json_list(reply: str) -> list[str] | None:
    inner = re.sub(r"^\s*```\w*\s*|\s*```\s*$", "", reply.strip())
    if not inner.startswith("["):
        return None
    try:
        listed = json.loads(inner)
    except ValueError:
        return None
    return [item for item in listed if isinstance(item, str)] if isinstance(listed, list) else None


def _items(lines: list[str], mark: re.Pattern[str]) -> list[str]:
    """Return the list's items; an indented or lower-case line after one goes on with it."""
    items: list[str] = []
    for line in lines:
        if match := mark.match(line):
            items.append(match[1])
        elif items and items[-1] and not _END.search(items[-1]) and not line.rstrip().endswith(":"):
            items[-1] = f"{items[-1]} {line.strip()}"
        elif items and not items[-1]:
            items[-1] = line.strip()
    return items


def _bare(item: str) -> str:
    text = " ".join(item.split())
    # Bold and italics may stand around the whole or around a word; a bracket never does.
    text = re.sub(r"(\*\*|__)(.+?)\1", r"\2", text)
    text = re.sub(r"(?<!\w)([*_])(.+?)\1(?!\w)", r"\2", text)
    text = text.strip().strip(_QUOTES).strip()
    without_note = _NOTE.sub("", text)
    if _END.search(without_note):
        text = without_note
    return text.strip(_QUOTES).strip()
