"""Logs a run as TensorBoard events, in a folder `tensorboard` of the run's folder."""

from __future__ import annotations

from tensorboardX import SummaryWriter

from ...runs import Run
from .contents import metrics_of, parameters_of


def log(run: Run) -> str:
    """Return the folder with the events: `tensorboard --logdir` shows it."""
    folder = run.path / "tensorboard"
    with SummaryWriter(str(folder)) as writer:
        lines = [f"| {name} | {value} |" for name, value in parameters_of(run).items()]
        writer.add_text("run", "\n".join(["| | |", "|---|---|", *lines]))
        for name, value in metrics_of(run).items():
            writer.add_scalar(name, value, global_step=0)
    return str(folder)
