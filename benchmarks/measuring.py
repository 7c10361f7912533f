"""How long do all metrics take, with intervals, on a dataset of SynthBias's size? No model, no data needed.

python benchmarks/measuring.py [--pairs 15864] [--resamples 2000] [--estimators perplexity renyi]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from equipoise.measuring.measure import Labels, Plan, measure
from equipoise.metrics import METRICS
from equipoise.records import ABSENT, Outcomes
from equipoise.uncertainty import ESTIMATORS, renormalise


def simulated(pairs: int, seed: int = 0) -> Outcomes:
    """Return outcomes shaped like SynthBias: 45% ambiguous, 40 occupations, two pronouns a sentence."""
    rng = np.random.default_rng(seed)
    rows = 2 * pairs

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
    return Outcomes(
        example_id=np.array([f"e{i}" for i in range(rows)], dtype=object),
        variant=np.full(rows, "", dtype=object),
        pair_id=twice(np.array([f"p{i}" for i in range(pairs)])),
        probs=renormalise(logprobs),
        logprobs=logprobs,
        gold=np.where(labelled, np.repeat(rng.integers(0, 2, pairs), 2), ABSENT),
        stereotype=np.zeros(rows, dtype=np.int64),
        answerable=labelled,
        groups={
            "type": kinds,
            "gender": gender,
            **{name: np.where(labelled, column, "").astype(object) for name, column in groups.items()},
        },
        flags=np.full(rows, "", dtype=object),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=15864)
    parser.add_argument("--resamples", type=int, default=2000)
    parser.add_argument("--estimators", nargs="+", default=["perplexity"])
    chosen = parser.parse_args()
    outcomes = simulated(chosen.pairs)
    plan = Plan(list(METRICS.values()), [ESTIMATORS[name] for name in chosen.estimators], resamples=chosen.resamples)
    start = time.perf_counter()
    measurements, _ = measure(outcomes, plan, Labels("model", "data", "task"))
    seconds = time.perf_counter() - start
    print(
        f"{len(outcomes):,} items, {chosen.resamples:,} resamples, {len(measurements):,} measurements: {seconds:.1f} s"
    )


if __name__ == "__main__":
    main()
