"""The switch of a folder from one state to the next: new files wait beside the old ones until its list names them.

A folder with such a list (`manifest.json`, `steps.json`) writes its new files as waiting ones, then replaces the list,
which names each with its SHA-256, then puts the files into their places. A crash before the list is replaced leaves
the old state, a crash after it the new one: the next command ends what was interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from urllib.parse import quote, unquote

from .files import file_sha256, sha256, sync_folder, write_file, written


def waiting(folder: Path, name: str) -> Path:
    """Return where a file waits until the folder's list names it."""
    return folder / f".{quote(name, safe='')}.next"


def write_waiting(folder: Path, name: str, content: bytes | Callable[[Path], None]) -> str:
    """Return the SHA-256 of a file that is written beside its place: from its content, or by a function."""
    place = waiting(folder, name)
    if isinstance(content, bytes):
        write_file(place, content)
        return sha256(content)
    with written(place) as part:
        content(part)
    return file_sha256(place) or ""


def current(folder: Path, name: str, expected: str | None) -> Path:
    """Return where the file with that hash is: beside its place after a crash, else in it."""
    place = waiting(folder, name)
    return place if expected is not None and file_sha256(place) == expected else folder / name


def settle(folder: Path, names: Iterable[str]) -> None:
    """Put the files that the list now names into their places."""
    for name in names:
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        waiting(folder, name).replace(place)
    sync_folder(folder)


def end_interrupted(folder: Path, named: Mapping[str, str]) -> None:
    """Put the files of a switch that a crash cut off into their places, and remove those that never counted."""
    for path in folder.glob(".*.next"):
        name = unquote(path.name.removeprefix(".").removesuffix(".next"))
        expected = named.get(name) if is_inside(name) else None
        if expected is not None and expected == file_sha256(path):
            settle(folder, [name])
        elif path.is_file():
            path.unlink()


def remove_unchanged(folder: Path, files: Mapping[str, str]) -> None:
    """Remove files that are still as they were written; one that somebody changed is left alone."""
    for name, digest in files.items():
        if is_inside(name) and file_sha256(folder / name) == digest:
            (folder / name).unlink()


def is_inside(name: str) -> bool:
    """Return whether a list's name for a file stays within its folder."""
    return not Path(name).is_absolute() and ".." not in Path(name).parts
