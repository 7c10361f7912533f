"""How long does measuring take, and how much memory? No model needed: answers are planted or drawn.

python benchmarks/measuring.py [--case synthbias winoidentity 10000 100000 1000000] [--resamples 2000]

Each case runs in a process of its own. `synthbias` and `winoidentity` need the real sentences (EQUIPOISE_DATA) and are
answered by a planted engine; a number is the rows of a user's table.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from functools import partial

import numpy as np
from shared.options import parsed
from shared.outcomes import outcomes_of
from shared.scoring import scores_of

from equipoise.measuring.measure import Plan, measured_items
from equipoise.measuring.part import measure_part
from equipoise.measuring.tables import item_columns, set_columns
from equipoise.metrics import METRICS
from equipoise.records import ABSENT, Outcomes, RunKey

CASES = ("synthbias", "winoidentity", "10000", "100000", "1000000")


def planted(name: str) -> Outcomes:
    """Return what a planted engine makes of a dataset."""
    from equipoise.datasets import open_dataset
    from equipoise.scoring.opening import open_engine
    from equipoise.tasks import open_task

    engine, examples = open_engine("planted:strength=1,bias=0.7,noise=1"), open_dataset(name).examples
    engine.prepare(examples)

    return open_task("next-word").run(examples, scorer=partial(scores_of, engine), writer=lambda contexts, tokens: {})


def drawn(rows: int, seed: int = 0) -> Outcomes:
    """Return outcomes shaped like a user's table: 45% ambiguous, 40 occupations, each sentence with two pronouns."""
    rng = np.random.default_rng(seed)
    pairs = rows // 2

    def twice(values: np.ndarray) -> np.ndarray:
        return np.repeat(values, 2).astype(object)

    kinds = twice(np.where(np.arange(pairs) < 0.445 * pairs, "type1", "type2"))
    labelled = kinds == "type2"
    names = np.array([f"occupation {i:02}" for i in range(40)], dtype=object)
    side = twice(np.array(["male", "female"])[rng.integers(0, 2, pairs)])
    gender = np.tile(np.array(["male", "female"], dtype=object), pairs)
    logprobs = rng.normal(-2, 1, size=(rows, 2))
    groups = {
        "occupation": twice(names[rng.integers(0, 40, pairs)]),
        "other": twice(names[rng.integers(0, 40, pairs)]),
        "side": side,
        "stereotype": np.where(side == gender, "pro", "anti").astype(object),
    }
    named = {"type": kinds, "gender": gender}
    named |= {name: np.where(labelled, column, "") for name, column in groups.items()}
    gold = np.where(labelled, np.repeat(rng.integers(0, 2, pairs), 2), ABSENT)
    return outcomes_of(
        logprobs, 2, named, gold=gold, stereotype=np.zeros(rows, dtype=np.int64), answerable=labelled.astype(bool)
    )


def run(case: str, resamples: int) -> dict[str, object]:
    """Return how long measuring took, and the largest memory of the process."""
    outcomes = drawn(int(case)) if case.isdigit() else planted(case)
    plan, key = Plan(list(METRICS.values()), resamples=resamples), RunKey("planted", case, "next-word")
    start, cpu = time.perf_counter(), time.process_time()
    items = measured_items(outcomes, plan)
    measurements, _ = measure_part(items, plan, key)
    item_columns(items, plan.estimators), set_columns(items, plan.estimators)
    return {
        "case": case,
        "items": len(outcomes),
        "measurements": len(measurements),
        "seconds": round(time.perf_counter() - start, 1),
        "processor seconds": round(time.process_time() - cpu, 1),
        "GiB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", nargs="+", default=list(CASES))
    parser.add_argument("--resamples", type=int, default=2000)
    parser.add_argument("--alone", action="store_true", help="run in this process")
    chosen = parsed(parser, case=["builtin", "200"], resamples=10, alone=True)
    for case in chosen.case:
        if chosen.alone:
            print(json.dumps(run(case, chosen.resamples)))
        else:
            command = [sys.executable, __file__, "--alone", "--case", case, "--resamples", str(chosen.resamples)]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
