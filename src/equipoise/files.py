"""Files that are written whole or not at all, and folders that switch from one state to the next in one step.

A folder with a list of its files (`manifest.json`, `steps.json`) writes new ones as waiting ones, then replaces the
list, which names each with its SHA-256, then puts the files into their places. A crash before the list is replaced
leaves the old state, a crash after it the new one: the next command ends what was interrupted.
"""

from __future__ import annotations

import errno
import glob
import hashlib
import io
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePath
from typing import IO, Any, cast
from urllib.parse import quote, unquote

_UNFINISHED = re.compile(r"\..+\.(\d+)\.part")
"""A file that a process is writing: its name ends with the number of the process."""

MOST_HASHED = 2**34
"""Bytes of a file that is hashed: a terabyte of nothing takes no room on a disk, and an hour to read."""


class StrangeFile(OSError):
    """A link, a special file or a name that may lead out of a folder; nothing was read, written or removed there."""


def at_home(path: str | Path) -> Path:
    """Return a path with `~` as the home folder of a user; as it is where that user does not exist."""
    return Path(os.path.expanduser(path))


def nearest(path: Path) -> Path:
    """Return the path or, where nothing is there yet, the nearest folder above it that exists."""
    return next(place for place in (path, *path.absolute().parents) if place.exists())


def plain_file(folder: Path, name: str) -> Path:
    """Return the place of a file in a folder, which need not exist; StrangeFile where it is anything but a file there.

    No link on the way is followed: a folder from elsewhere must not reach what is outside of it.
    """
    if not is_inside(name):
        raise StrangeFile(errno.EINVAL, f"{name!r} is not a name within the folder", str(folder))
    place = folder
    *folders, _ = parts = PurePath(name).parts
    for number, part in enumerate(parts):
        place = place / part
        try:
            mode = os.lstat(place).st_mode
        except (FileNotFoundError, NotADirectoryError):
            break
        if not (stat.S_ISDIR(mode) if number < len(folders) else stat.S_ISREG(mode)):
            kind = "folder" if number < len(folders) else "file"
            raise StrangeFile(errno.EINVAL, f"is {_kind(mode)}, not a plain {kind}", str(place))
    return folder / name


def _kind(mode: int) -> str:
    kinds = {stat.S_IFLNK: "a link", stat.S_IFDIR: "a folder", stat.S_IFREG: "a file", stat.S_IFIFO: "a named pipe"}
    return kinds.get(stat.S_IFMT(mode), "a special file")


def read_plain(folder: Path, name: str, *, most: int) -> bytes:
    """Return the content of a plain file of a folder; StrangeFile where it is none, or has more than `most` bytes."""
    place = plain_file(folder, name)
    with _opened(place) as file:
        if os.fstat(file.fileno()).st_size > most:
            raise StrangeFile(errno.EFBIG, f"is larger than {most / 2**20:,.0f} MiB", str(place))
        return file.read()


def _opened(path: Path) -> io.BufferedReader:
    """Return a file opened for reading; StrangeFile where it is a special file, which may never end."""
    return open(path, "rb", opener=_descriptor)


def _descriptor(name: str, flags: int) -> int:
    # Without waiting: a pipe would wait for its writer.
    handle = os.open(name, flags | getattr(os, "O_NONBLOCK", 0))
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        raise StrangeFile(errno.EINVAL, f"is {_kind(mode)}, not a plain file", str(name))
    return handle


def unlinked(path: Path) -> None:
    """Give a file that has several names a content of its own, so that adding to it changes no other file."""
    if path.is_file() and path.stat().st_nlink > 1:
        with written(path) as part, open(path, "rb") as old, open(part, "wb") as new:
            shutil.copyfileobj(old, new, 2**20)


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """Give a file beside the path to write into; it is renamed at the end, so a crash never leaves half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned(path.parent, path.name)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.unlink(missing_ok=True)  # a link of that name would be written through
    try:
        yield part
        with open(part, "rb+") as handle:
            os.fsync(handle.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    sync_folder(path.parent)


def write_file(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Write a file beside its place and rename it: a crash leaves the old one or the new one, never half of one.

    What is large may be given in pieces.
    """
    with written(path) as part, open(part, "wb") as file:
        file.writelines([content] if isinstance(content, bytes) else content)


