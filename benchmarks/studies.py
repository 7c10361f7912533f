"""What do comparisons and studies say of models whose truth is known?

python benchmarks/studies.py [--draws 200] [--studies compare estimators wording temperature tasks]

Each draw audits planted models with noise of its own, asks the study as the command line does, and reads what it says.
"said" is the share of draws in which a difference is claimed, "false" the share with at least one claim that is not so:
a difference where there is none, or one the other way round. "alone" is how often one of the same tests by itself, not
corrected for the others, would have claimed a difference.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from shared.options import parsed

from equipoise import audit
from equipoise.comparing.comparison import compare
from equipoise.comparing.estimators import estimator_studies
from equipoise.comparing.wordings import wording_parts
from equipoise.measuring.drawn_answers import at_temperature, drawn_answers
from equipoise.measuring.estimators import Resamples
from equipoise.runs.run import Run
from equipoise.scoring.planted import PlantedEngine
from equipoise.stats.paired import DETECTED, is_detected
from equipoise.topics.comparison.differences import answer as comparison_answer
from equipoise.topics.questions import differences_of
from equipoise.topics.wordings import wording_answers

SAME = {"strength": 1.5, "bias": 0.3, "noise": 1.0}
"""The model that others are compared with."""

NEVER = -40.0
"""The logit of a third option that is never chosen."""

RESAMPLES = 200

FEW = ("ucerf", "ucerf_signed", "flip_rate", "accuracy")
"""What a study of one run reads: measuring no more than that takes half of the time."""


@dataclass(frozen=True)
class Said:
    """What one draw says: whether a difference is claimed, a claim is false, and one of the tests alone would claim.

    `alone` is None where a study keeps no test by itself.
    """

    claimed: bool
    false: bool
    alone: bool | None


Study = Callable[[Path, int, dict[str, float]], Said]


def audited(folder: Path, seed: int, numbers: dict[str, float], limit: int = 120, **asked: Any) -> Run:
    """Return a run of a planted model with noise of its own."""
    engine = PlantedEngine(**{**numbers, "seed": float(seed)})
    return audit(engine, "builtin", out=folder, limit=limit, resamples=RESAMPLES, by=["stereotype"], **asked)


def compared(folder: Path, seed: int, other: dict[str, float]) -> Said:
    """Return what `compare` says of two models."""
    runs = [audited(folder / name, 2 * seed + place, numbers) for place, (name, numbers) in enumerate(pair(other))]
    comparison = compare(runs, resamples=RESAMPLES)
    claimed = comparison_answer(comparison).text.startswith("The runs differ")
    # The other one is more biased: more of its answers change, and it treats sets less alike.
    truth = {"flip_rate": -1, "ucerf_signed": 1}
    wrong = [t for t in comparison.tests if t.detected and t.row.value * truth.get(t.row.metric, t.row.value) < 0]
    alone = any(t.difference.p < DETECTED for t in comparison.tests)
    return Said(claimed, claimed if other == SAME else bool(wrong), alone)


def pair(other: dict[str, float]) -> list[tuple[str, dict[str, float]]]:
    """Return two models by the names of their folders."""
    return [("one", SAME), ("other", other)]


def estimated(folder: Path, seed: int, other: dict[str, float]) -> Said:
    """Return what `study estimators` says of the order of two models."""
    runs = [audited(folder / name, 2 * seed + place, numbers) for place, (name, numbers) in enumerate(pair(other))]
    studies = estimator_studies(runs, Resamples(resamples=RESAMPLES))
    # Unsigned UCerF of ambiguous sets is blind to the answers, so it has no order that is known.
    parts = [part for part in studies.parts if other == SAME or (part.kind, part.metric.name) != ("type1", "ucerf")]
    orders = [order for part in parts for order in part.study.orders]
    claimed = any(order.for_first or order.for_second for order in orders)
    changed = any(order.for_second for order in orders)
    return Said(claimed, claimed if other == SAME else changed, None)


def worded(folder: Path, seed: int, numbers: dict[str, float]) -> Said:
    """Return what `study wording` says of one model in ten wordings."""
    run = audited(folder / "one", seed, numbers, wordings="built-in", limit=80, metrics=FEW)
    parts = wording_parts([run], Resamples(resamples=RESAMPLES))
    # The wording moves answers where one is right; what no answer is right for stays as it is.
    said = {part.part.kind: False for part in parts}
    for part in parts:
        said[part.part.kind] |= any(": The wording matters" in finding.text for finding in wording_answers(part))
    alone = any(apart.difference.p < DETECTED for part in parts for apart in part.worded.apart)
    false = said.get("type1", False) or (said.get("type2", False) and not numbers["wording"])
    return Said(any(said.values()), false, alone)


def asked_twice(folder: Path, seed: int, numbers: dict[str, float]) -> Said:
    """Return what the section on tasks says of flips and accuracy, asked with and without options."""
    run = audited(folder / "one", seed, numbers, task=["next-word", "mcq"], metrics=FEW)
    # Without a third option the answers have the same distribution. UCerF has not: its scale knows three answers.
    rows = [row for row in differences_of(run, run.parts[0].dataset) if row.metric in ("flip_rate", "accuracy")]
    held = [row for row in rows if is_detected(row.estimate)]
    # A third option takes from what is right; flips may go either way.
    wrong = [row for row in held if row.metric == "accuracy" and row.estimate.value > 0]
    false = held if numbers["other"] == NEVER else wrong
    return Said(bool(held), bool(false), any(row.estimate.p < DETECTED for row in rows))


def drawn(folder: Path, seed: int, numbers: dict[str, float]) -> Said:
    """Return whether `study temperature` is off what drawing 400 times gives, by more than 4 standard errors."""
    run = audited(folder / "one", seed, numbers, metrics=FEW)
    outcomes = run.parts[0].outcomes
    inside = outcomes.group("type") == "type2"
    items, rng = outcomes.take(inside), np.random.default_rng(seed)
    off = []
    for row in drawn_answers(items, [0.5, 1.0, 2.0], draws=2):
        if row.temperature:
            cumulative = at_temperature(items.probs, row.temperature).cumsum(axis=1)
            chosen = (rng.random((400, len(items), 1)) > cumulative[None, :, :-1]).sum(axis=2)
            right = (chosen == items.gold).mean(axis=1)
            off.append(abs(right.mean() - row.accuracy) > 4 * right.std(ddof=1) / 20)
            off.append(not numbers["bias"] and not numbers["noise"] and row.odds > 1e-9)
    return Said(any(off), any(off), any(off))


WORLDS: dict[str, list[tuple[str, Study, dict[str, float]]]] = {
    "compare": [
        ("two models alike", compared, SAME),
        ("bias 0.4 more", compared, {**SAME, "bias": 0.7}),
        ("bias 0.8 more", compared, {**SAME, "bias": 1.1}),
    ],
    "estimators": [
        ("two models alike", estimated, SAME),
        ("bias 0.4 more", estimated, {**SAME, "bias": 0.7}),
        ("bias 0.8 more", estimated, {**SAME, "bias": 1.1}),
    ],
    "wording": [
        ("wordings alike", worded, {**SAME, "wording": 0.0}),
        ("wordings apart by 1", worded, {**SAME, "wording": 1.0}),
        ("wordings apart by 2", worded, {**SAME, "wording": 2.0}),
    ],
    "tasks": [
        ("tasks alike", asked_twice, {**SAME, "other": NEVER}),
        ("a third option", asked_twice, {**SAME, "other": 0.0}),
        ("a tempting third option", asked_twice, {**SAME, "other": 0.5}),
    ],
    "temperature": [
        ("expectation is right", drawn, SAME),
        ("no bias, no noise: eo_sum is 0", drawn, {"strength": 1.5, "bias": 0.0, "noise": 0.0}),
    ],
}


def rows(study: str, draws: int, world: int | None) -> Iterator[str]:
    """Yield a line of the table for each world of a study, or for one of them."""
    for name, said, numbers in WORLDS[study][slice(world, None if world is None else world + 1)]:
        every: list[Said] = []
        for seed in range(1, draws + 1):
            with tempfile.TemporaryDirectory() as folder:
                every.append(said(Path(folder), seed, numbers))
        claimed, false = (np.mean([getattr(one, field) for one in every]) for field in ("claimed", "false"))
        alone = "–" if every[0].alone is None else f"{np.mean([one.alone for one in every]):.3f}"
        error = np.sqrt(false * (1 - false) / draws)
        yield f"| {study} | {name} | {draws} | {claimed:.3f} | {false:.3f} | {error:.3f} | {alone} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--studies", nargs="+", default=list(WORLDS), choices=list(WORLDS))
    parser.add_argument("--world", type=int, help="only this world of each study, from 0; by default all")
    chosen = parsed(parser, draws=1, studies=["compare", "temperature"])
    print("| study | truth | draws | said | false | standard error | alone |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for study in chosen.studies:
        for row in rows(study, chosen.draws, chosen.world):
            print(row, flush=True)


if __name__ == "__main__":
    main()
