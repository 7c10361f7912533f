"""Every metric that two runs have in common is compared as the audit measured it: same value, n and seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept_texts import assert_kept
from served_coverage import sampled, seen
from test_kept_measurements import asked, builtin

import equipoise
from equipoise.datasets import open_dataset
from equipoise.datasets.identity import identity_dataset, recipe
from equipoise.measuring.comparing import Compared, comparison_leeways, contests, widened_difference
from equipoise.measuring.leeway.widening import Leeway
from equipoise.measuring.measure import Plan, measured_items
from equipoise.metrics import METRICS
from equipoise.records import Estimate
from equipoise.runs.run import Run
from equipoise.scoring.planted import open_planted
from equipoise.stats.paired import Trial, paired_differences

PAIRS = "".join(
    f"The {who} {what} him.,The {who} {what} her.,{label}\n"
    for label, whos in enumerate((("nurse", "maid", "tailor"), ("cook", "pilot", "guard", "judge")))
    for who in whos
    for what in ("thanked", "rang", "met")
)


def contests_of(runs: Sequence[Run], *names: str) -> dict[tuple[str, str], Compared]:
    """Return the contests of two runs by metric and group; that each is there once is part of the contract."""
    plan = Plan([METRICS[name] for name in names], resamples=20)
    compared = list(contests(*(measured_items(run.parts[0].outcomes, plan) for run in runs), plan))
    by_name = {(contest.metric, contest.group): contest for contest in compared}
    assert len(by_name) == len(compared)
    return by_name


def agree_with_the_audits(runs: Sequence[Run], *names: str) -> set[str]:
    """Check that the difference and n of every contest are those of the measurements; return the groups compared."""
    compared = contests_of(runs, *names)
    clusters = runs[0].outcomes["cluster_id"].nunique()
    trial = Trial(resamples=50, permutations=50)
    differences = paired_differences([c.contest for c in compared.values()], clusters=clusters, trial=trial)
    for (metric, group), difference in zip(compared, differences, strict=True):
        first, second = (run.parts[0].measured.at(metric, group) for run in runs)
        assert first is not None and second is not None, (metric, group)
        assert difference.value == pytest.approx(first.value - second.value, abs=1e-12), (metric, group)
        assert difference.n == first.n, (metric, group)
        assert np.isnan(difference.low) or difference.low <= difference.high
    assert {metric for metric, _ in compared} == set(names)
    return {group for _, group in compared}


@pytest.fixture(scope="module")
def cloze_runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    folder = tmp_path_factory.mktemp("cloze")
    (folder / "pairs.csv").write_text("sent_more,sent_less,y\n" + PAIRS)
    models = ("planted:bias=1.5,noise=1", "planted:bias=0.2,noise=1")
    return [
        equipoise.audit(model, str(folder / "pairs.csv"), "cloze", out=folder / str(number), resamples=20)
        for number, model in enumerate(models)
    ]


def test_calibration_is_compared(cloze_runs: list[Run]) -> None:
    groups = agree_with_the_audits(cloze_runs, "ece", "brier", "gender_ece", "human_alignment", "preference")
    assert {"all", "predicted_gender=male"} <= groups
    # What is not resampled has no contest.
    assert contests_of(cloze_runs, "ece_floor") == {}


@pytest.fixture(scope="module")
def identity_runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    data = identity_dataset(open_dataset("builtin").limited(16), recipe(attributes=["age", "race"]))
    engines = [
        open_planted(f"lead=0.4,lead:old={lead},lead:female=-0.1,sentence=0.2,noise=0.1,echo=0.2")
        for lead in (-0.2, 0.0)
    ]
    return [
        equipoise.audit(engine, data, out=tmp_path_factory.mktemp("identities"), resamples=20) for engine in engines
    ]


def test_confidence_with_markers_counted_is_compared(identity_runs: list[Run]) -> None:
    assert {"all", "type=type2"} <= agree_with_the_audits(identity_runs, "confidence_marked")


@pytest.mark.parametrize("value", ["confidence", "confidence_pair", "confidence_marked", "accuracy"])
def test_drops_and_disparities_are_compared(identity_runs: list[Run], value: str) -> None:
    groups = agree_with_the_audits(identity_runs, f"{value}_drop", f"{value}_disparity")
    ways = ("R", "NR", "C")
    assert groups == {
        *(f"augmentation={way},type=type2" for way in ways),
        *(f"attribute={name},augmentation={way},type=type2" for way in ways for name in ("age", "race")),
    }


def test_the_gender_gap_and_both_kinds_of_ucerf_are_compared(identity_runs: list[Run]) -> None:
    agree_with_the_audits(identity_runs, "confidence_gender_gap")
    agree_with_the_audits(identity_runs, "ucerf", "ucerf_intersectional", "fp")


def test_vocabulary_entropy_is_compared(tiny_llama: Callable[..., Path], tmp_path: Path) -> None:
    choices: dict[str, Any] = {"limit": 6, "resamples": 10, "device": "cpu", "whole_vocabulary": True}
    runs = [equipoise.audit(str(tiny_llama(seed=seed)), out=tmp_path / str(seed), **choices) for seed in (1, 2)]
    assert {"all", "type=type2"} <= agree_with_the_audits(runs, "vocab_bits", "vocab_mass")


@pytest.mark.slow
def test_seeds_are_averaged_and_counted_once(tmp_path: Path) -> None:
    runs = [
        equipoise.audit(
            f"planted:bias={bias},noise=1", task="mcq", orders=3, limit=12, resamples=20, out=tmp_path / bias
        )
        for bias in ("1.5", "0.1")
    ]
    agree_with_the_audits(runs, "ucerf", "accuracy", "eo_sum", "certainty")
    accuracy = contests_of(runs, "accuracy")["accuracy", "type=type2"].contest
    assert len(accuracy.first) == len(accuracy.second) == 3
    asked = runs[0].outcomes.query("type == 'type2' and variant == 'seed=0'")
    assert accuracy.n == len(asked) == len(accuracy.first[0].clusters)


def test_a_metric_that_one_of_the_runs_does_not_have_is_left_out(make_outcomes) -> None:
    plan = Plan([METRICS["accuracy_gap"], METRICS["accuracy"]], by=(), resamples=5)
    rows = [{"pair": f"p{n}", "probs": (0.9, 0.1), "gold": 0} for n in range(4)]
    without = measured_items(make_outcomes(rows), plan)
    sided = [{**row, "stereotype": ("pro", "anti")[n % 2]} for n, row in enumerate(rows)]
    both = measured_items(make_outcomes(sided), plan)
    assert {c.metric for c in contests(both, without, plan)} == {"accuracy"}
    assert {c.metric for c in contests(both, both, plan)} == {"accuracy", "accuracy_gap"}


def test_contests_of_drawn_items_are_as_kept() -> None:
    names = ("accuracy", "ucerf", "eo_sum", "perplexity", "accuracy_gap", "ece", "bbq_bias_ambiguous")
    plan = Plan([METRICS[name] for name in names], by=["gender"], resamples=20)
    made = {}
    for kind, task, options in (("sentences", "next-word", {}), ("orders", "mcq", {"seeds": (1, 2)})):
        outcomes = [asked(builtin(12), task, f"strength=1,bias=0.7,noise=1,seed={n}", **options) for n in (1, 2)]
        for found in contests(*(measured_items(several, plan) for several in outcomes), plan):
            contest = found.contest
            units = None if contest.units is None else [contest.units.sum(), len(contest.units)]
            sizes = None if contest.sizes is None else contest.sizes.sum()
            facts = [contest.difference, contest.n, contest.width, units, sizes, len(contest.first)]
            made[f"{kind}, {found.metric} {found.group}"] = facts
    assert_kept("measured/contests", made)


def test_marked_sentences_are_compared_as_kept() -> None:
    data = identity_dataset(builtin(8), recipe(attributes=["age"], augmentations=["R", "C"]))
    plan = Plan(
        [METRICS[name] for name in ("confidence_drop", "confidence_disparity", "accuracy")], by=(), resamples=20
    )
    several = [asked(data, model=f"lead=0.4,lead:old=-{lead},noise=0.1") for lead in (0.1, 0.3)]
    made = {
        f"{found.metric} {found.group}": [
            found.contest.difference,
            found.contest.n,
            found.contest.first[0].numbers.max(),
        ]
        for found in contests(*(measured_items(outcomes, plan) for outcomes in several), plan)
    }
    assert_kept("measured/contests-marked", made)


def test_a_difference_is_widened_by_its_leeway_within_what_is_possible() -> None:
    difference = Estimate(0.1, 0.05, 0.2, 0.95, 9, "paired", 0.01)
    assert widened_difference(difference, Leeway(), 1.0) == difference
    alone = replace(difference, low=np.nan)
    assert widened_difference(alone, Leeway(-0.1, 0.1), 1.0) == alone
    made = [
        widened_difference(difference, leeway, width)
        for leeway in (Leeway(-0.02, 0.1), Leeway(-0.1, 0.0), Leeway(-3, 3))
        for width in (1.0, 0.1)
    ]
    assert_kept("measured/widened-differences", made)


def test_leeways_of_compared_values_are_as_kept() -> None:
    plan = Plan([METRICS[name] for name in ("accuracy", "certainty")], by=(), resamples=20)
    rng = np.random.default_rng(0)
    several = (seen("unsure", 6, 2, rng)[0], sampled("unsure", 6, 12, rng))
    made = [
        {" ".join(name): tuple(leeway) for name, leeway in comparison_leeways(measured_items(o, plan), plan).items()}
        for o in several
    ]
    assert_kept("measured/leeways", made)
    assert comparison_leeways(measured_items(seen("unsure", 6, 2, rng)[1], plan), plan) == {}


@pytest.mark.parametrize(
    ("leeway", "ends"),
    [
        ((-0.1, 0.05), (0.0, 0.35)),
        ((-5.0, 5.0), (-1.0, 1.0)),
        ((0.0, 0.2), (0.1, 0.5)),
        ((-0.2, 0.0), (-0.1, 0.3)),
        ((0.05, -0.05), (0.1, 0.3)),
    ],
)
def test_a_leeway_moves_the_ends_of_a_difference_out_and_never_beyond_its_width(
    leeway: tuple[float, float], ends: tuple[float, float]
) -> None:
    difference = Estimate(0.2, 0.1, 0.3, 0.95, 40, "m", 0.01, 0.02)
    wider = widened_difference(difference, Leeway(*leeway), 1.0)
    assert (wider.low, wider.high) == pytest.approx(ends) and wider.value == 0.2
    assert widened_difference(difference, Leeway(), 1.0) is difference
    alone = Estimate.alone(0.2, level=0.95, n=3, method="none")
    assert widened_difference(alone, Leeway(*leeway), 1.0) is alone
    beyond = Estimate(0.2, -1.5, 1.5, 0.95, 40, "m", 0.01, 0.02)
    assert widened_difference(beyond, Leeway(-0.1, 0.1), 1.0).ends == (-1.5, 1.5), "an interval is never narrowed"
