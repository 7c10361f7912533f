"""Files that are written whole or not at all."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ..cache import is_running, unfinished_by


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """Give a file beside the path to write into; it is renamed at the end, so a crash never leaves half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned(path.parent, path.name)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        with open(part, "rb+") as handle:
            os.fsync(handle.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    sync_folder(path.parent)


def write_file(path: Path, content: bytes) -> None:
    """Write a file beside its place and rename it: a crash leaves the old one or the new one, never half of one."""
    with written(path) as part:
        part.write_bytes(content)


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


def sha256(content: bytes) -> str:
    """Return the SHA-256 of the content, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def file_sha256(path: Path) -> str | None:
    """Return the SHA-256 of a file, in hexadecimal; None where it cannot be read."""
    try:
        with open(path, "rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()
    except OSError:
        return None


def remove_abandoned(folder: Path, name: str = "") -> None:
    """Remove files (or those of one name) that processes which no longer run were writing when they ended."""
    pattern = f".{glob.escape(name)}.*.part" if name else ".*.part"
    for file in folder.glob(pattern) if folder.is_dir() else ():
        writer = unfinished_by(file.name)
        if writer is not None and file.is_file() and not is_running(writer):
            file.unlink(missing_ok=True)
