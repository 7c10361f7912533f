"""Where a run's numbers come from: what the manifest says."""

from __future__ import annotations

import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .. import __version__
from ..datasets import Dataset
from ..datasets.external_results import Results
from ..records import RunManifest
from ..scoring.engine import Engine
from ..tasks import Task

IMPORTED = "imported"
"""What the manifest says in place of an engine's name where the answers were made elsewhere."""

PACKAGES = ("torch", "transformers", "tokenizers", "gguf", "numpy", "pandas", "pyarrow")


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def command_line() -> str:
    """Return the command this program was started with, fit to be pasted into a shell."""
    program = Path(sys.argv[0]).name
    start = ["python", "-m", "equipoise"] if program == "__main__.py" else [program]
    return shlex.join([*start, *sys.argv[1:]])


def versions() -> dict[str, str]:
    """Return the versions of all that could change a number."""
    by_package = {"equipoise": __version__, "python": platform.python_version(), "platform": platform.platform()}
    for package in PACKAGES:
        try:
            by_package[package] = version(package)
        except PackageNotFoundError:
            continue
    return by_package


def describe(
    engine: Engine, datasets: Sequence[Dataset], tasks: Sequence[Task], settings: Mapping[str, Any]
) -> RunManifest:
    """Return the manifest of a run that begins."""
    return RunManifest(
        model=engine.name,
        engine={**engine.identity, **engine.description},
        datasets=_datasets(datasets),
        tasks={task.name: dict(task.settings) for task in tasks},
        settings=dict(settings),
        versions=versions(),
        command=command_line(),
        started=now(),
    )


def describe_imported(results: Sequence[Results], format: str, settings: Mapping[str, Any]) -> RunManifest:
    """Return the manifest of a run whose answers were made elsewhere: no engine, and so no score store."""
    return RunManifest(
        model=results[0].model,
        engine={"engine": IMPORTED, "format": format, "scores": "none: imported results, no model was run"},
        datasets=_datasets([result.dataset for result in results]),
        tasks={result.task: {} for result in results},
        settings=dict(settings),
        versions=versions(),
        command=command_line(),
        started=now(),
        notes=[note for result in results for note in result.notes],
    )


def _datasets(datasets: Sequence[Dataset]) -> dict[str, dict[str, Any]]:
    return {
        dataset.name: {
            "sha256": dataset.sha256,
            "source": dataset.source,
            "licence": dataset.licence,
            "examples": len(dataset.examples),
            "sets": dataset.sets,
            "faults": len(dataset.faults),
        }
        for dataset in datasets
    }
