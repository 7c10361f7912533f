"""The folder of a tuning run: settings, learning curves, the checkpoint to resume from, and what was trained on."""

from __future__ import annotations

import csv
import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import torch

from ..records import Example
from ..runs.files import write_file
from ..scoring.lock import hold
from .counterfactual_set import TrainingSet
from .objective import TrainingError
from .training_sets import sentence_of

NAME = "training"
"""The folder beside the adapter's files."""


class TuneFolder:
    """What a tuning run keeps in OUT/training; every file is written beside its place and renamed."""

    def __init__(self, out: Path) -> None:
        self.out, self.path = out, out / NAME

    def begin(self, settings: Mapping[str, Any]) -> None:
        """Make the folder, or check that the one that is there belongs to the same settings."""
        file = self.path / "settings.json"
        if not file.is_file():
            # A folder without settings holds somebody else's files, or nothing.
            if self.out.is_dir() and any(self.out.iterdir()):
                raise TrainingError(
                    f"{self.out} is not empty and not the folder of a tuning run; give a new out folder"
                )
            self.path.mkdir(parents=True, exist_ok=True)
            self.write_json("settings.json", settings)
        self._lock = hold(self.path / "lock")
        before = json.loads(file.read_text(encoding="utf-8"))
        now = json.loads(json.dumps(settings))
        different = [name for name in now if before.get(name) != now[name]]
        if different:
            name = different[0]
            raise TrainingError(
                f"{self.out} was begun with {name} {before.get(name)}, not {now[name]}; give a new out folder"
            )

    @property
    def report(self) -> dict[str, Any] | None:
        """The report of a finished run, None before."""
        file = self.path / "report.json"
        return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None

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
        target = self.path / "checkpoint.pt.part"
        with open(target, "wb") as file:
            torch.save(dict(state), file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(target, self.path / "checkpoint.pt")

    def checkpoint(self) -> dict[str, Any] | None:
        """Return the checkpoint to go on from, None where there is none."""
        file = self.path / "checkpoint.pt"
        if not file.is_file():
            return None
        try:
            return dict(torch.load(file, map_location="cpu", weights_only=True))
        except Exception as error:  # a damaged file raises many kinds
            raise TrainingError(f"{file} is damaged; delete it to begin again, or give a new out folder") from error

    def finish(self, report: Mapping[str, Any]) -> None:
        """Write the report and remove the checkpoint, which nothing needs any more."""
        self.write_json("report.json", report)
        self._lock.release()
        (self.path / "checkpoint.pt").unlink(missing_ok=True)

    def write_trained_on(self, sets: Iterable[TrainingSet]) -> None:
        """Write a hash of every sentence that is trained or validated on, so that an evaluation can check itself."""
        hashes = sorted({sentence_hash(member) for item in sets for member in item.members})
        write_file(self.path / "trained_on.txt", "".join(f"{line}\n" for line in hashes).encode())


def sentence_hash(example: Example) -> str:
    """Return a hash of the example's sentence with the pronoun blanked."""
    return hashlib.sha256(sentence_of(example).encode()).hexdigest()[:16]


def trained_on(adapter: Path, examples: Iterable[Example]) -> list[Example]:
    """Return the examples whose sentence the adapter was trained on; an evaluation should have none."""
    file = adapter / NAME / "trained_on.txt"
    if not file.is_file():
        raise TrainingError(f"{adapter} does not say what it was trained on: it has no {NAME}/trained_on.txt")
    known = set(file.read_text(encoding="utf-8").split())
    return [example for example in examples if sentence_hash(example) in known]
