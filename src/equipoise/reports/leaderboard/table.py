"""All measurements of all runs as one tidy table: a row for each number, a column for each fact about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from ...runs.run import Run
from .submissions import Submission

COLUMNS = ("run", "finished", "model", "dataset", "task", "metric", "group", "value", "low", "high", "level", "n")
MORE = ("better", "method")


def tidy_measurements(submissions: Iterable[Submission]) -> pd.DataFrame:
    """Return the measurements of every run, the model named as on the site; `run` is the folder's name."""
    frames = [_frame(submission) for submission in submissions]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=[*COLUMNS, *MORE])


def _frame(submission: Submission) -> pd.DataFrame:
    frame = Run(submission.folder).measurements
    about = {"run": submission.folder.name, "finished": submission.manifest.finished, "model": submission.model}
    return frame.assign(**about)[[*COLUMNS, *MORE]]


def write_measurements(submissions: Sequence[Submission], path: Path) -> Path:
    """Write the tidy table as Parquet, and return where it is."""
    from ...files import written

    with written(path) as part:
        tidy_measurements(submissions).to_parquet(part, index=False)
    return path
