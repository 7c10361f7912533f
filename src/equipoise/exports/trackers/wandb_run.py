"""Logs a run to Weights & Biases; WANDB_MODE=offline keeps it on this machine."""

from __future__ import annotations

import wandb

from ...records import EquipoiseError
from ...runs import Run
from .contents import files_of, metrics_of, parameters_of

PROJECT = "equipoise"


def log(run: Run) -> str:
    """Return where the run is, after logging it."""
    try:
        with wandb.init(
            project=PROJECT, name=run.name, config=parameters_of(run), settings=wandb.Settings(silent=True)
        ) as logged:
            logged.log(metrics_of(run))
            artifact = wandb.Artifact(f"equipoise-{logged.id}", type="audit")
            for file in files_of(run):
                artifact.add_file(str(file))
            logged.log_artifact(artifact)
            return logged.url or str(logged.dir)
    except wandb.Error as error:
        raise EquipoiseError(f"Weights & Biases refused the run: {error}") from None
