"""The log of a model's replies: append-only lines with a checksum each, so that nothing is paid for twice.

A line is a JSON object whose last field is the CRC-32 of the rest. Lines of earlier versions have none.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..steps import write_whole

_CHECKED = re.compile(r'^(\{.*), "crc32": "([0-9a-f]{8})"\}$', re.DOTALL)

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
            write_whole(self.path, "".join(f"{line}\n" for line in good))
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
