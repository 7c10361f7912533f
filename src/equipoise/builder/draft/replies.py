"""A model's replies: their log, so that nothing is paid for twice, and the sentences in them.

A line of the log is a JSON object whose last field is the CRC-32 of the rest. Lines of earlier versions have none.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...files import write_file

_CHECKED = re.compile(r'^(\{.*), "crc32": "([0-9a-f]{8})"\}$', re.DOTALL)
_NUMBERED = re.compile(r"^\s*(?:[*_#>\s]*)(?:\(?\d{1,3}[.):\]]|\d{1,3}\s+[-–—])[*_]*\s*(.*)$")
_BULLET = re.compile(r"^\s*[-*•–]\s+(.*)$")
_QUOTES = "\"'“”‘’«»`"
_NOTE = re.compile(r"\s*(?:\((?:[^()]*)\)|[-–—]\s*(?:note|explanation|here|the pronoun)\b.*)\s*$", re.IGNORECASE)
_END = re.compile(r"[.!?…][\"'”’)\]]*$")

Row = Mapping[str, Any]


class ReplyLog:
    """The replies and refusals of one build folder, by the key of their request."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.replies: dict[str, Row] = {}
        self.refusals: dict[str, Row] = {}
        self.damaged: list[int] = []
        self._read()

    def _read(self) -> None:
        if not self.path.is_file():
            return
        text = self.path.read_bytes().decode("utf-8", errors="replace")
        lines = text.split("\n")
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            row = parse(line)
            # An unfinished last line is what a crash leaves; it is not damage.
            if row is None and number < len(lines):
                self.damaged.append(number)
            elif row is not None:
                self._add(row)

    def repair(self) -> str:
        """Remove damaged lines and an unfinished last line; return a note that names them, "" if none was damaged.

        Damaged lines are kept in `generations.damaged`. Their requests are asked again.
        """
        if not self.path.is_file():
            return ""
        content = self.path.read_bytes()
        lines = content.decode("utf-8", errors="replace").split("\n")
        if self.damaged:
            bad = [lines[number - 1] for number in self.damaged]
            with self.path.with_suffix(".damaged").open("a", encoding="utf-8", newline="\n") as out:
                out.write("\n".join(bad) + "\n")
            good = [line for line in lines if line.strip() and parse(line) is not None]
            write_file(self.path, "".join(f"{line}\n" for line in good).encode())
            numbers, self.damaged = ", ".join(map(str, self.damaged)), []
            return f"{self.path}: damaged lines ({numbers}) moved to {self.path.with_suffix('.damaged').name}"
        if content and not content.endswith(b"\n"):
            finished = parse(lines[-1]) is not None
            with self.path.open("r+b") as file:
                if finished:
                    file.seek(0, os.SEEK_END)
                    file.write(b"\n")
                else:
                    file.truncate(content.rfind(b"\n") + 1)
        return ""

    def append(self, row: Row) -> None:
        """Write a reply or a refusal to the disk; it counts from then on."""
        payload = json.dumps(row, ensure_ascii=False)
        line = f'{payload[:-1]}, "crc32": "{_checksum(payload[:-1])}"}}\n'
        with self.path.open("a", encoding="utf-8", newline="\n") as out:
            out.write(line)
            out.flush()
            os.fsync(out.fileno())
        self._add(row)

    def _add(self, row: Row) -> None:
        key = row["request"]["key"]
        if "reply" in row:
            self.replies[key] = row
            self.refusals.pop(key, None)
        elif key not in self.replies:
            self.refusals[key] = row


def _checksum(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


def parse(line: str) -> dict[str, Any] | None:
    """Return the row of a line, None if it is damaged."""
    checked = _CHECKED.match(line)
    if checked and checked[2] != _checksum(checked[1]):
        return None
    if not checked and '"crc32"' in line:
        return None
    try:
        row = json.loads(line)
        key, content = row["request"]["key"], row["reply"]["text"] if "reply" in row else row["refusal"]
    except (ValueError, KeyError, TypeError):
        return None
    return row if isinstance(key, str) and isinstance(content, str) else None


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
