"""Do intervals hold the truth where a server does not tell the whole of it: sampled answers, or a top k?

python benchmarks/served_coverage.py [--draws 100] [--samples 32 128] [--top 3] [--sets 200]

Worlds of known probabilities: three options and answers that name none, in sets of two items. Sampled answers: of each
draw the plain and the widened 95% interval are checked against the value of endlessly many sentences and answers. Top
k: what a chat server shows of two spellings of each letter is turned into limits, and the value of the true
probabilities must be within the leeway of every metric.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from shared import outcomes as planted
from shared.options import parsed

from equipoise.measuring.leeway.alternatives import with_counts
from equipoise.measuring.leeway.widening import leeways
from equipoise.measuring.measure import Plan, measure, measured_items
from equipoise.measuring.part import measure_items, point_values
from equipoise.metrics import METRICS
from equipoise.records import Floats, Limits, Outcomes, RunKey

OPTIONS = 3
SHOWN = ("ucerf", "certainty", "flip_rate", "accuracy", "accuracy_gap", "confidence")
KEY = RunKey("planted", "worlds", "mcq")

WORLDS = {
    "sure of most answers": {"spread": 4.0, "apart": 1.0},
    "unsure": {"spread": 1.5, "apart": 0.7},
    "nearly even": {"spread": 0.5, "apart": 0.3},
    "no difference between groups": {"spread": 1.5, "apart": 0.0},
    "no difference, small lead of one answer": {"spread": 0.0, "apart": 0.0, "lead": 0.23},
    "small lead, opposite in the two groups": {"spread": 0.0, "apart": 0.1, "lead": 0.14, "opposite": 1.0},
    "six of ten answers name no option": {"spread": 1.5, "apart": 0.7, "none": 0.6},
}
"""Name -> how log-odds vary: between sets, within sets, the first option's lead, and the share of other answers."""


def world(name: str, sets: int, rng: np.random.Generator) -> Floats:
    """Return the true probabilities of each item's options, and of answers that name none."""
    how = {"lead": 0.0, "opposite": 0.0, "none": 0.05, **WORLDS[name]}
    base = how["spread"] * rng.normal(size=(sets, 1, OPTIONS)) + how["apart"] * rng.normal(size=(sets, 2, OPTIONS))
    if how["lead"]:
        base += np.log([0.4, 0.4, 0.2])
        base[:, 0, 0] += how["lead"]
        base[:, 1, 1 if how["opposite"] else 0] += how["lead"]
    weights = np.exp(base.reshape(-1, OPTIONS))
    probs = (1 - how["none"]) * weights / weights.sum(axis=1, keepdims=True)
    return np.concatenate([probs, np.full((len(probs), 1), how["none"])], axis=1)