def write_together(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write files that belong together: a crash may leave some of them missing, never old ones beside new ones."""
    with ExitStack() as parts:
        for name, content in contents.items():
            parts.enter_context(written(folder / name)).write_bytes(content)
        if len(contents) > 1:
            for name in contents:
                (folder / name).unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder last: a rename is not on the disk before its folder is."""
    if os.name == "nt":  # pragma: no cover  (Windows cannot open folders)
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sha256(content: bytes | str) -> str:
    """Return the SHA-256 of the content, in hexadecimal; of a text that of its UTF-8."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def file_sha256(path: Path) -> str | None:
    """Return the SHA-256 of a file, in hexadecimal; None where it cannot be read, or is larger than any of ours."""
    try:
        with _opened(path) as handle:
            if os.fstat(handle.fileno()).st_size > MOST_HASHED:
                return None
            return hashlib.file_digest(handle, "sha256").hexdigest()
    except OSError:
        return None


def remove_abandoned(folder: Path, name: str = "") -> None:
    """Remove files (or those of one name) that processes which no longer run were writing when they ended."""
    pattern = f".{glob.escape(name)}.*.part" if name else ".*.part"
    for file in folder.glob(pattern) if folder.is_dir() else ():
        writer = _UNFINISHED.fullmatch(file.name)
        if writer and file.is_file() and not is_running(int(writer[1])):
            file.unlink(missing_ok=True)


def is_running(process: int) -> bool:
    """Return whether there is a process with that number."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def waiting(folder: Path, name: str) -> Path:
    """Return where a file waits until the folder's list names it."""
    return folder / f".{quote(name, safe='')}.next"


class _HashingFile(io.RawIOBase):
    """A new file, and the hash of what is written into it."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")
        self.digest = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._file.tell()

    def write(self, content: Any) -> int:
        self.digest.update(content)
        return self._file.write(content)

    def close(self) -> None:
        self._file.close()
        super().close()


def write_waiting(folder: Path, name: str, content: bytes | Callable[[IO[bytes]], None]) -> str:
    """Return the SHA-256 of a file that is written beside its place: from its content, or by a function."""
    with written(waiting(folder, name)) as part, _HashingFile(part) as file:
        if isinstance(content, bytes):
            file.write(content)
        else:
            content(cast(IO[bytes], file))
        return file.digest.hexdigest()


def current(folder: Path, name: str, expected: str | None) -> Path:
    """Return where the file with that hash is: beside its place after a crash, else in it."""
    place = waiting(folder, name)
    return place if expected is not None and file_sha256(place) == expected else folder / name


def settle(folder: Path, names: Iterable[str]) -> None:
    """Put the files that the list now names into their places."""
    for name in names:
        place = plain_file(folder, name)
        place.parent.mkdir(parents=True, exist_ok=True)
        waiting(folder, name).replace(place)
    sync_folder(folder)


def end_interrupted(folder: Path, named: Mapping[str, str]) -> None:
    """Put the files of a switch that a crash cut off into their places, and remove those that never counted."""
    for path in folder.glob(".*.next"):
        name = unquote(path.name.removeprefix(".").removesuffix(".next"))
        expected = named.get(name) if is_inside(name) else None
        if expected is not None and not path.is_symlink() and expected == file_sha256(path):
            settle(folder, [name])
        elif not path.is_dir() or path.is_symlink():
            path.unlink()


def remove_unchanged(folder: Path, files: Mapping[str, str]) -> None:
    """Remove files that are still as they were written; one that somebody changed is left alone."""
    for name, digest in files.items():
        if file_sha256(plain_file(folder, name)) == digest:
            (folder / name).unlink()


def is_inside(name: str) -> bool:
    """Return whether a list's name for a file stays within its folder."""
    parts = PurePath(name).parts
    return bool(parts) and not PurePath(name).is_absolute() and ".." not in parts and "\0" not in name


def replace_folder(out: Path, draft: Path) -> None:
    """Put a folder into the place of another in one step."""
    old = out.with_name(f".{out.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    if out.exists():
        out.rename(old)
    draft.rename(out)
    shutil.rmtree(old, ignore_errors=True)
