"""Are planted effects of markers, genders and their crossing found, and nothing else? Whole audits, no model needed.

    python benchmarks/planted_markers.py [--audits 500] [--processes 3] [--drawn 4000]

Each audit asks a planted engine with a new seed, and is measured as any audit is. The truth is the same engine without
noise: its noise is symmetric around 0, so its means are the planted ones. Counted are the intervals that hold the
truth, the audits that assert a difference (in a sentence, or by a mark in a table) and those that assert one which is
not so, and the stopped audits whose interval holds the dataset's own value.

--drawn counts assertions in many more audits: answers are drawn with the engine's distribution, without its texts, and
nothing but the claims is computed. It also says how often planted effects of several sizes are found, by a family
without and with the marks of the table of disparities.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial

import numpy as np
from shared.options import parsed

from equipoise.datasets import Dataset, open_dataset
from equipoise.datasets.identity import identity_dataset, recipe
from equipoise.measuring.claims import SHARES
from equipoise.measuring.identities import confidence_disparities
from equipoise.measuring.identity_claims import Claim, identity_claims
from equipoise.measuring.items import Items
from equipoise.measuring.measure import Plan, measured_items
from equipoise.measuring.part import measure_part
from equipoise.measuring.sampling import until_precise
from equipoise.measuring.stopping import Sample
from equipoise.records import Measurement, Outcomes, RunKey
from equipoise.scoring.planted import PlantedEngine, open_planted
from equipoise.stats.bootstrap import percentile, weight_chunks
from equipoise.stats.paired import DETECTED, is_detected
from equipoise.stats.signs import sign_tests
from equipoise.tasks import open_task

WORLDS = {
    "effects": "lead=0.3,lead:old=-0.1,lead:female=-0.03,lead:old*female=-0.05,lead:Black=-0.06,"
    "lead:disadvantaged*anti=-0.04",
    "a gender gap alone": "lead=0.3,lead:female=-0.05",
    "nothing": "lead=0.3",
}
SMALL = {
    "old -0.02": "lead=0.3,lead:old=-0.02",
    "old -0.03": "lead=0.3,lead:old=-0.03",
    "she -0.03": "lead=0.3,lead:female=-0.03",
    "old and she -0.06": "lead=0.3,lead:old*female=-0.06",
}
"""Effects that are found in a part of the audits only."""
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
WIDTH = 0.08
ROUNDING = 1e-9
EXCHANGES = 999
"""Of each drawn audit: a fifth of what an audit has, which makes the test no less valid."""
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
            counts[f"{metric}: held"] += row.low - ROUNDING <= truth(world)[metric, group] <= row.high + ROUNDING
    # Everything that a page asserts by a p-value: sentences, colours and the marks of the table of disparities.
    asserted = {key: row for key, row in rows.items() if is_detected(row.estimate)}
    false = {key for key, row in asserted.items() if row.value * truth(world)[key] <= ROUNDING}
    counts += Counter({"asserted": bool(asserted), "false": bool(false)})
    counts += Counter({f"{metric}: false": 1 for metric in {metric for metric, _ in false}})
    counts += stopped(outcomes, plan)
    for name in (*METRICS, "stopped"):
        # Intervals of one audit depend on each other: the error of their share comes from audit to audit.
        share = counts[f"{name}: held"] / max(1, counts[f"{name}: intervals"])
        counts += Counter({f"{name}: audits": bool(counts[f"{name}: intervals"]), f"{name}: squares": share**2})
    return counts


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
            counts["stopped: held"] += row.low - ROUNDING <= whole[name] <= row.high + ROUNDING
    return counts


MASS, SPREADS = 0.9, (0.5, 0.3)
"""What both candidates get, and the deviations of sentences and items: the engine's, with NOISE."""


def drawn_leads(rng: np.random.Generator, leads: np.ndarray | float, sentences: np.ndarray) -> np.ndarray:
    """Return P(referent) - P(other) of items as the engine draws them around planted leads, without its texts."""
    noise = SPREADS[0] * sentences + SPREADS[1] * rng.standard_normal(np.broadcast(leads, sentences).shape)
    return np.asarray(np.clip(MASS * np.tanh(noise / 2) + leads, -0.999 * MASS, 0.999 * MASS))


