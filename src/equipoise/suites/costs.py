"""What an audit will cost: prompts and time of each dataset and task, and how many prompts narrow intervals need."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from ..options import RunOptions
from ..scoring.opening import thinks
from ..settings import Settings
from ..tasks import open_tasks
from . import rates
from .forecast import forecast, workload

WIDTHS = (0.05, 0.02, 0.01)
SPREAD = 0.19
"""The variance of accuracy 0.75: of the metrics that `--until-width` waits for, it usually needs most."""


@dataclass(frozen=True)
class Cost:
    """What a dataset costs as one task; `seconds` were measured here before, are rough, or are not known (None).

    `at_widths` are the prompts that stopping early would need, one number for each of `WIDTHS`.
    """

    dataset: str
    task: str
    sentences: int
    prompts: int
    texts: int
    seconds: float | None
    measured: bool
    at_widths: Sequence[int]


@dataclass(frozen=True)
class Expectation:
    """What an audit costs, and whether the model writes its reasoning first (None: not known before it is loaded)."""

    costs: Sequence[Cost]
    reasons: bool | None


def expect(asked: RunOptions, settings: Settings) -> Expectation:
    """Return what an audit will cost; no model is loaded for it."""
    may_reason = settings.chat or "open" in asked.task
    reasons = thinks(asked.model, settings.engine) if may_reason else False
    passes = settings.passes if settings.dropout else 1
    costs = []
    tasks = open_tasks(asked.task, settings.task)
    for dataset, task in product(settings.datasets(asked.data, tasks), tasks):
        sentences = len({example.cluster_id for example in dataset.examples})
        work = workload(task, dataset, thinks=bool(reasons))
        prompts, texts = work.prompts, work.texts
        seconds = measured = rates.seconds(asked.model, settings.engine, task.name, prompts=prompts, texts=texts)
        if seconds is None and not settings.server:
            roughly = forecast(asked.model, work, device=settings.device)
            seconds = None if roughly is None else passes * roughly
        shares = [expected_share(width, sentences, level=settings.level) for width in WIDTHS]
        saved = [round(share * prompts) for share in shares]
        asks = (dataset.name, task.name, sentences, prompts, texts)
        costs.append(Cost(*asks, seconds, measured=measured is not None, at_widths=saved))
    return Expectation(costs, reasons)


def expected_share(width: float, sentences: int, *, level: float) -> float:
    """Return about which share of the sentences is asked until an interval of accuracy is that narrow."""
    kind = max(1.0, sentences / 2)
    needed = 8 * SPREAD * math.log(2 / (1 - level)) / width**2
    return min(1.0, needed / (needed + kind))
