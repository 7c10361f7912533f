"""A finished run in a tracker: its measurements as metrics, its settings as parameters, its files as artifacts.

MLflow: the server that MLFLOW_TRACKING_URI names, or a folder `mlruns`. Weights & Biases: WANDB_MODE=offline keeps a
run on this machine. TensorBoard: events in a folder `tensorboard` of the run's folder.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from ..catalog import find
from ..records import EquipoiseError
from ..runs import Run
from ..verdict.summary import part_summary

NAME = "equipoise"
"""The experiment in MLflow, and the project in Weights & Biases."""

FILES = ("report.html", "measurements.csv", "manifest.json")
"""What is logged as artifacts: no file that holds a dataset's sentences, unless the page does."""

BATCH = 1000
"""Metrics that one request of MLflow takes."""


class Tracker(NamedTuple):
    """A tracker: the package that it needs, and what logs a run there and returns where it is."""

    package: str
    log: Callable[[Run], str]


def log_run(run: Run, tracker: str) -> str:
    """Return where the run is in the tracker, after logging it there."""
    return check_tracker(tracker).log(run)


def check_tracker(name: str) -> Tracker:
    """Return the tracker; raise an error where it cannot be used, so that an audit does not find out at its end."""
    tracker = find(name, TRACKERS, kind="tracker")
    try:
        import_module(tracker.package)
    except ModuleNotFoundError as error:
        if error.name != tracker.package:
            raise
        raise EquipoiseError(f"logging to {name} needs its package: pip install 'equipoise[trackers]'") from None
    return tracker


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
        **{f"verdict.{name}": sentence for name, sentence in _verdicts(run)},
        **{f"settings.{name}": value for name, value in settings.items() if name != "metrics"},
    }


def _verdicts(run: Run) -> Iterator[tuple[str, str]]:
    for part in run.parts:
        yield _plain(f"{part.dataset}/{part.task}"), part_summary(part).verdict.sentence


def files_of(run: Run) -> list[Path]:
    """Return the files to log as artifacts."""
    return [run.path / name for name in FILES if (run.path / name).is_file()]


def _plain(name: str) -> str:
    """Return the name with only characters that every tracker takes."""
    return re.sub(r"[^\w\-./]", "_", name.replace("=", ".").replace(",", "/"))


def _log_to_mlflow(run: Run) -> str:
    import mlflow
    from mlflow.entities import Metric, Param
    from mlflow.exceptions import MlflowException
    from mlflow.tracking import MlflowClient

    client = MlflowClient()
    try:
        experiment = client.get_experiment_by_name(NAME)
        identifier = experiment.experiment_id if experiment else client.create_experiment(NAME)
        logged = client.create_run(identifier, run_name=run.name)
        parameters = [Param(name, str(value)[:500]) for name, value in parameters_of(run).items()]
        client.log_batch(logged.info.run_id, params=parameters)
        now = logged.info.start_time
        metrics = [Metric(name, value, now, 0) for name, value in metrics_of(run).items()]
        for start in range(0, len(metrics), BATCH):
            client.log_batch(logged.info.run_id, metrics=metrics[start : start + BATCH])
        for file in files_of(run):
            client.log_artifact(logged.info.run_id, str(file))
        client.set_terminated(logged.info.run_id)
    except MlflowException as error:
        raise EquipoiseError(f"MLflow at {mlflow.get_tracking_uri()} refused the run: {error}") from None
    return f"{mlflow.get_tracking_uri()} (experiment {NAME}, run {logged.info.run_id})"


def _log_to_wandb(run: Run) -> str:
    import wandb

    quiet = wandb.Settings(silent=True)
    try:
        with wandb.init(project=NAME, name=run.name, config=parameters_of(run), settings=quiet) as logged:
            logged.log(metrics_of(run))
            artifact = wandb.Artifact(f"equipoise-{logged.id}", type="audit")
            for file in files_of(run):
                artifact.add_file(str(file))
            logged.log_artifact(artifact)
            return logged.url or str(logged.dir)
    except wandb.Error as error:
        raise EquipoiseError(f"Weights & Biases refused the run: {error}") from None


def _log_to_tensorboard(run: Run) -> str:
    from tensorboardX import SummaryWriter

    folder = run.path / "tensorboard"
    with SummaryWriter(str(folder)) as writer:
        lines = [f"| {name} | {value} |" for name, value in parameters_of(run).items()]
        writer.add_text("run", "\n".join(["| | |", "|---|---|", *lines]))
        for name, value in metrics_of(run).items():
            writer.add_scalar(name, value, global_step=0)
    return str(folder)


TRACKERS: Mapping[str, Tracker] = {
    "mlflow": Tracker("mlflow", _log_to_mlflow),
    "wandb": Tracker("wandb", _log_to_wandb),
    "tensorboard": Tracker("tensorboardX", _log_to_tensorboard),
}
"""Trackers by name."""
