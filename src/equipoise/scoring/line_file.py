"""Append-only files of lines, each with a checksum: one process writes at a time, and damaged lines are cut out."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

from filelock import BaseFileLock, FileLock, Timeout

from ..files import StrangeFile, plain_file, unlinked, written
from ..records import MovedFolderError, RunError

LONGEST = 2**28
"""Bytes of a line at most; a batch of scores takes a few million."""


def read_lines(path: Path, accept: Callable[[bytes], bool]) -> int:
    """Give every line of the file to `accept`, and cut out those that it refuses; return how many were cut out.

    A line without its end was cut off by a crash, and is refused without asking.
    """
    position = count = 0
    damaged: list[tuple[int, int]] = []
    for line in lines_of(path):
        if not line.endswith(b"\n") or not accept(line):
            count += 1
            if damaged and damaged[-1][1] == position:
                damaged[-1] = (damaged[-1][0], position + len(line))
            else:
                damaged.append((position, position + len(line)))
        position += len(line)
    if damaged:
        _cut_out(path, damaged, size=position)
    return count


def read_whole(path: Path, accept: Callable[[bytes], bool]) -> None:
    """Give every line of the file to `accept`; RunError names one that it refuses."""
    for number, line in enumerate(lines_of(path), 1):
        if not accept(line):
            raise RunError(f"{path}: line {number} is damaged")


def lines_of(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, if it exists; RunError where one is longer than any of ours."""
    checked(path)
    if path.is_file():
        with open(path, "rb") as file:
            while line := file.readline(LONGEST):
                if len(line) == LONGEST:
                    raise RunError(f"{path} has a line of more than {LONGEST / 2**20:.0f} MiB, so it is not ours")
                yield line


def checked(path: Path) -> Path:
    """Return the path of a file that a run continues from; RunError where it is a link or a special file."""
    try:
        return plain_file(path.parent, path.name)
    except StrangeFile as error:
        raise RunError(f"{error.filename} {error.strerror}; a run folder holds plain files only") from None


def appended(path: Path) -> IO[bytes]:
    """Return the file opened to add lines to it; a second name of the file keeps what it had."""
    unlinked(checked(path))
    try:
        return open(path, "ab")
    except FileNotFoundError:
        raise MovedFolderError(path.parent) from None


def damage_note(path: Path, parts: int, kept: str) -> str:
    """Return the sentence that tells a user of damage that was cut out."""
    return f"{path.name}: removed {parts} damaged part{'s'[: parts > 1]}; {kept}"


def _cut_out(path: Path, damaged: Sequence[tuple[int, int]], *, size: int) -> None:
    """Remove these byte ranges from the file: in place at its end, by a new file elsewhere."""
    unlinked(path)
    (start, stop), *others = damaged
    if not others and stop == size:
        os.truncate(path, start)
        return
    starts, stops = zip(*damaged, strict=True)
    with written(path) as part, open(path, "rb") as old, open(part, "wb") as new:
        for start, stop in zip((0, *stops), (*starts, size), strict=True):
            old.seek(start)
            new.write(old.read(stop - start))


def hold(path: Path) -> BaseFileLock:
    """Return the lock file as a lock that this process holds; the error names the process that holds it already.

    The operating system releases the lock when the process ends, however it ends.
    """
    lock = FileLock(checked(path), timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise RunError(
            f"{path.parent} is being written by {_holder(path)}; wait for it, or choose another out"
        ) from None
    path.write_text(f"process {os.getpid()} on {socket.gethostname()}")
    return lock


def _holder(path: Path) -> str:
    try:
        return path.read_text().strip() or "another process"
    except OSError:  # Windows does not let others read a locked file
        return "another process"
