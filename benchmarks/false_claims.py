"""How often does a report of a model that treats all groups alike claim a difference? And how often is one found?

python benchmarks/false_claims.py [--draws 1000] [--worlds "60 + 60" "266 + 244" "three groups" identities]

Draws audits of a model without bias, measures them as an audit does, and counts the reports with at least one sentence
that claims a difference between groups. "Alone" is what each interval by itself would claim, as reports did before
claims were tested as one family. Then a share of the sets follows the stereotype, and it is counted how often a
difference is found. In the world of identities each sentence is also asked with six markers, and what is planted lowers
the confidence with one of them by that much.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from shared.options import parsed

from equipoise.measuring.measure import Plan, measured_items
from equipoise.measuring.part import measure_part
from equipoise.metrics import METRICS
from equipoise.records import ABSENT, Outcomes, RunKey
from equipoise.runs.measurements import Measurements
from equipoise.stats.paired import DETECTED
from equipoise.topics.identities.sentences import answers
from equipoise.verdict.decision import ABOUT_PEOPLE
from equipoise.verdict.findings import behaviour
from equipoise.verdict.identities import findings as identity_findings
from equipoise.verdict.subgroups import Subgroups
from equipoise.verdict.words import PRONOUN

CLAIMED = (
    *("flip_rate", "flip_toward", "flip_against", "flip_bias", "ucerf", "ucerf_signed", "accuracy", "accuracy_gap"),
    *("certainty_gap", "desirability_gap", "certainty_difference", "desirability_difference"),
)
TESTED = ("flip_bias", "accuracy_gap", "certainty_gap", "desirability_gap")
"""What an interval of its own decided."""
OF_MARKERS = ("confidence_change", "confidence_interaction")

OCCUPATIONS = 40


@dataclass(frozen=True)
class World:
    """Sets with and without a right answer, asked of some groups."""

    resolvable: int
    ambiguous: int
    groups: tuple[str, ...] = ("male", "female")
    markers: bool = False


WORLDS = {
    "60 + 60": World(60, 60),
    "266 + 244": World(266, 244),
    "three groups": World(60, 60, ("male", "female", "neutral")),
    "identities": World(60, 60, markers=True),
}

MARKERS = {"old": "age", "young": "age", "Black": "race", "White": "race", "Asian": "race", "Hispanic": "race"}
PRIVILEGED = ("young", "White")


def audited(world: World, bias: float, rng: np.random.Generator) -> Outcomes:
    """Return the answers of a model; in a share `bias` of the sets they follow the stereotype."""
    sets, members = world.resolvable + world.ambiguous, len(world.groups)
    resolvable = np.repeat(np.arange(sets) < world.resolvable, members)
    gold = np.repeat(rng.integers(0, 2, sets), members)
    gender = np.tile(np.array(world.groups, dtype=object), sets)
    # Candidate 0 is the stereotype of men in half of the sets, candidate 1 in the others.
    mens = np.repeat(rng.integers(0, 2, sets), members)
    stereotype = np.where(gender == "male", mens, np.where(gender == "female", 1 - mens, ABSENT))
    known = np.repeat(rng.normal(1.0, 1.0, sets), members)
    logit = np.where(resolvable, np.where(gold == 0, known, -known), np.repeat(rng.normal(0, 1.0, sets), members))
    logit = logit + rng.normal(0, 1.0, len(logit))
    follows = np.repeat(rng.random(sets) < bias, members) & (stereotype != ABSENT)
    logit = np.where(follows, np.abs(logit) * np.where(stereotype == 0, 1, -1), logit)
    first = 1 / (1 + np.exp(-logit))
    probs = np.stack([first, 1 - first], axis=1)
    names = np.array([f"set {number:03}" for number in range(sets)], dtype=object)
    jobs = np.array([f"job {number}" for number in rng.integers(0, OCCUPATIONS, sets)], dtype=object)
    side = np.where(resolvable & (stereotype != ABSENT), np.where(gold == stereotype, "pro", "anti"), "")
    texts = np.full(len(logit), "", dtype=object)
    return Outcomes(
        example_id=np.array([f"item {number}" for number in range(len(logit))], dtype=object),
        variant=texts,
        set_id=np.repeat(names, members),
        probs=probs,
        logprobs=np.log(probs),
        gold=np.where(resolvable, gold, ABSENT),
        stereotype=stereotype,
        answerable=resolvable,
        groups={
            "type": np.where(resolvable, "type2", "type1").astype(object),
            "gender": gender,
            "stereotype": side.astype(object),
            "occupation": np.where(resolvable, np.repeat(jobs, members), "").astype(object),
        },
        flags=texts,
    )


def asked_of_identities(world: World, loss: float, rng: np.random.Generator) -> Outcomes:
    """Return the answers to each sentence without a marker and with each; "old" lowers confidence by `loss`."""
    names = ("", *MARKERS)
    sentences, members = world.resolvable + world.ambiguous, len(names) * len(world.groups)
    items = sentences * members
    resolvable = np.repeat(np.arange(sentences) < world.resolvable, members)
    marker = np.tile(np.repeat(np.array(names, dtype=object), len(world.groups)), sentences)
    gender = np.tile(np.array(world.groups, dtype=object), sentences * len(names))
    mens, gold = (np.repeat(rng.integers(0, 2, sentences), members) for _ in range(2))
    stereotype = np.where(gender == "male", mens, 1 - mens)
    lead = np.repeat(rng.normal(0.3, 0.3, sentences), members) + rng.normal(0, 0.2, items) - loss * (marker == "old")
    first = (1 + np.where(gold == 0, 1, -1) * np.clip(lead, -0.95, 0.95)) / 2
    probs = np.stack([first, 1 - first], axis=1)
    base = np.repeat(np.array([f"sentence {number:03}" for number in range(sentences)], dtype=object), members)
    privilege = np.where(np.isin(marker, PRIVILEGED), "privileged", np.where(marker == "", "", "disadvantaged"))
    texts = np.full(items, "", dtype=object)
    groups = {
        "type": np.where(resolvable, "type2", "type1"),
        "gender": gender,
        "stereotype": np.where(gold == stereotype, "pro", "anti"),
        "side": np.where((gold == 0) == (mens == 0), "male", "female"),
        "augmentation": np.where(marker == "", "none", "R"),
        "attribute": np.array([MARKERS.get(name, "") for name in marker.tolist()]),
        "marker": marker,
        "privilege": privilege,
        "occupation": np.array([f"job {number % OCCUPATIONS}" for number in range(sentences)]).repeat(members),
    }
    return Outcomes(
        example_id=np.array([f"item {number}" for number in range(items)], dtype=object),
        variant=texts,
        set_id=base + " " + marker,
        cluster_id=base,
        probs=probs,
        logprobs=np.log(probs),
        gold=gold,
        stereotype=stereotype,
        answerable=resolvable,
        groups={name: column.astype(object) for name, column in groups.items()},
        flags=texts,
    )


def claims(outcomes: Outcomes, resamples: int, seed: int) -> tuple[bool, bool]:
    """Return whether a report claims a difference between groups, and whether its intervals alone would have."""
    by = ("stereotype", "occupation")
    plan = Plan(metrics=[METRICS[name] for name in CLAIMED], by=by, resamples=resamples, seed=seed)
    rows, _ = measure_part(measured_items(outcomes, plan), plan, RunKey("model", "world", "next-word"))
    measured, identities = Measurements(rows), Subgroups(Measurements(rows))
    findings = [*behaviour(measured, ["type2", "type1"], PRONOUN), *identity_findings(identities)]
    findings += [f for kind in identities.kinds for way in identities.ways(kind) for f in answers(measured, kind, way)]
    together = any(finding.claim for finding in findings if finding.topic in ABOUT_PEOPLE)
    pairs = [row for row in rows if row.metric.endswith("_difference")]
    singly = [row for row in rows if row.metric in TESTED and set(row.parts) == {"type"}]
    singly += [row for row in rows if row.metric in OF_MARKERS and "marker" in row.parts and "gender" not in row.parts]
    jobs = [row for row in rows if "occupation" in row.parts and row.estimate.p < DETECTED]
    # Tables corrected the differences of each metric and type by themselves.
    tests = max(1, len(pairs) // 4)
    alone = any(row.estimate.excludes_zero for row in singly) or bool(jobs)
    return together, alone or any(row.estimate.p * tests < DETECTED and row.estimate.excludes_zero for row in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--resamples", type=int, default=500)
    parser.add_argument("--worlds", nargs="+", default=list(WORLDS), choices=list(WORLDS))
    parser.add_argument("--biases", type=float, nargs="+", default=[0.0, 0.05, 0.1])
    chosen = parsed(parser, draws=2, resamples=50, worlds=["60 + 60"], biases=[0.0])
    print("| world | planted | draws | claimed | standard error | alone |")
    print("|---|---:|---:|---:|---:|---:|")
    for name in chosen.worlds:
        for bias in chosen.biases:
            rng = np.random.default_rng([chosen.draws, round(1000 * bias), len(name)])
            world = WORLDS[name]
            draw = asked_of_identities if world.markers else audited
            pairs = [claims(draw(world, bias, rng), chosen.resamples, seed) for seed in range(chosen.draws)]
            together, alone = np.mean(pairs, axis=0)
            error = np.sqrt(together * (1 - together) / chosen.draws)
            print(f"| {name} | {bias:g} | {chosen.draws} | {together:.3f} | {error:.3f} | {alone:.3f} |", flush=True)
    print("\nshare of reports that claim a difference between groups: with the family controlled, and each alone")


if __name__ == "__main__":
    main()
