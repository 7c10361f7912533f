"""What is measured of sentences that a planted engine answers, without a run folder."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.datasets.dataset import Dataset
from equipoise.measuring.items import Items
from equipoise.measuring.measure import Plan, measured_items
from equipoise.measuring.part import measure_part
from equipoise.records import Measurement, Prompt, RunKey, Score
from equipoise.scoring.planted import open_planted
from equipoise.tasks import open_task


def planted_items(planted: str, data: Dataset, plan: Plan) -> tuple[Items, dict[tuple[str, str], Measurement]]:
    """Return the items of the dataset as that engine answers it, and their measurements by metric and group."""
    engine = open_planted(planted)
    engine.prepare(data.examples)

    def scorer(prompts: Sequence[Prompt]) -> list[Score]:
        return [score for batch in engine.score([prompts]) for score in batch]

    outcomes = open_task("next-word").run(data.examples, scorer=scorer, writer=lambda contexts, tokens: {})
    items = measured_items(outcomes, plan)
    rows, _ = measure_part(items, plan, RunKey("planted", "builtin", "next-word"))
    return items, {(row.metric, row.group): row for row in rows}
