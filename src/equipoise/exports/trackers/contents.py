"""What every tracker is given of a run: numbers by name, parameters, and files."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

from ...runs import Run

FILES = ("report.html", "measurements.csv", "manifest.json")
"""What is logged as artifacts: no file that holds a dataset's sentences, unless the page does."""


def metrics_of(run: Run) -> dict[str, float]:
    """Return every measurement by name, with the ends of its interval and its n beside it.

    A name is `dataset/task/metric/group`, with the group "type=type2" written as "type.type2".
    """
    values: dict[str, float] = {}
    for part in run.parts:
        for measurement in part.measured:
            name = _plain("/".join((part.dataset, part.task, measurement.metric, measurement.group)))
            estimate = measurement.estimate
            numbers = {"": estimate.value, ".low": estimate.low, ".high": estimate.high, ".n": float(estimate.n)}
            values |= {f"{name}{end}": float(value) for end, value in numbers.items() if math.isfinite(value)}
    return values


def parameters_of(run: Run) -> dict[str, Any]:
    """Return the model, the datasets, the tasks and the settings that differ from nothing."""
    manifest = run.manifest
    settings = {name: value for name, value in manifest.settings.items() if value not in (None, [], {}, "")}
    return {
        "model": manifest.model,
        "datasets": ", ".join(manifest.datasets),
        "tasks": ", ".join(manifest.tasks),
        "equipoise": manifest.versions.get("equipoise", ""),
        "command": manifest.command,
        **{f"settings.{name}": value for name, value in settings.items() if name != "metrics"},
    }


def files_of(run: Run) -> list[Path]:
    """Return the files to log as artifacts."""
    return [run.path / name for name in FILES if (run.path / name).is_file()]


def _plain(name: str) -> str:
    """Return the name with only characters that every tracker takes."""
    return re.sub(r"[^\w\-./]", "_", name.replace("=", ".").replace(",", "/"))
