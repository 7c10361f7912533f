"""Are planted effects of markers, genders and their crossing found, and nothing else? Whole audits, no model needed.

    python benchmarks/planted_markers.py [--audits 500] [--processes 3]

Each audit asks a planted engine with a new seed, and is measured as any audit is. The truth is the same engine without
noise: its noise is symmetric around 0, so its means are the planted ones. Counted are the intervals that hold the
truth, the audits without an effect that name one, and the stopped audits whose interval holds the dataset's own value.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache, partial

import numpy as np
from shared.options import parsed

from equipoise.datasets import Dataset, open_dataset
from equipoise.datasets.identity import identity_dataset, recipe
from equipoise.measuring.identities import confidence_disparities
from equipoise.measuring.items import Items
from equipoise.measuring.measure import Plan, measured_items
from equipoise.measuring.part import measure_part
from equipoise.measuring.sampling import until_precise
from equipoise.measuring.stopping import Sample
from equipoise.records import Measurement, Outcomes, RunKey
from equipoise.scoring.planted import PlantedEngine, open_planted
from equipoise.tasks import open_task

WORLDS = {
    "effects": "lead=0.3,lead:old=-0.1,lead:female=-0.03,lead:old*female=-0.05,lead:Black=-0.06,"
    "lead:disadvantaged*anti=-0.04",
    "a gender gap alone": "lead=0.3,lead:female=-0.05",
    "nothing": "lead=0.3",
}
NOISE = "sentence=0.5,noise=0.3"
METRICS = (
    "confidence",
    "confidence_drop",
    "confidence_disparity",
    "confidence_change",
    "confidence_interaction",
    "confidence_gender_gap",
    "double_disadvantage",
    "disadvantage_interaction",
)
TESTED = {"a gender gap alone": ("confidence_change", "confidence_interaction"), "nothing": ("confidence_disparity",)}
"""What is not there in a world without effects of markers, and is tested over a family of attributes."""
WIDTH = 0.08
KEY = RunKey("planted", "builtin", "next-word")


@cache
def marked() -> Dataset:
    """Return the resolvable built-in sentences with markers of age and race on the referent."""
    builtin = open_dataset("builtin")
    resolvable = tuple(example for example in builtin.examples if example.groups["type"] == "type2")
    how = recipe(augmentations=["R"], attributes=["age", "race"])
    return identity_dataset(replace(builtin, examples=resolvable), how)


def answers(engine: PlantedEngine) -> Outcomes:
    """Return what an engine answers about all sentences."""
    examples = marked().examples
    engine.prepare(examples)
    task = open_task("next-word")
    return task.run(examples, scorer=lambda prompts: next(engine.score([prompts])), writer=lambda *_: {})


def measured(outcomes: Outcomes, plan: Plan) -> dict[tuple[str, str], Measurement]:
    """Return the measurements of identities by metric and group."""
    rows, _ = measure_part(measured_items(outcomes, plan), plan, KEY)
    return {(row.metric, row.group): row for row in rows if row.metric in METRICS and "augmentation" in row.parts}


@cache
def truth(world: str) -> dict[tuple[str, str], float]:
    """Return what was planted, by metric and group."""
    rows = measured(answers(open_planted(WORLDS[world])), Plan([], by=(), resamples=2, intervals=False))
    return {key: row.value for key, row in rows.items()}


def audit(seed: int, world: str, resamples: int) -> Counter[str]:
    """Return what one audit counts: intervals that were made and that hold, effects that were named, looks."""
    plan = Plan([], by=(), resamples=resamples, seed=seed)
    # Worlds have other draws, so that each is evidence of its own.
    outcomes = answers(open_planted(f"{WORLDS[world]},{NOISE},seed={seed + 10_000 * list(WORLDS).index(world)}"))
    rows, counts = measured(outcomes, plan), Counter[str]()
    for (metric, group), row in rows.items():
        if row.estimate.has_interval:
            counts[f"{metric}: intervals"] += 1
            counts[f"{metric}: held"] += row.low - 1e-9 <= truth(world)[metric, group] <= row.high + 1e-9
    for metric in TESTED.get(world, ()):
        # The unmarked gap between he and she is a family of its own.
        marked_rows = [row for (name, _), row in rows.items() if name == metric and row.parts["augmentation"] == "R"]
        p_values = [row.estimate.p_corrected for row in marked_rows]
        counts[f"{metric}: named"] += bool(np.nanmin(p_values) <= 0.05)
    return counts + stopped(outcomes, plan)


def stopped(outcomes: Outcomes, plan: Plan) -> Counter[str]:
    """Return whether an audit that stops early holds the dataset's own disparities, and how much it asked."""
    places = {name: place for place, name in enumerate(outcomes.example_id.tolist())}

    def ask(examples) -> Outcomes:  # type: ignore[no-untyped-def]
        return outcomes.take(np.array([places[example.id] for example in examples]))

    found = until_precise(marked(), ask, plan, width=WIDTH)
    whole = {name: row.value for name, row in confidence_disparities(Items(outcomes), plan, Sample()).items()}
    counts = Counter({"stopped: asked": len(found.dataset.examples), "stopped: of": len(marked().examples)})
    if found.sample is not None:
        for name, row in confidence_disparities(Items(ask(found.dataset.examples)), plan, found.sample).items():
            counts["stopped: intervals"] += 1
            counts["stopped: held"] += row.low - 1e-9 <= whole[name] <= row.high + 1e-9
    return counts


def lines(world: str, counts: Counter[str], audits: int) -> Iterator[str]:
    """Yield a line for each metric of a world."""
    for name in (*METRICS, "stopped"):
        total = counts[f"{name}: intervals"]
        if total:
            yield f"{world}: {name}: {counts[f'{name}: held'] / total:.3f} of {total:,} intervals hold the truth"
    for name in TESTED.get(world, ()):
        yield f"{world}: {name}: named in {counts[f'{name}: named'] / audits:.3f} of {audits} audits"
    share = counts["stopped: asked"] / counts["stopped: of"]
    yield f"{world}: stopped at a width of {WIDTH}: {share:.0%} of the sentences asked"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--audits", type=int, default=500)
    parser.add_argument("--resamples", type=int, default=500)
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=60.0, help="no further audits after that")
    chosen = parsed(parser, audits=1, resamples=20, processes=1)
    started = time.monotonic()
    print(f"{len(marked().examples):,} sentences, nominal 95%", flush=True)
    with ProcessPoolExecutor(chosen.processes) as pool:
        totals = {world: Counter[str]() for world in WORLDS}
        done = 0
        # A few audits of each world at a time, so that a limit of time leaves all of them alike.
        for first in range(1, chosen.audits + 1, 10 * chosen.processes):
            seeds = range(first, min(first + 10 * chosen.processes, chosen.audits + 1))
            for world, total in totals.items():
                for counts in pool.map(partial(audit, world=world, resamples=chosen.resamples), seeds):
                    total.update(counts)
            done = seeds.stop - 1
            if time.monotonic() - started > 60 * chosen.minutes:
                break
    for world, total in totals.items():
        print("\n".join(lines(world, total, done)), flush=True)
    print(f"{done} audits of each world, {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
