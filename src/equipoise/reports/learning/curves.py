"""What a tuning run has learned, read from its folder."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...records import RunError

Point = tuple[float, float]
"""A step and a value."""


@dataclass(frozen=True)
class Curves:
    """The rows of a tuning run by step, its settings, and its report."""

    steps: Sequence[Mapping[str, float]]
    validations: Sequence[Mapping[str, float]]
    settings: Mapping[str, Any]
    report: Mapping[str, Any]

    @property
    def kept(self) -> int:
        """The step whose weights were kept."""
        return int(self.report["step"])

    @property
    def refused(self) -> bool:
        """Whether no step passed the guards, so that no weights were kept."""
        return bool(self.report.get("refused"))

    @property
    def validation_sets(self) -> int | None:
        """How many sets each validation asked; None in a folder that does not say."""
        count = self.report.get("validation_sets")
        return None if count is None else int(count)

    def losses(self, name: str) -> list[Point]:
        """Return a loss by step: means over a twentieth of the run, as single steps ask other sentences each."""
        size = max(1, len(self.steps) // 20)
        parts = [self.steps[start : start + size] for start in range(0, len(self.steps), size)]
        return [(_mean(part, "step"), _mean(part, name)) for part in parts]

    def values(self, name: str) -> list[Point]:
        """Return a value on the validation sets by step; steps without one are left out."""
        points = [(row["step"], row[name]) for row in self.validations if name in row]
        return [point for point in points if not math.isnan(point[1])]


def _mean(rows: Sequence[Mapping[str, float]], name: str) -> float:
    return sum(row[name] for row in rows) / len(rows)


def read_curves(folder: Path) -> Curves:
    """Return the curves of the finished tuning run in that folder, the one named `training`."""
    try:
        settings, report = (json.loads((folder / name).read_text("utf-8")) for name in ("settings.json", "report.json"))
        steps, validations = (_rows(folder / name) for name in ("curves.csv", "validation.csv"))
    except FileNotFoundError as error:
        raise RunError(f"{folder} is not the folder of a finished tuning run: it has no {_name(error)}") from None
    except ValueError as error:
        raise RunError(f"{folder} holds a damaged file: {error}") from None
    return Curves(steps, validations, settings, report)


def _name(error: FileNotFoundError) -> str:
    return Path(str(error.filename)).name


def _rows(file: Path) -> list[dict[str, float]]:
    with open(file, encoding="utf-8", newline="") as lines:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(lines)]
