"""The hash of a model's weights, part of the key of every score."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

from ..cache import cache_folder
from ..records import ModelError


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file; a hub's cache names its files by it, and then it is read off the name."""
    target = Path(os.path.realpath(path))
    if target.parent.name == "blobs" and re.fullmatch(r"[0-9a-f]{64}", target.name):
        return target.name
    status = target.stat()
    stamp = f"{target}:{status.st_size}:{status.st_mtime_ns}:{status.st_ino}"
    note = cache_folder() / "hashes" / hashlib.sha256(stamp.encode()).hexdigest()
    if note.is_file():
        return note.read_text()
    with open(target, "rb") as handle:
        digest = hashlib.file_digest(handle, "sha256").hexdigest()
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
        part = note.with_name(f"{note.name}.{os.getpid()}")
        part.write_text(digest)
        part.replace(note)
    except OSError:
        pass  # without a cache, hashing only takes longer
    return digest


def weights_sha256(files: Sequence[Path]) -> str:
    """Return one hash for a model's weight files, whatever their names are."""
    if not files:
        raise ModelError("the model has no weight files")
    digests = [file_sha256(file) for file in files]
    return digests[0] if len(digests) == 1 else hashlib.sha256(json.dumps(digests).encode()).hexdigest()