@dataclass(frozen=True)
class Drawn:
    """Audits of a world that are drawn, from the answers without noise.

    Every cluster has as many items, and what it adds to a claim is a weighted sum of their leads.
    """

    whole: Outcomes

    @cached_property
    def places(self) -> np.ndarray:
        """The items of each cluster, in a row."""
        clusters = np.unique(self.whole.cluster_id.astype(str), return_inverse=True)[1]
        return np.argsort(clusters, kind="stable").reshape(clusters.max() + 1, -1)

    @cached_property
    def leads(self) -> np.ndarray:
        """The planted lead of each item of each cluster."""
        rows, gold = np.arange(len(self.whole)), self.whole.gold
        return (MASS * (self.whole.probs[rows, gold] - self.whole.probs[rows, 1 - gold]))[self.places]

    @cached_property
    def weights(self) -> dict[tuple[str, str], np.ndarray]:
        """The weights of each claim: of its differences, clusters, and items of a cluster."""
        weights: dict[tuple[str, str], list[np.ndarray]] = {}
        for item in range(self.places.shape[1]):
            alone = np.zeros(self.places.shape)
            alone[:, item] = 0.1
            for claim in self.measured(alone):
                weights.setdefault(claim.name, []).append(np.atleast_2d(claim.units) / 0.1)
        return {name: np.stack(several, axis=-1) for name, several in weights.items()}

    def measured(self, leads: np.ndarray) -> Iterator[Claim]:
        """Yield the claims of an audit with these leads, as an audit makes them."""
        rows, gold, flat = np.arange(len(self.whole)), self.whole.gold, np.empty(len(self.whole))
        flat[self.places] = leads
        probs = np.empty_like(self.whole.probs)
        probs[rows, gold], probs[rows, 1 - gold] = (MASS + flat) / 2, (MASS - flat) / 2
        outcomes = replace(self.whole, probs=probs / MASS, logprobs=np.log(probs))
        yield from identity_claims(measured_items(outcomes, Plan([], by=(), resamples=2)))

    def claims(self, leads: np.ndarray) -> list[Claim]:
        """Return the same claims, from the weights."""
        return [Claim(name, np.einsum("dci,ci->dc", weights, leads)) for name, weights in self.weights.items()]

    @cached_property
    def planted(self) -> dict[tuple[str, str], np.ndarray]:
        """The differences of each claim that were planted."""
        return {claim.name: sums(claim) for claim in self.measured(self.leads)}

    def is_so(self, claim: Claim) -> bool:
        """Return whether a claim is true: it was planted, and one about a single difference has its sign."""
        planted = self.planted[claim.name]
        return bool(abs(planted).max() > ROUNDING and (len(planted) > 1 or planted[0] * sums(claim)[0] > 0))


def sums(claim: Claim) -> np.ndarray:
    """Return the differences of a claim."""
    return np.atleast_2d(claim.units).sum(axis=1)


def is_mark(claim: Claim) -> bool:
    """Return whether a claim is a mark in the table of disparities."""
    return claim.name[0] == "confidence_disparity" and "attribute" in claim.name[1]


def drawn_audit(seed: int, world: str) -> Counter[str]:
    """Return what a drawn audit asserts, in a family without and with the marks of the table."""
    drawn, counts, rng = drawn_world(world), Counter[str](), np.random.default_rng([5, seed])
    leads = drawn_leads(rng, drawn.leads, rng.standard_normal((len(drawn.leads), 1)))
    claims = drawn.claims(leads)
    if not seed:
        for claim, made in zip(claims, drawn.measured(leads), strict=True):
            np.testing.assert_allclose(claim.units, np.atleast_2d(made.units), atol=1e-9, err_msg=str(made.name))
    for family, several in (("sentences", [c for c in claims if not is_mark(c)]), ("all", claims)):
        tests = sign_tests([claim.units for claim in several], draws=EXCHANGES, seed=seed)
        shown = tests.corrected / SHARES["groups"] < DETECTED
        asserted = [claim for claim, is_shown in zip(several, shown.tolist(), strict=True) if is_shown]
        counts[f"{family}: false"] += not all(drawn.is_so(claim) for claim in asserted)
        said = [claim for claim in asserted if not is_mark(claim) and drawn.is_so(claim)]
        counts[f"{family}: a sentence"] += bool(said)
        counts[f"{family}: a mark"] += any(is_mark(claim) and drawn.is_so(claim) for claim in asserted)
    return counts


