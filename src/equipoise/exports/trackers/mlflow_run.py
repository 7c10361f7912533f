"""Logs a run to MLflow: the server that MLFLOW_TRACKING_URI names, or a folder `mlruns`."""

from __future__ import annotations

import mlflow
from mlflow.entities import Metric, Param
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

from ...records import EquipoiseError
from ...runs import Run
from .contents import files_of, metrics_of, parameters_of

EXPERIMENT = "equipoise"
BATCH = 1000
"""Metrics that one request of MLflow takes."""


def log(run: Run) -> str:
    """Return the address of the run in MLflow, after logging it there."""
    client = MlflowClient()
    try:
        experiment = client.get_experiment_by_name(EXPERIMENT)
        identifier = experiment.experiment_id if experiment else client.create_experiment(EXPERIMENT)
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
    return f"{mlflow.get_tracking_uri()} (experiment {EXPERIMENT}, run {logged.info.run_id})"
