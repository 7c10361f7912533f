"""The folder of a tuning run: settings, learning curves, the checkpoint to resume from, and what was trained on."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import torch

from ..datasets.exposure import TRAINED_ON, sentence_hash
from ..datasets.exposure import trained_on as trained_on
from ..files import remove_abandoned, sync_folder, write_file, written
from ..scoring.line_file import hold
from .objective import TrainingError
from .training_sets import TrainingSet

NAME = TRAINED_ON.parent.name
"""The folder beside the adapter's files."""

LOCK = "lock"
_OF_A_BEGINNING = re.compile(r"lock|\.settings\.json\.\d+\.part")
"""Files of a run that was killed before it had written its settings."""

SAVED = "saved"
"""The folder in which the model's files are written before they are moved to their places."""

CONFIGURATIONS = ("adapter_config.json", "config.json")


class TuneFolder:
    """What a tuning run keeps in OUT/training; every file is written beside its place and renamed."""

    def __init__(self, out: Path) -> None:
        self.out, self.path = out, out / NAME

    @contextmanager
    def begun(self, settings: Mapping[str, Any]) -> Iterator[None]:
        """Make the folder, or check that the one that is there belongs to the same settings; hold it until the end."""
        file = self.path / "settings.json"
        remove_abandoned(self.path)
        if not file.is_file() and self._holds_other_files():
            raise TrainingError(f"{self.out} is not empty and not the folder of a tuning run; give a new out folder")
        self.path.mkdir(parents=True, exist_ok=True)
        lock = hold(self.path / LOCK)
        try:
            if not file.is_file() or not self._has_trained():
                self.write_json(file.name, settings)
            before, now = self._read(file), json.loads(json.dumps(settings))
            for name in now:
                if before.get(name) != now[name]:
                    begun = f"{self.out} was begun with {name} {before.get(name)}, not {now[name]}"
                    raise TrainingError(f"{begun}; give a new out folder")
            yield
        finally:
            lock.release()

    def _holds_other_files(self) -> bool:
        """Return whether the out folder holds files of somebody else; a run that was killed at once leaves few."""
        paths = [path for path in self.out.rglob("*") if path.is_file()] if self.out.is_dir() else []
        return any(path.parent != self.path or not _OF_A_BEGINNING.fullmatch(path.name) for path in paths)

    def _has_trained(self) -> bool:
        """Return whether steps were taken; a run that failed before, by a mistyped name perhaps, may begin anew."""
        return any((self.path / name).is_file() for name in ("checkpoint.pt", "curves.csv", "report.json"))

    @property
    def report(self) -> dict[str, Any] | None:
        """The report of a finished run, None before."""
        file = self.path / "report.json"
        return self._read(file) if file.is_file() else None

    def _read(self, file: Path) -> dict[str, Any]:
        try:
            return dict(json.loads(file.read_text(encoding="utf-8")))
        except (ValueError, TypeError):
            raise TrainingError(f"{file} is damaged; give a new out folder") from None

    def write_json(self, name: str, content: Mapping[str, Any]) -> None:
        """Write a JSON file."""
        write_file(self.path / name, (json.dumps(content, indent=2) + "\n").encode())

    def write_rows(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write a CSV file; the first row names the columns."""
        content = StringIO()
        table = csv.DictWriter(content, fieldnames=list(rows[0]) if rows else [])
        table.writeheader()
        table.writerows(rows)
        write_file(self.path / name, content.getvalue().encode())

    def save_checkpoint(self, state: Mapping[str, Any]) -> None:
        """Write the checkpoint; a kill at any moment leaves the old one or the new one."""
        with written(self.path / "checkpoint.pt") as part:
            torch.save(dict(state), part)

    def checkpoint(self) -> dict[str, Any] | None:
        """Return the checkpoint to go on from, None where there is none."""
        file = self.path / "checkpoint.pt"
        if not file.is_file():
            return None
        try:
            return dict(torch.load(file, map_location="cpu", weights_only=True))
        except Exception as error:  # a damaged file raises many kinds
            raise TrainingError(f"{file} is damaged; delete it to begin again, or give a new out folder") from error

    def keep_model(self, write: Callable[[Path], None]) -> None:
        """Put the files that `write` makes into the out folder; a kill before the last leaves no model to load."""
        made = self.path / SAVED
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir()
        write(made)
        # A model or an adapter without its configuration is refused, so that one comes last.
        for file in sorted(made.iterdir(), key=lambda file: (file.name in CONFIGURATIONS, file.name)):
            with open(file, "rb+") as handle:
                os.fsync(handle.fileno())
            os.replace(file, self.out / file.name)
        sync_folder(self.out)
        made.rmdir()

    def finish(self, report: Mapping[str, Any]) -> None:
        """Write the report, with which the run is finished."""
        self.write_json("report.json", report)
        self.tidy()

    def tidy(self) -> None:
        """Remove what a finished run does not need: its checkpoint."""
        (self.path / "checkpoint.pt").unlink(missing_ok=True)

    def write_trained_on(self, sets: Iterable[TrainingSet]) -> None:
        """Write a hash of every sentence that is trained or validated on, so that an evaluation can check itself."""
        hashes = sorted({sentence_hash(member) for item in sets for member in item.members})
        write_file(self.out / TRAINED_ON, "".join(f"{line}\n" for line in hashes).encode())