@cache
def drawn_world(world: str) -> Drawn:
    """Return the audits of a world."""
    return Drawn(answers(open_planted((WORLDS | SMALL)[world])))


def drawn_lines(draws: int, processes: int) -> Iterator[str]:
    """Yield what drawn audits of each world assert."""
    with ProcessPoolExecutor(processes) as pool:
        for world in WORLDS | SMALL:
            total = Counter[str]()
            for counts in pool.map(partial(drawn_audit, world=world), range(draws), chunksize=50):
                total.update(counts)
            for family in ("sentences", "all"):
                false = total[f"{family}: false"] / draws
                error = math.sqrt(false * (1 - false) / draws)
                said, marked = (total[f"{family}: {what}"] / draws for what in ("a sentence", "a mark"))
                found = f"a true sentence in {said:.3f}, a true mark in {marked:.3f}"
                yield f"{world}, family of {family}: false in {false:.4f} (standard error {error:.4f}), {found}"


def drawn_crossings(draws: int, resamples: int, sentences: int = 266) -> float:
    """Return how many intervals of a crossing of marker and gender hold 0 where nothing is planted."""
    rng, held = np.random.default_rng(11), 0
    for seed in range(draws):
        leads = drawn_leads(rng, np.full((sentences, 4), 0.3), rng.standard_normal((sentences, 1)))
        units = leads @ [1, -1, -1, 1]
        (weights,) = weight_chunks(sentences, resamples=resamples, seed=seed)()
        low, high = percentile(units.mean(), units @ weights / sentences, level=0.95, units=sentences).ends
        held += low <= 0 <= high
    return held / draws


def lines(world: str, counts: Counter[str], audits: int) -> Iterator[str]:
    """Yield a line for each metric of a world."""
    for name in (*METRICS, "stopped"):
        total = counts[f"{name}: intervals"]
        if total:
            share, several = counts[f"{name}: held"] / total, counts[f"{name}: audits"]
            error = math.sqrt(max(0.0, counts[f"{name}: squares"] / several - share**2) / several)
            yield f"{world}: {name}: {share:.4f} (standard error {error:.4f}) of {total:,} intervals hold the truth"
    false = counts["false"] / audits
    error = math.sqrt(false * (1 - false) / audits)
    yield f"{world}: something is asserted in {counts['asserted'] / audits:.3f} of {audits} audits"
    yield f"{world}: something that is not so in {false:.3f} (standard error {error:.3f})"
    for name in METRICS:
        if counts[f"{name}: false"]:
            yield f"{world}: {name}: falsely in {counts[f'{name}: false'] / audits:.3f}"
    share = counts["stopped: asked"] / counts["stopped: of"]
    yield f"{world}: stopped at a width of {WIDTH}: {share:.0%} of the sentences asked"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--audits", type=int, default=500)
    parser.add_argument("--resamples", type=int, default=2000)
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--drawn", type=int, default=0, help="no whole audits: this many drawn ones of each world")
    parser.add_argument("--minutes", type=float, default=60.0, help="no further audits after that")
    chosen = parsed(parser, audits=1, resamples=20, processes=1)
    if chosen.drawn:
        for line in drawn_lines(chosen.drawn, chosen.processes):
            print(line, flush=True)
        print(f"{drawn_crossings(chosen.drawn, chosen.resamples):.4f} of the intervals of a crossing hold 0")
        return
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
