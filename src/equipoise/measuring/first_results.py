"""What a dataset says so far, while it is still being scored: for those who watch, never for a verdict."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from ..metrics import METRICS
from ..records import EquipoiseError, Example, FirstResults, RunKey
from .measure import Plan, estimates, measured_items, measured_points
from .settling import Ask

SHOWN = ("flip_rate", "ucerf")


def first_results(
    key: RunKey, examples: Sequence[Example], scored: Callable[[], Collection[str]], ask: Ask, plan: Plan
) -> FirstResults | None:
    """Return what the sets say of which every example is scored; None where nothing can be said yet.

    `ask` gives the outcomes of such examples from scores that there are, or refuses. Probabilities that are only known
    within limits say nothing before all is measured.
    """
    done = scored()
    every = {example.set_id for example in examples}
    whole = every - {example.set_id for example in examples if example.id not in done}
    try:
        outcomes = ask([example for example in examples if example.set_id in whole]) if whole else None
    except EquipoiseError:
        return None
    if outcomes is None or outcomes.limits is not None:
        return None
    chosen = [METRICS[name] for name in SHOWN]
    brief = replace(plan, metrics=chosen, estimators=plan.estimators[:1], by=(), intervals=False)
    items = measured_items(outcomes, brief)
    points, _ = measured_points(items, brief)
    metrics: dict[str, dict[str, tuple[float, int]]] = {}
    for row in estimates(points, items, brief):
        if set(row.parts) <= {"type"}:
            value = row.estimate.value, row.estimate.n
            metrics.setdefault(row.metric.name, {})[row.parts.get("type", "")] = value
    return FirstResults(key.dataset, key.task, len(whole), len(every), metrics) if metrics else None