def outcomes_of(probs: Floats, limits: Limits | None = None) -> Outcomes:
    """Return items with these probabilities: he and she in turn, with a right answer that is one of two options."""
    items = len(probs)
    gold = np.repeat(np.arange(items // 2) % 2, 2)
    first = np.arange(items) % 2

    groups = {
        "gender": np.where(first == 0, "male", "female"),
        "stereotype": np.where(first == gold, "pro", "anti"),
    }
    normed = probs / probs.sum(axis=1, keepdims=True)
    return planted.outcomes_of(np.log(probs), 2, groups, probs=normed, gold=gold, stereotype=first, limits=limits)


def sampled(name: str, sets: int, samples: int, rng: np.random.Generator) -> Outcomes:
    """Return what that many sampled answers say of a draw of sets."""
    true = world(name, sets, rng)
    counts = rng.multinomial(samples, true).astype(np.int64)
    outcomes = outcomes_of(true[:, :OPTIONS])
    return replace(with_counts(outcomes, counts), limits=Limits(counts=counts))


def seen(name: str, sets: int, top: int, rng: np.random.Generator) -> tuple[Outcomes, Outcomes]:
    """Return what the `top` most probable first tokens say of a draw of sets, and the truth."""
    true = world(name, sets, rng)
    share = rng.beta(0.5, 0.5, size=(len(true), OPTIONS))
    others = true[:, OPTIONS:] * rng.dirichlet(np.ones(4), size=len(true))
    tokens = np.concatenate([true[:, :OPTIONS] * share, true[:, :OPTIONS] * (1 - share), others], axis=1)
    order = np.argsort(-tokens, axis=1)[:, :top]
    shown = np.zeros(tokens.shape, dtype=bool)
    np.put_along_axis(shown, order, True, axis=1)
    last = np.take_along_axis(tokens, order[:, -1:], axis=1)
    left = np.maximum(0.0, 1 - (tokens * shown).sum(axis=1, keepdims=True))
    spellings = [slice(0, OPTIONS), slice(OPTIONS, 2 * OPTIONS)]
    low = sum((tokens * shown)[:, spelling] for spelling in spellings)
    high = np.minimum(1.0, low + np.minimum(sum(~shown[:, s] for s in spellings) * last, left))
    values = np.where(low > 0, low, np.maximum(high, 1e-12))
    return outcomes_of(values, Limits(low=low, high=high)), outcomes_of(true[:, :OPTIONS])


def plan_of(metrics: Sequence[str] = SHOWN, resamples: int = 300) -> Plan:
    return Plan([METRICS[name] for name in metrics], by=(), resamples=resamples)


def truth(name: str, sets: int = 50_000) -> dict[str, float]:
    """Return the value of each metric for endlessly many sentences and answers."""
    true = outcomes_of(world(name, sets, np.random.default_rng(9))[:, :OPTIONS])
    plan = plan_of()
    return {metric: value for (metric, _), value in point_values(measured_items(true, plan), plan).items()}


def covered(name: str, draws: int, sets: int, samples: int) -> dict[str, list[float]]:
    """Return for each metric the share of plain and of widened intervals that hold the truth, and their mean widths."""
    true, plan = truth(name), plan_of()
    hits: dict[str, list[list[float]]] = {metric: [] for metric in SHOWN}
    for seed in range(draws):
        items = measured_items(sampled(name, sets, samples, np.random.default_rng([seed, samples])), plan)
        rows = [measure(items, plan, KEY)[0], measure_items(items, plan, KEY)]
        for plain, wide in zip(*([row for row in several if row.group == "all"] for several in rows), strict=True):
            value = true[plain.metric]
            inside = [row.low - 1e-9 <= value <= row.high + 1e-9 for row in (plain, wide)]
            hits[plain.metric].append([*map(float, inside), plain.high - plain.low, wide.high - wide.low])
    return {metric: np.mean(values, axis=0).tolist() for metric, values in hits.items()}


def outside(name: str, draws: int, sets: int, top: int) -> tuple[list[str], dict[str, float]]:
    """Return the values that the limits do not hold, and the mean width of each metric's leeway."""
    plan = Plan(list(METRICS.values()), by=("gender",))
    faults, widths = [], dict.fromkeys(SHOWN, 0.0)
    for seed in range(draws):
        known, true = seen(name, sets, top, np.random.default_rng([seed, top]))
        reach = leeways(known, plan, lambda filled: point_values(measured_items(filled, plan), plan))
        values, exact = (point_values(measured_items(o, plan), plan) for o in (known, true))
        for metric, leeway in reach.items():
            if np.isnan(values[metric]):
                continue  # a subset is empty: there are bounds, but no value that could move
            moved = exact.get(metric, values[metric]) - values[metric]
            if not leeway.down - 1e-9 <= moved <= leeway.up + 1e-9:
                faults.append(f"{metric[0]} ({metric[1]}): {values[metric]:.4f}, true {exact[metric]:.4f}, {leeway}")
            if metric[1] == "all" and metric[0] in widths:
                widths[metric[0]] += (leeway.up - leeway.down) / draws
    return faults, widths


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--samples", type=int, nargs="*", default=[32, 128])
    parser.add_argument("--top", type=int, nargs="*", default=[3, 5])
    parser.add_argument("--worlds", nargs="*", default=list(WORLDS), choices=WORLDS)
    chosen = parsed(parser, draws=1, sets=20, samples=[32], top=[3], worlds=["unsure"])
    for samples in chosen.samples:
        print(f"\n{samples} sampled answers, {chosen.sets} sets, {chosen.draws} draws: coverage (mean width)\n")
        print("| world | interval | " + " | ".join(SHOWN) + " |\n|---|---|" + "---:|" * len(SHOWN))
        for name in chosen.worlds:
            results = covered(name, chosen.draws, chosen.sets, samples)
            for kind, place in (("plain", 0), ("widened", 1)):
                cells = [f"{results[m][place]:.2f} ({results[m][place + 2]:.2f})" for m in SHOWN]
                print(f"| {name} | {kind} | {' | '.join(cells)} |", flush=True)
    for top in chosen.top:
        print(f"\ntop {top} of ten first tokens, {chosen.sets} sets, {chosen.draws} draws: mean width of the leeway\n")
        print("| world | " + " | ".join(SHOWN) + " | values outside |\n|---|" + "---:|" * (len(SHOWN) + 1))
        for name in chosen.worlds:
            faults, widths = outside(name, chosen.draws, chosen.sets, top)
            print(f"| {name} | {' | '.join(f'{widths[m]:.2f}' for m in SHOWN)} | {len(faults)} |", flush=True)
            for fault in faults[:5]:
                print(f"<!-- {fault} -->")


if __name__ == "__main__":
    main()
