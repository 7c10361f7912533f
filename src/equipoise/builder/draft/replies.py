"""The sentences in a reply: parses the numbered lists that models write."""

from __future__ import annotations

import json
import re

_NUMBERED = re.compile(r"^\s*(?:[*_#>\s]*)(?:\(?\d{1,3}[.):\]]|\d{1,3}\s+[-–—])[*_]*\s*(.*)$")
_BULLET = re.compile(r"^\s*[-*•–]\s+(.*)$")
_QUOTES = "\"'“”‘’«»`"
_NOTE = re.compile(r"\s*(?:\((?:[^()]*)\)|[-–—]\s*(?:note|explanation|here|the pronoun)\b.*)\s*$", re.IGNORECASE)
_END = re.compile(r"[.!?…][\"'”’)\]]*$")


def sentences_of(reply: str, *, cut_off: bool = False) -> list[str]:
    """Return the sentences of a numbered list, a bullet list, a JSON list, or plain lines.

    Greetings, headings, code fences, quotes, bold and notes in parentheses are removed. If the reply ran out of
    tokens (`cut_off`), an unfinished last sentence is dropped.
    """
    listed = _json_list(reply)
    if listed is None:
        lines = [line for line in reply.splitlines() if line.strip() and not line.strip().startswith("```")]
        listed = (
            _items(lines, _NUMBERED) or _items(lines, _BULLET) or [line for line in lines if _END.search(line.strip())]
        )
    sentences = [bare for item in listed if (bare := _bare(item))]
    if cut_off and sentences and not _END.search(sentences[-1]):
        sentences.pop()
    return sentences


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
    """Return the items of the list; a line without a mark continues an unfinished item."""
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
    # Bold and italics can surround the whole sentence or a word.
    text = re.sub(r"(\*\*|__)(.+?)\1", r"\2", text)
    text = re.sub(r"(?<!\w)([*_])(.+?)\1(?!\w)", r"\2", text)
    text = text.strip().strip(_QUOTES).strip()
    without_note = _NOTE.sub("", text)
    if _END.search(without_note):
        text = without_note
    return text.strip(_QUOTES).strip()
