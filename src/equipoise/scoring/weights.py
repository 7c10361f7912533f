"""The hash of a model's weights, part of the key of every score."""

from __future__ import annotations

import hashlib
import json
import os
import re
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ..cache import cache_folder
from ..files import sha256, write_file
from ..records import ModelError

SEAL = "sha256.json"
"""File in a sealed folder that holds the hash of every other file."""


CHECKED = {True: "content", False: "size, times and inode since its content was read"}
"""How it was made sure that weights are those of their hash: by reading them in this process, or by what is known."""

_read_here: dict[str, str] = {}
"""The hashes of files whose content was read in this process, by what tells a changed file from the same one."""


def file_sha256(path: Path, *, content: bool = False) -> str:
    """Return the SHA-256 of a file's content, which is read once for each change of its size, times or inode.

    With `content` it is read once in every process: whoever sets the time of a changed file back is found out. A hub's
    cache names its files by their hash; a file that does not match its name is an error.
    """
    target = Path(os.path.realpath(path))
    digest = _remembered_sha256(target, content=content)
    if target.parent.name == "blobs" and re.fullmatch(r"[0-9a-f]{64}", target.name) and digest != target.name:
        raise ModelError(f"{path} is damaged: its content does not match its hash; delete {target} to fetch it again")
    return digest


def seal(folder: Path) -> None:
    """Write the hashes of all files of a folder into it."""
    hashes = {file.name: file_sha256(file) for file in sorted(folder.iterdir())}
    (folder / SEAL).write_text(json.dumps(hashes, indent=1))


def is_intact(folder: Path) -> bool:
    """Return whether a folder is sealed, and the content of all its files is as it was then."""
    try:
        hashes = json.loads((folder / SEAL).read_text())
        files = {folder / name: digest for name, digest in hashes.items()}
        return bool(files) and all(file_sha256(file, content=True) == digest for file, digest in files.items())
    except (OSError, ValueError, AttributeError):
        return False


def _remembered_sha256(target: Path, *, content: bool) -> str:
    status = target.stat()
    # The time of the last change of any kind, too: programs can set the other one back.
    stamp = f"{target}:{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}:{status.st_ino}"
    if stamp in _read_here:
        return _read_here[stamp]
    note = cache_folder() / "hashes" / sha256(stamp)
    remembered = None if content else _intact_note(note)
    if remembered:
        return remembered
    with open(target, "rb") as handle:
        digest = hashlib.file_digest(handle, "sha256").hexdigest()
    _read_here[stamp] = digest
    with suppress(OSError):  # without a cache, hashing only takes longer
        write_file(note, _note(digest).encode())
    return digest


def _note(digest: str) -> str:
    return f"{digest} {zlib.crc32(digest.encode()):08x}"


def _intact_note(note: Path) -> str | None:
    """Return the hash that a note remembers, None where there is none or it is damaged."""
    try:
        digest, _, _ = (content := note.read_text()).partition(" ")
    except (OSError, ValueError):
        return None
    return digest if content == _note(digest) and len(digest) == 64 else None


def weights_sha256(files: Sequence[Path], *, content: bool = False) -> str:
    """Return one hash for a model's weight files, whatever their names are; with `content` all of them are read."""
    if not files:
        raise ModelError("the model has no weight files")
    digests = [file_sha256(file, content=content) for file in files]
    return digests[0] if len(digests) == 1 else sha256(json.dumps(digests))
