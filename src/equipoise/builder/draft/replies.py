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
_NUMBERED = re.compile(
    r"^\s*[*_#>\s]*(?:(?:sentence|example)\s+\d{1,3}\s*[.):\]–—-]|\(?\d{1,3}[.):\]]|\d{1,3}\s+[-–—]|\(?[a-z][.)](?=\s))[*_]*\s*(.*)$",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^\s*[-*•–▪◦]\s+(.*)$")
_CELL = re.compile(r"^\s*\|(.*)\|\s*$")
_QUOTES = "\"'“”‘’„‚«»‹›`「」『』\u00a0"
_NOTE = re.compile(r"\s*(?:\((?:[^()]*)\)|[-–—]\s*(?:note|explanation|here|the pronoun)\b.*)\s*$", re.IGNORECASE)
_LABEL = re.compile(r"^(?:sentence|example|version)\s*\d*\s*[:–—-]\s*", re.IGNORECASE)
_END = re.compile(r"[.!?…][\"'”’“»›」』)\]*_`\u00a0]*$")
_REMARK = re.compile(
    r"^\W*(?:sure|certainly|of course|absolutely|okay|ok|great|here (?:are|is)|i (?:hope|can|have|will|tried|apolog)"
    r"|i'(?:ve|ll|m)|let me|feel free|please|would you|do you|these (?:sentences|are)|each (?:of|sentence)"
    r"|all (?:of )?(?:these|the) sentences|in (?:each|all|these)|note|as requested|hope|if you|that'?s|below"
    r"|this (?:is|sentence|list)|the (?:following|pronoun|sentences))\b",
    re.IGNORECASE,
)
_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL | re.IGNORECASE)
_FENCED = re.compile(r"```[\w-]*\n(.*?)```", re.DOTALL)

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
    if checked[2] != _checksum(checked[1]) if checked else '"crc32"' in line:
        return None
    try:
        row = json.loads(line)
        key, content = row["request"]["key"], row["reply"]["text"] if "reply" in row else row["refusal"]
    except (ValueError, KeyError, TypeError):
        return None
    return row if isinstance(key, str) and isinstance(content, str) else None


def sentences_of(reply: str, *, cut_off: bool = False) -> list[str]:
    """Return the sentences of a numbered, lettered or bullet list, a table, JSON, or plain lines.

    Greetings, closing remarks, headings, code fences, quotes, bold and notes in parentheses are removed. If the reply
    ran out of tokens (`cut_off`), an unfinished last sentence is dropped.
    """
    reply = _THOUGHT.sub("", reply)
    listed = _json_list(reply)
    if listed is None:
        lines = [line for line in reply.splitlines() if not line.strip().startswith("```")]
        listed = _items(lines, _NUMBERED) or _items(lines, _BULLET) or _cells(lines) or _lines(lines)
    sentences = [bare for item in listed if (bare := _bare(item)) and not bare.endswith(":")]
    if cut_off and sentences and not _END.search(sentences[-1]):
        sentences.pop()
    return sentences


def _json_list(reply: str) -> list[str] | None:
    """Return the texts of a JSON list: alone, in a code fence, or the only list of an object."""
    for inner in (reply.strip(), *(match[1].strip() for match in _FENCED.finditer(reply))):
        if not inner.startswith(("[", "{")):
            continue
        try:
            content = json.loads(inner)
        except ValueError:
            continue
        values = content.values() if isinstance(content, dict) else [content]
        lists = [value for value in values if isinstance(value, list)]
        if len(lists) == 1:
            return [text for item in lists[0] if (text := _text_in(item))]
    return None


def _text_in(item: Any) -> str:
    """Return the text of an item of JSON: itself, or the field that holds a sentence."""
    if isinstance(item, dict):
        item = next((item[name] for name in ("sentence", "text") if name in item), "")
    return item if isinstance(item, str) else ""


def _items(lines: list[str], mark: re.Pattern[str]) -> list[str]:
    """Return the items of the list; a line without a mark continues an unfinished item that it follows directly."""
    items: list[str] = []
    directly = False
    for line in lines:
        if match := mark.match(line):
            items.append(match[1])
            directly = True
        elif not line.strip():
            directly = directly and bool(items) and not items[-1]
        elif items and directly and not _END.search(items[-1].rstrip()) and not _is_remark(line):
            items[-1] = f"{items[-1]} {line.strip()}".strip()
        else:
            directly = False
    return items


def _cells(lines: list[str]) -> list[str]:
    """Return the longest cell of each row of a table that ends like a sentence."""
    rows = [match[1].split("|") for line in lines if (match := _CELL.match(line))]
    longest = [max((cell.strip() for cell in row), key=len) for row in rows]
    return [cell for cell in longest if _END.search(cell)]


def _lines(lines: list[str]) -> list[str]:
    return [line for line in lines if _END.search(line.strip()) and not _is_remark(line)]


def _is_remark(line: str) -> bool:
    """Return whether the line speaks about the list instead of continuing it."""
    text = line.strip()
    return text.endswith(":") or bool(_REMARK.match(text)) or text.startswith(("#", "---", "***", "==="))


def _bare(item: str) -> str:
    text = " ".join(item.split())
    # Bold and italics can surround the whole sentence or a word.
    text = re.sub(r"(\*\*|__)(.+?)\1", r"\2", text)
    text = re.sub(r"(?<!\w)([*_])(.+?)\1(?!\w)", r"\2", text)
    text = _LABEL.sub("", text.strip().strip("*_ ")).strip(_QUOTES).strip()
    without_note = _NOTE.sub("", text)
    if _END.search(without_note):
        text = without_note
    return text.strip(_QUOTES).strip()
