"""Where dataset files are: the user's own folder first, then the cache; and how they get into the cache, whole.

A file counts as there only under its final name, which it gets after its SHA-256 has been checked. What is on its
way is `<name>.part`; a transfer that broke off continues there.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock

from ..cache import cache_folder
from ..records import DatasetError
from .cards import CARDS, Card, CardFile, card_of
from .dataset import Fault

Report = Callable[[str, int, int], None]
"""Called with a file's name, the bytes of it that are there, and the bytes it has in all."""

ATTEMPTS = 3
TIMEOUT_S = 30.0
_BLOCK = 1 << 16


def cached_dataset_folder(name: str) -> Path:
    """Return where `fetch` puts that dataset by default; it need not exist."""
    return cache_folder() / "datasets" / _folder_name(name)


def _folder_name(name: str) -> str:
    return (CARDS[name].folder if name in CARDS else "") or name


def find_dataset_folder(name: str) -> Path:
    """Return the folder of a dataset: `EQUIPOISE_DATA/<name>` if there is one, else the cache, if it is complete."""
    if own := os.environ.get("EQUIPOISE_DATA"):
        folder = Path(own).expanduser() / _folder_name(name)
        if folder.is_dir():
            return folder
    folder = cached_dataset_folder(name)
    if all((folder / file.path).is_file() for file in card_of(name).files):
        return folder
    raise DatasetError(
        f"{name} is not on this machine: run `equipoise data fetch {name}`, "
        f"or put it into a folder {_folder_name(name)!r} in the folder that EQUIPOISE_DATA names"
    )


def file_faults(card: Card, folder: Path) -> list[Fault]:
    """Return a fault for each file of the card that the folder lacks, or has in another version, byte for byte."""
    faults = []
    for file in card.files:
        path = folder / file.path
        if not path.is_file():
            faults.append(Fault(file.path, "missing file", f"is not in {folder}", "read without it"))
        elif not _is_whole(path, file):
            what = f"differs from revision {card.revision[:12]} of {card.home}"
            faults.append(Fault(file.path, "another version", what, "read as it is"))
    return faults


def fetch(card: Card, *, to: Path | None = None, report: Report = lambda name, done, total: None) -> Path:
    """Return the folder (`to`, or the dataset's place in the cache) with all files of the card, downloading what lacks.

    Several processes may fetch at once: one downloads, the others wait and find the files there.
    """
    if not card.files:
        raise DatasetError(f"{card.name} has no files to fetch: it is {card.home}")
    folder = to or cached_dataset_folder(card.name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".fetch.lock"):
            for file in card.files:
                target = folder / file.path
                target.parent.mkdir(parents=True, exist_ok=True)
                if not (target.is_file() and _is_whole(target, file)):
                    _download(card, file, target, report)
                report(file.path, file.size, file.size)
    except OSError as error:
        raise DatasetError(f"cannot write into {folder}: {error.strerror or error}") from None
    return folder


def _download(card: Card, file: CardFile, target: Path, report: Report) -> None:
    """Make the file whole under its final name, or raise; what has come so far stays as the part."""
    url = _mirrored(card.url(file))
    part = target.with_name(f"{target.name}.part")
    resumed = _size(part) > 0
    for attempt in range(ATTEMPTS):
        _transfer(url, part, file, report, last=attempt == ATTEMPTS - 1)
        if _size(part) < file.size:
            continue
        if _is_whole(part, file):
            os.replace(part, target)
            return
        part.unlink()
        # A part left by an older run may be of another version: worth one clean start.
        if not resumed:
            raise DatasetError(f"{url} is not the file expected: its SHA-256 differs, so what came was deleted")
        resumed = False
    raise DatasetError(
        f"{url}: the transfer broke off {ATTEMPTS} times, last after {_size(part)} of {file.size} bytes; "
        "the same command continues it"
    )


def _transfer(url: str, part: Path, file: CardFile, report: Report, *, last: bool) -> None:
    """Append to the part what the server sends; a connection that breaks midway is no error unless nothing came."""
    have = _size(part)
    if have >= file.size:
        return
    request = urllib.request.Request(url, headers={"User-Agent": "equipoise"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        with _opened(url, request, part) as response, part.open("ab") as out:
            continues = response.status == 206 and _range_start(response) == have
            if not continues:
                out.truncate(0)
                out.seek(0)
            _copy(response, out, file, report)
    except _TransferError as error:
        if last and not _size(part):
            raise DatasetError(f"{url}: {error}") from None


class _TransferError(Exception):
    """The connection was there and then was not."""


@contextmanager
def _opened(url: str, request: urllib.request.Request, part: Path) -> Iterator[http.client.HTTPResponse]:
    """Yield the server's answer; a refusal is a DatasetError, a connection lost before it a broken transfer."""
    host = urllib.parse.urlsplit(url).netloc
    try:
        response = urllib.request.urlopen(request, timeout=TIMEOUT_S)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416:  # the part is longer than the file: of another version, so start clean
            part.unlink(missing_ok=True)
            raise _TransferError("the server has no such range") from None
        raise DatasetError(f"{url}: the server answered {error.code} {error.reason}") from None
    except urllib.error.URLError as error:
        reason = getattr(error.reason, "strerror", None) or error.reason
        raise DatasetError(
            f"cannot reach {host} ({reason}): check the network, or put the files where EQUIPOISE_DATA points"
        ) from None
    except (OSError, http.client.HTTPException) as error:
        raise _TransferError(str(error) or type(error).__name__) from None
    with response:
        yield response


def _range_start(response: http.client.HTTPResponse) -> int | None:
    """Return where the bytes of a partial answer start, from "bytes 100-199/200"; None if it does not say."""
    unit, _, rest = (response.headers.get("Content-Range") or "").partition(" ")
    start = rest.partition("-")[0]
    return int(start) if unit == "bytes" and start.isdecimal() else None


def _copy(response: http.client.HTTPResponse, out: BinaryIO, file: CardFile, report: Report) -> None:
    while True:
        have = out.tell()
        report(file.path, min(have, file.size), file.size)
        # One byte more than the file has: that is enough to know it for another, and never fills the disk.
        wanted = min(_BLOCK, file.size + 1 - have)
        if wanted <= 0:
            return
        try:
            block = response.read(wanted)
        except (OSError, http.client.HTTPException) as error:
            raise _TransferError(str(error) or type(error).__name__) from None
        if not block:
            return
        out.write(block)


def _mirrored(url: str) -> str:
    """Return the URL with scheme and host replaced by `EQUIPOISE_MIRROR`, where that is set."""
    parts = urllib.parse.urlsplit(url)
    if mirror := os.environ.get("EQUIPOISE_MIRROR"):
        url = mirror.rstrip("/") + parts.path
        parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise DatasetError(f"{url!r} is no http(s) address; is EQUIPOISE_MIRROR right?")
    return url


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _is_whole(path: Path, file: CardFile) -> bool:
    if path.stat().st_size != file.size:
        return False
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest() == file.sha256
