"""Where dataset files are: the user's own folder first, then the cache; and how they get into the cache.

pooch downloads a file into a work folder and checks its SHA-256; only then it gets its final name.
"""

from __future__ import annotations

import os
import re
import shutil
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from ..cache import WORK, cache_folder
from ..files import at_home, file_sha256
from ..progress import Progress, silent
from ..records import DatasetError
from .cards import CARDS, Card, CardFile, card_of
from .dataset import Fault

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
    if root := os.environ.get("EQUIPOISE_DATA"):
        folder = at_home(root) / _folder_name(name)
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
    """Return a fault for each file of the card that is missing from the folder, or differs from the pinned version."""
    faults = []
    for file in card.files:
        path = folder / file.path
        if not path.is_file():
            faults.append(Fault(file.path, "missing file", f"is not in {folder}", "read without it"))
        elif not _is_whole(path, file):
            what = f"differs from revision {card.revision[:12]} of {card.home}"
            faults.append(Fault(file.path, "another version", what, "read as it is"))
    return faults


def fetch(card: Card, *, to: Path | None = None, report: Progress = silent) -> Path:
    """Return the folder (`to`, or the dataset's place in the cache) with all files of the card.

    Missing and altered files are downloaded. Several processes may fetch at once: one downloads, the others wait.
    """
    if not card.files:
        raise DatasetError(f"{card.name} has no files to fetch: it is {card.home}")
    folder = to or cached_dataset_folder(card.name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".fetch.lock"), _work_folder(folder) as work:
            for file in card.files:
                target = folder / file.path
                if not (target.is_file() and _is_whole(target, file)):
                    _download(_mirrored(card.url(file)), work / target.name, file, report)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    os.replace(work / target.name, target)
                report(file.path, file.size, file.size)
    except OSError as error:
        raise DatasetError(f"cannot write into {folder}: {error.strerror or error}") from None
    return folder


@contextmanager
def _work_folder(folder: Path) -> Iterator[Path]:
    """Give a folder to download into, without what a killed download left there: the lock says that none runs."""
    work = folder / f"{WORK}fetch"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _download(url: str, target: Path, file: CardFile, report: Progress) -> None:
    """Write the file once its SHA-256 has been checked, or raise."""
    import pooch
    from requests import ConnectionError, HTTPError, RequestException, Timeout

    pooch.get_logger().setLevel("WARNING")
    progress = _Progress(report, file)
    downloader = pooch.HTTPDownloader(progressbar=progress, chunk_size=_BLOCK, timeout=TIMEOUT_S)
    for attempt in range(1, ATTEMPTS + 1):
        progress.reset()
        try:
            pooch.retrieve(url, f"sha256:{file.sha256}", fname=target.name, path=target.parent, downloader=downloader)
        except HTTPError as error:
            answer = error.response
            reason = f"{answer.status_code} {answer.reason}" if answer is not None else "with an error"
            raise DatasetError(f"{url}: the server answered {reason}") from None
        except (ConnectionError, Timeout) as error:
            if attempt == ATTEMPTS:
                raise DatasetError(_unreachable(url, error)) from None
        except RequestException as error:  # the connection broke off
            if attempt == ATTEMPTS:
                reason = f"the transfer broke off {ATTEMPTS} times; run the same command again"
                raise DatasetError(f"{url}: {reason} ({type(error).__name__})") from None
        except ValueError:  # pooch's word for a wrong hash
            raise DatasetError(f"{url}: not the expected file (its SHA-256 differs), so it was deleted") from None
        else:
            return


@dataclass
class _Progress:
    """What pooch takes for a progress bar; `report` hears how many bytes have arrived."""

    report: Progress
    file: CardFile
    total: int = 0
    done: int = 0

    def update(self, size: int) -> None:
        """Count a block."""
        self.done = min(self.done + size, self.file.size)
        self.report(self.file.path, self.done, self.file.size)

    def reset(self) -> None:
        """Start again."""
        self.done = 0

    def close(self) -> None:
        """Do nothing: `fetch` reports the end of every file."""


def _unreachable(url: str, error: Exception) -> str:
    """Return a sentence that says which host did not answer, and why."""
    from requests import Timeout

    last = re.sub(r"^\[Errno -?\d+\] ", "", str(error).rstrip("\"')>").rpartition(": ")[2])
    reason = f"timed out after {TIMEOUT_S:g} seconds" if isinstance(error, Timeout) else last
    host = urllib.parse.urlsplit(url).netloc
    return f"cannot reach {host} ({reason}): check the network, or put the files where EQUIPOISE_DATA points"


def _mirrored(url: str) -> str:
    """Return the URL with scheme and host replaced by `EQUIPOISE_MIRROR`, where that is set."""
    parts = urllib.parse.urlsplit(url)
    if mirror := os.environ.get("EQUIPOISE_MIRROR"):
        url = mirror.rstrip("/") + parts.path
        parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise DatasetError(f"{url!r} is not an http(s) address; check EQUIPOISE_MIRROR")
    return url


def _is_whole(path: Path, file: CardFile) -> bool:
    return path.stat().st_size == file.size and file_sha256(path) == file.sha256
