"""What an audit will cost, before anything is spent: prompts, time, and what `--precision` would save."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import typer

from . import rates
from .console import listing, print_out, printable

MEASURED, ROUGH = "(measured)", "(rough)"

PRECISIONS = (0.05, 0.02, 0.01)
SPREAD = 0.19
"""The variance of accuracy 0.75: of the metrics that `--precision` waits for it is the one that usually needs most."""


def tell_costs(model: str, data: Sequence[str], tasks: Sequence[str], choices: Mapping[str, Any]) -> None:
    """Print the prompts of each dataset and task, about how long they take, and how many a precision would need."""
    from ..datasets import open_datasets
    from ..scoring.opening import thinks
    from ..settings import Settings
    from ..suites.forecast import forecast, workload
    from ..suites.status import duration
    from ..tasks import open_tasks

    settings = Settings(**choices)
    passes = settings.passes if settings.dropout else 1
    reasons = thinks(model, settings.engine) if settings.chat or "open" in tasks else False
    rows = []
    for dataset in open_datasets(data, settings.dataset):
        sentences = len({example.cluster_id for example in dataset.examples})
        for task in open_tasks(tasks, settings.task):
            work = workload(task, dataset, thinks=bool(reasons))
            counts = {"prompts": work.prompts, "texts": work.texts}
            seconds = rates.seconds(model, choices, task.name, **counts)
            how = MEASURED if seconds is not None else ROUGH
            if seconds is None and not settings.server:
                roughly = forecast(model, work, device=settings.device)
                seconds = None if roughly is None else passes * roughly
            time = "not known" if seconds is None else f"{duration(max(1.0, seconds))} {how}"
            shares = [expected_share(width, sentences, level=settings.level) for width in PRECISIONS]
            saved = [f"{round(share * work.prompts):,}" for share in shares]
            asked = [f"{work.prompts:,}", f"{work.texts:,}", time]
            rows.append((f"{dataset.name} · {task.name}", f"{sentences:,}", *asked, *saved))
    widths = [f"prompts at precision {width:g}" for width in PRECISIONS]
    print_out(listing(("data", "base sentences", "prompts", "texts", "time", *widths), rows))
    if reasons is None:
        typer.echo(
            "Whether the model thinks before it answers is not known before it is loaded; a thinking model writes a "
            "text for each question, too."
        )
    any_rough = any(ROUGH in cell for row in rows for cell in row)
    rough = "A rough time is within a factor of about three; after one audit it is measured. " if any_rough else ""
    typer.echo(
        printable(
            f"{rough}The prompts at a precision are estimated for an accuracy of 0.75 and two types of equal size;"
            " flips and UCerF need fewer."
        )
    )


def expected_share(width: float, sentences: int, *, level: float) -> float:
    """Return about which share of the sentences is asked until an interval of accuracy is that narrow."""
    kind = max(1.0, sentences / 2)
    needed = 8 * SPREAD * math.log(2 / (1 - level)) / width**2
    return min(1.0, needed / (needed + kind))
