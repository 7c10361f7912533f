"""In: result files that other tools made.
Out: Results: a model's outcomes on a dataset as a task, ready to be measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from ...catalog import find
from ...records import DatasetError
from .inspect_ai import read_inspect
from .lm_eval import read_lm_eval
from .per_item import Results, read_gender_ece, read_general

FORMATS: Mapping[str, Callable[[Path, str, str], list[Results]]] = {
    "general": read_general,
    "gender-ece": read_gender_ece,
    "lm-eval": read_lm_eval,
    "inspect": read_inspect,
}
"""Name -> reader, given the file or folder, and the names of model and dataset that the user gave."""

FOLDERS = ("lm-eval", "inspect")
"""Formats whose tools write folders of files."""


def read_results(path: Path | str, *, format: str = "general", model: str = "", dataset: str = "") -> list[Results]:
    """Return the results in a file of that format; `model` and `dataset` name them where the file does not."""
    path = Path(path)
    if path.is_dir() and format not in FOLDERS:
        raise DatasetError(
            f"{path}: is a folder; name one of its files, or set format to {' or '.join(FOLDERS)}", "format"
        )
    if not path.is_file() and not (format in FOLDERS and path.is_dir()):
        raise DatasetError(f"{path}: no such file")
    return find(format, FORMATS, kind="result format")(path, model, dataset)
