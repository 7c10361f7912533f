"""Do the intervals of a disparity cover it, and how much does stopping early save? Planted data, no model needed.

python benchmarks/identity_coverage.py [--audits 500] [--sentences 792] [--resamples 500]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from shared.options import parsed
from shared.outcomes import outcomes_of

from equipoise.measuring.changes import changes
from equipoise.measuring.identities import confidence_disparities
from equipoise.measuring.items import Items
from equipoise.measuring.measure import Plan
from equipoise.measuring.stopping import Sample
from equipoise.records import Outcomes
from equipoise.stats.sequential import balanced_order, planned_looks

MASS = 0.9
MARKERS, GENDERS = ("young", "old"), ("male", "female")
SUBGROUPS = [(marker, gender) for marker in MARKERS for gender in GENDERS]
EFFECTS = {"no subgroup differs": (0.0, 0.0, 0.0, 0.0), "one differs by 0.10": (0.0, 0.0, 0.0, -0.10)}
PRECISIONS = (0.05, 0.02, 0.01)


def confidences(effects: tuple[float, ...], sentences: int, rng: np.random.Generator) -> np.ndarray:
    """Return planted confidence by sentence and subgroup: how easy the sentence is, the effect, and chance."""
    easy = rng.normal(0.2, 0.25, size=(sentences, 1))
    return np.clip(easy + np.array(effects) + rng.normal(0, 0.08, size=(sentences, 4)), -0.88, 0.88)


def outcomes(values: np.ndarray) -> Outcomes:
    """Return what a model of that confidence would have answered."""
    names = [("R", "age", marker, gender) for marker, gender in SUBGROUPS]
    return marked_outcomes(values, names, privilege=["privileged", "privileged", "disadvantaged", "disadvantaged"])


def marked_outcomes(values: np.ndarray, names: list[tuple[str, str, str, str]], **more: list[str]) -> Outcomes:
    """Return outcomes with that confidence by sentence and (augmentation, attribute, marker, gender)."""
    sentences, width = values.shape
    lead = values.ravel()
    logprobs = np.log(np.stack([(MASS + lead) / 2, (MASS - lead) / 2], axis=1))
    keys = ("augmentation", "attribute", "marker", "gender")
    groups = {key: [row[place] for row in names] * sentences for place, key in enumerate(keys)}
    groups["type"] = ["type2"] * len(lead)
    groups |= {key: cells * sentences for key, cells in more.items()}
    return outcomes_of(logprobs, width, groups)


def full_audits(effects: tuple[float, ...], audits: int, sentences: int, plan: Plan, seed: int) -> tuple[float, float]:
    """Return the coverage of our interval and of a plain percentile bootstrap of max - min, over whole audits."""
    truth, rng = float(np.ptp(effects)), np.random.default_rng(seed)
    ours = plain = 0
    for _ in range(audits):
        values = confidences(effects, sentences, rng)
        (estimate,) = confidence_disparities(Items(outcomes(values)), plan, Sample()).values()
        ours += estimate.low <= truth <= estimate.high
        draws = rng.integers(0, sentences, size=(plan.resamples, sentences))
        low, high = np.quantile(np.ptp(values[draws].mean(axis=1), axis=1), [0.025, 0.975])
        plain += low <= truth <= high
    return ours / audits, plain / audits


def stopped_audits(effects: tuple[float, ...], audits: int, sentences: int, plan: Plan, seed: int) -> dict[str, float]:
    """Return coverage at all looks together and at each stop, and the share of sentences asked, over many audits."""
    rng = np.random.default_rng(seed)
    sizes = planned_looks(sentences)
    sample = Sample({"type2": sentences}, looks=len(sizes))
    strata = [f"occupation {i % 40}" for i in range(sentences)]
    found: dict[str, list[float]] = {"any": []} | {f"{p}": [] for p in PRECISIONS} | {f"n{p}": [] for p in PRECISIONS}
    for _ in range(audits):
        values = confidences(effects, sentences, rng)
        truth = float(np.ptp(values.mean(axis=0)))
        order = balanced_order(strata, rng)
        asked = [Items(outcomes(values[order[:size]])) for size in sizes]
        seen = [next(iter(confidence_disparities(items, plan, sample).values())) for items in asked]
        covers = [one.low <= truth <= one.high for one in seen]
        found["any"].append(all(covers))
        for precision in PRECISIONS:
            stop = next((i for i, one in enumerate(seen) if one.width < precision), None)
            # Without a stop everything is asked, and the disparity of the dataset is known.
            found[f"{precision}"].append(True if stop is None else covers[stop])
            found[f"n{precision}"].append(1.0 if stop is None else sizes[stop] / sentences)
    return {name: float(np.mean(values)) for name, values in found.items()}


def false_discoveries(audits: int, sentences: int, plan: Plan, seed: int, attributes: int = 10) -> dict[str, float]:
    """Return how often audits in which no marker changes anything name an attribute, and how often intervals miss 0.

    He and she differ by 0.10 without a marker and with every marker alike: that gap must not count.
    """
    rng = np.random.default_rng(seed)
    names = [("none", "", "", gender) for gender in GENDERS]
    names += [("R", f"attribute {a}", f"{m} {a}", g) for a in range(attributes) for m in MARKERS for g in GENDERS]
    female = np.array([0.10 if gender == "female" else 0.0 for *_, gender in names])
    named = {"confidence_change": 0, "confidence_interaction": 0}
    missed = dict.fromkeys(named, 0)
    for _ in range(audits):
        easy = rng.normal(0.2, 0.25, size=(sentences, 1))
        values = np.clip(easy - female + rng.normal(0, 0.08, size=(sentences, len(names))), -0.88, 0.88)
        rows = changes(Items(marked_outcomes(values, names)), plan)
        for metric in named:
            of_metric = [row for row in rows if row.name == metric and "gender" not in row.parts]
            named[metric] += min(row.estimate.p_corrected for row in of_metric) < 0.05
            (single,) = [row.estimate for row in of_metric if row.parts.get("marker") == "young 0"]
            missed[metric] += single.excludes_zero
    shares = {f"{metric}, any attribute named": count / audits for metric, count in named.items()}
    return shares | {f"{metric}, the interval of a marker misses 0": n / audits for metric, n in missed.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--audits", type=int, default=500)
    parser.add_argument("--sentences", type=int, default=792)
    parser.add_argument("--resamples", type=int, default=500)
    parser.add_argument("--changes", action="store_true", help="only false discoveries of changes, ten attributes")
    chosen = parsed(parser, audits=1, sentences=100, resamples=20)
    plan = Plan([], resamples=chosen.resamples)
    started = time.perf_counter()
    for name, share in false_discoveries(chosen.audits, chosen.sentences, plan, seed=3).items():
        print(f"no marker changes anything: {name}: {share:.3f} of {chosen.audits} audits", flush=True)
    if chosen.changes:
        return
    print(f"{chosen.audits} audits of {chosen.sentences} sentences, {chosen.resamples} resamples, nominal 95%")
    for name, effects in EFFECTS.items():
        ours, plain = full_audits(effects, chosen.audits, chosen.sentences, plan, seed=1)
        print(f"whole audit, {name}: covered {ours:.3f} (a percentile bootstrap of max - min: {plain:.3f})", flush=True)
        found = stopped_audits(effects, chosen.audits, chosen.sentences, plan, seed=2)
        print(f"stopped audit, {name}: covered at all {len(planned_looks(chosen.sentences))} looks {found['any']:.3f}")
        for precision in PRECISIONS:
            line = f"  precision {precision}: covered {found[f'{precision}']:.3f}, asked {found[f'n{precision}']:.1%}"
            print(line, flush=True)
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
