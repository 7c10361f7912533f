"""In: a finished run.
Out: its measurements as metrics, its settings as parameters and its files as artifacts, in a tracker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

from ...catalog import find
from ...records import EquipoiseError
from ...runs import Run

TRACKERS = ("mlflow", "wandb", "tensorboard")
"""The trackers; each is a file of that name in this folder with a function `log`."""

PACKAGES = {"mlflow": "mlflow", "wandb": "wandb", "tensorboard": "tensorboardX"}


def log_run(run: Run, tracker: str) -> str:
    """Return where the run is in the tracker, after logging it there."""
    return _tracker(tracker)(run)


def check_tracker(tracker: str) -> None:
    """Raise an error where the tracker cannot be used; called before an audit, not after it."""
    _tracker(tracker)


def _tracker(name: str) -> Callable[[Run], str]:
    known: Mapping[str, str] = {tracker: tracker for tracker in TRACKERS}
    try:
        log: Callable[[Run], str] = import_module(f"{__name__}.{find(name, known, kind='tracker')}_run").log
    except ModuleNotFoundError as error:
        if error.name != PACKAGES[name]:
            raise
        raise EquipoiseError(f"logging to {name} needs its package: pip install 'equipoise[trackers]'") from None
    return log
