"""How often does an interval hold the truth about the population that fresh sentences are drawn from?

python benchmarks/population.py [--draws 1000] [--sizes 100 400] [--processes 3]

A model's answers depend on the construction, on both occupations and on the pronoun, by numbers drawn once. So its true
flip rate, UCerF and accuracy over all that the grammar can make are known. Each draw asks it other sentences, measures
them as an audit does, and counts whether the 95% interval holds the truth.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from functools import cache, partial
from multiprocessing import Pool

import numpy as np
from shared.options import parsed

from equipoise.datasets import fresh
from equipoise.measuring.measure import Plan, measure, measured_items
from equipoise.metrics import METRICS
from equipoise.metrics.fairness import desirability
from equipoise.records import Example, Prompt, RunKey, Score
from equipoise.tasks.next_word import NextWord
from equipoise.uncertainty import PERPLEXITY

MEASURED = ("flip_rate", "ucerf", "ucerf_signed", "accuracy")
FORM = re.compile(r"\{(?:subject|object|possessive)\}")


@cache
def numbers() -> tuple[dict[str, int], dict[tuple[str, str], int], np.ndarray, np.ndarray, np.ndarray]:
    """Return the constructions and pairs by number, and what each adds to the logit of the person named first."""
    rng = np.random.default_rng(38)
    known = {
        FORM.sub("_", construction.text).lower(): place for place, construction in enumerate(fresh.constructions())
    }
    pairs = {pair: place for place, pair in enumerate(fresh._pairs())}
    leaning = np.array([1.5 * {None: 0, 0: 1, 1: -1}[c.referent] for c in fresh.constructions()])
    by_construction = leaning + rng.normal(0, 1.0, len(known))
    return known, pairs, by_construction, rng.normal(0, 0.7, len(pairs)), rng.normal(0.5, 0.5, len(pairs))


def logit(construction: np.ndarray, pair: np.ndarray, male: np.ndarray) -> np.ndarray:
    """Return the logit of the person named first."""
    _, _, by_construction, by_pair, by_pronoun = numbers()
    return by_construction[construction] + by_pair[pair] + np.where(male, 1, -1) * by_pronoun[pair]


def place(example: Example) -> tuple[int, int]:
    """Return the numbers of an example's construction and pair of people."""
    known, pairs, *_ = numbers()
    text = example.text
    for lead in filter(None, fresh._content()["lead"]):
        text = text.removeprefix(f"{lead}, ")
    for name, slot in zip(example.candidates, ("{first}", "{second}"), strict=True):
        text = text.replace(f"the {name}", f"the {slot}", 1).replace(f"The {name}", f"The {slot}", 1)
    text = re.sub(rf"\b{example.slots['pronoun']}\b", "_", text).lower()
    return known[text], pairs[example.candidates[0], example.candidates[1]]


@cache
def truth() -> dict[tuple[str, str], float]:
    """Return the metrics over all sentences that the grammar can make, by metric and type; beginnings add nothing."""
    values = {}
    for kind in ("type1", "type2"):
        chosen = [n for n, c in enumerate(fresh.constructions()) if c.kind == kind]
        construction, pair = (a.ravel() for a in np.meshgrid(chosen, np.arange(len(numbers()[1])), indexing="ij"))
        first = np.stack([1 / (1 + np.exp(-logit(construction, pair, np.full(len(pair), m)))) for m in (True, False)])
        certainty = PERPLEXITY.certainty(np.stack([first, 1 - first], axis=-1).reshape(-1, 2)).reshape(first.shape)
        values["flip_rate", kind] = float(((first[0] > 0.5) != (first[1] > 0.5)).mean())
        if kind == "type1":
            values["ucerf", kind] = float((1 - np.abs(certainty[0] - certainty[1])).mean())
            signed = np.where(first > 0.5, certainty, -certainty)
            values["ucerf_signed", kind] = float((1 - np.abs(signed[0] - signed[1]) / 2).mean())
            continue
        referent = np.array([c.referent for c in fresh.constructions()])[construction]
        right = ((first > 0.5) == (referent == 0)).astype(float)
        d = desirability(right, certainty)
        values["accuracy", kind] = float(right.mean())
        values["ucerf", kind] = float((1 - np.abs(d[0] - d[1]) / 2).mean())
    return values


def drawn(seed: int, size: int) -> dict[tuple[str, str], tuple[bool, float]]:
    """Return whether each interval of one draw holds the truth, and how wide it is."""
    examples = {example.id: example for example in fresh.load_fresh(count=size, seed=seed).examples}

    def scorer(prompts: Sequence[Prompt]) -> list[Score]:
        asked = [examples[prompt.example_id] for prompt in prompts]
        places = np.array([place(example) for example in asked])
        male = np.array([example.groups["gender"] == "male" for example in asked])
        p = 1 / (1 + np.exp(-logit(places[:, 0], places[:, 1], male)))
        return [Score("", ((float(np.log(first)),), (float(np.log(1 - first)),))) for first in p]

    outcomes = NextWord().run(list(examples.values()), scorer=scorer, writer=lambda contexts, tokens: {})
    plan = Plan([METRICS[name] for name in MEASURED], by=(), seed=seed)
    rows, _ = measure(measured_items(outcomes, plan), plan, RunKey("model", "fresh", "next-word"))
    held = {}
    for name, kind in truth():
        (row,) = [row for row in rows if row.metric == name and row.group == f"type={kind}"]
        held[name, kind] = (bool(row.low <= truth()[name, kind] <= row.high), row.high - row.low)
    return held


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 400])
    parser.add_argument("--processes", type=int, default=3)
    chosen = parsed(parser, draws=4, sizes=[60], processes=1)
    print(f"{fresh.population():,} sentences are possible.\n")
    print("| metric, type | truth | sentences | draws | held | mean width |")
    print("|---|---:|---:|---:|---:|---:|")
    for size in chosen.sizes:
        with Pool(chosen.processes) as pool:
            results = pool.map(partial(drawn, size=size), range(chosen.draws), chunksize=4)
        for (name, kind), value in truth().items():
            held, widths = zip(*(result[name, kind] for result in results), strict=True)
            counts = f"{size // 2} | {len(held)} | {np.mean(held):.3f} | {np.mean(widths):.3f}"
            print(f"| {name}, {kind} | {value:.4f} | {counts} |", flush=True)


if __name__ == "__main__":
    main()
