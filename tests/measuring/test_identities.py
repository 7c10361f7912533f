"""A penalty planted on an identity comes back from every metric of identities, end to end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equipoise
from equipoise.datasets import open_dataset
from equipoise.datasets.identity import identity_dataset, recipe
from equipoise.measuring.changes import changes
from equipoise.measuring.identities import confidence_disparities
from equipoise.measuring.items import Items
from equipoise.measuring.measure import Plan, measured_items
from equipoise.measuring.part import measure_part
from equipoise.measuring.sampling import until_precise
from equipoise.measuring.stopping import Sample
from equipoise.records import EquipoiseError, Floats, Measurement, Outcomes, Prompt, RunKey, Score, parse_group
from equipoise.run import Run
from equipoise.scoring.planted.identities import PlantedIdentities
from equipoise.scoring.store import ScoreStore
from equipoise.stats import maximum
from equipoise.tasks import open_task
from equipoise.uncertainty import renormalise

PENALTIES = {"old": 0.12, "young": 0.02, "Black": 0.1, "Asian": 0.05, "White": 0.0, "Hispanic": 0.05}
ENGINE = PlantedIdentities(confidence=0.4, penalties=PENALTIES, genders={"female": 0.03}, mass=0.9)


@pytest.fixture(scope="module")
def data():
    return identity_dataset(open_dataset("builtin").limited(120), recipe(attributes=["age", "race", "non-demographic"]))


@pytest.fixture(scope="module")
def run(data, tmp_path_factory) -> Run:
    engine = replace(ENGINE, echo=0.25)
    return equipoise.audit(engine, data=data, out=tmp_path_factory.mktemp("run"), resamples=200, metrics=["confidence"])


def value(run: Run, metric: str, **parts: str) -> float:
    table = run.measurements
    parts = {"type": "type2", **parts}
    rows = [i for i, g in enumerate(table["group"]) if parse_group(g) == parts and table["metric"][i] == metric]
    (row,) = rows
    return float(table["value"][row])


def marked(run: Run, marker: str, gender: str, augmentation: str = "R") -> float:
    attribute = "age" if marker in ("old", "young") else "race"
    parts = {"marker": marker, "gender": gender, "augmentation": augmentation, "attribute": attribute}
    return value(run, "confidence_marked", **parts)


@pytest.mark.parametrize("marker", PENALTIES)
@pytest.mark.parametrize("augmentation", ["R", "C"])
def test_the_penalty_of_a_marker_comes_back(run: Run, marker: str, augmentation: str) -> None:
    for gender, penalty in (("male", 0.0), ("female", 0.03)):
        expected = 0.4 - penalty - PENALTIES[marker]
        assert marked(run, marker, gender, augmentation) == pytest.approx(expected)
    parts = {
        "marker": marker,
        "augmentation": augmentation,
        "attribute": "age" if marker in ("old", "young") else "race",
    }
    assert value(run, "confidence_marked_drop", **parts) == pytest.approx(PENALTIES[marker], abs=1e-9)


def test_what_is_said_with_the_marker_lowers_raw_confidence_only(run: Run) -> None:
    parts = {"marker": "White", "gender": "male", "augmentation": "R", "attribute": "race"}
    referent, other = (0.9 + 0.4) / 2, (0.9 - 0.4) / 2
    plain = 0.75 * referent
    assert value(run, "confidence", **parts) == pytest.approx(plain - other)
    assert value(run, "confidence_pair", **parts) == pytest.approx((plain - other) / (plain + other))
    assert value(run, "candidate_mass", **parts) == pytest.approx(plain + other)
    assert value(run, "confidence_marked", **parts) == pytest.approx(0.4)
    assert value(run, "accuracy", **parts) == 1.0


def test_a_marker_on_the_other_changes_nothing_that_was_not_planted(run: Run) -> None:
    assert value(run, "confidence_marked", augmentation="NR") == pytest.approx(
        value(run, "confidence", augmentation="none")
    )


def test_the_disparity_is_the_largest_difference_of_means(run: Run) -> None:
    age = value(run, "confidence_marked_disparity", augmentation="R", attribute="age")
    assert age == pytest.approx((0.12 + 0.03) - 0.02)
    race = value(run, "confidence_marked_disparity", augmentation="C", attribute="race")
    assert race == pytest.approx(0.1 + 0.03)
    assert value(run, "confidence_marked_disparity", augmentation="none") == pytest.approx(0.03)
    neutral = value(run, "confidence_marked_disparity", augmentation="R", attribute="non-demographic")
    assert neutral == pytest.approx(0.03)
    assert value(run, "accuracy_disparity", augmentation="R", attribute="age") == 0.0
    gap = value(run, "confidence_gender_gap", augmentation="NR", attribute="non-demographic")
    assert gap == pytest.approx(0.03 * (1 - 0.25 / 2), abs=0.02)


def test_the_whole_of_an_augmentation_leaves_markers_without_side_out(run: Run) -> None:
    expected = 0.4 - 0.015 - np.mean(list(PENALTIES.values()))
    assert value(run, "confidence_marked", augmentation="R") == pytest.approx(expected)
    assert value(run, "confidence_marked", augmentation="R", privilege="neutral") == pytest.approx(0.4 - 0.015)
    privileged = 0.4 - 0.015 - (0.02 + 0.0) / 2
    assert value(run, "confidence_marked", augmentation="R", privilege="privileged") == pytest.approx(privileged)


def test_occupations_are_told_apart_by_identity(run: Run) -> None:
    rows = [parse_group(group) for group in run.measurements["group"]]
    cells = [parts for parts in rows if "occupation" in parts and parts.get("marker") == "old"]
    assert {parts["augmentation"] for parts in cells} == {"R", "NR", "C"}
    assert {parts["gender"] for parts in cells} == {"male", "female"}


@pytest.mark.slow
def test_measuring_again_without_the_engine_gives_the_same(run: Run) -> None:
    before = run.measurements
    again = equipoise.remeasure(run.path, resamples=200).measurements
    columns = ["metric", "group", "value", "low", "high"]
    assert before[columns].equals(again[columns])


def outcomes_of(engine: PlantedIdentities, dataset, path: Path):
    task = open_task("next-word")
    engine.prepare(dataset.examples)

    def ask(examples):
        prompts = [prompt for example in examples for prompt in task.prompts(example)]
        with ScoreStore(path) as store:
            return task.outcomes(examples, prompts, store.scorer(engine)(prompts))

    return ask


@pytest.mark.slow
def test_equal_identities_are_seldom_found_to_differ(tmp_path: Path) -> None:
    data = identity_dataset(
        open_dataset("builtin").limited(120), recipe(augmentations=["R"], attributes=["age", "race"])
    )
    plan, false, missed = Plan([], resamples=200), 0, 0
    for seed in range(12):
        engine = PlantedIdentities(noise=0.1 + seed / 1000)
        outcomes = outcomes_of(engine, data, tmp_path / f"{seed}.jsonl")(data.examples)
        rows, _ = measure_part(measured_items(outcomes, plan), plan, RunKey("m", "d", "t"))
        intervals = [m.estimate for m in rows if m.metric == "confidence_disparity" and "none" not in m.group]
        assert len(intervals) == 2
        false += min(estimate.p_corrected for estimate in intervals) <= 0.05
        missed += sum(estimate.low > 0 for estimate in intervals)
    assert false <= 2 and missed <= 3


def test_sampling_stops_early_and_covers_what_asking_all_would_give(data, tmp_path: Path) -> None:
    data = identity_dataset(open_dataset("builtin"), recipe(augmentations=["R"], attributes=["age"]))
    engine = replace(ENGINE, noise=0.03)
    ask = outcomes_of(engine, data, tmp_path / "scores.jsonl")
    plan = Plan([], resamples=300)
    found = until_precise(data, ask, plan, precision=0.05)
    assert found.sample is not None
    assert len(found.dataset.examples) < len(data.examples) / 2
    assert found.looks[-1].width < 0.05
    everything = confidence_disparities(Items(ask(data.examples)), plan, Sample())
    for name, estimate in confidence_disparities(Items(ask(found.dataset.examples)), plan, found.sample).items():
        assert estimate.low <= everything[name].value <= estimate.high
    exact = until_precise(data, ask, plan, precision=1e-9)
    assert exact.sample is None and exact.dataset is data
    types = {e.groups["type"] for e in found.dataset.examples}
    assert types == {e.groups["type"] for e in data.examples}


def test_markers_of_settled_attributes_are_not_asked_again(tmp_path: Path) -> None:
    data = identity_dataset(open_dataset("builtin"), recipe(augmentations=["R"], attributes=["age", "race"]))
    ask = outcomes_of(replace(ENGINE, noise=0.1), data, tmp_path / "scores.jsonl")
    plan = Plan([], resamples=300)
    everything = confidence_disparities(Items(ask(data.examples)), plan, Sample())
    first = until_precise(data, ask, plan, precision=2.0)
    assert first.sample is not None and len(first.looks) == 1
    rows = confidence_disparities(Items(ask(first.dataset.examples)), plan, first.sample).values()
    # Race has more markers than age, so its disparity takes longer to be known.
    between = sum(row.high - row.low for row in rows) / 2
    thin, whole = (until_precise(data, ask, plan, precision=between, drop=drop) for drop in (True, False))
    assert thin.sample is not None and len(thin.dataset.examples) < len(whole.dataset.examples)
    disparities = confidence_disparities(Items(ask(thin.dataset.examples)), plan, thin.sample)
    asked = {name.split(",")[0]: row.n for name, row in disparities.items()}
    assert asked == {"attribute=age": thin.looks[0].sentences, "attribute=race": thin.looks[-1].sentences}
    for name, estimate in disparities.items():
        assert estimate.low <= everything[name].value <= estimate.high
        assert 0 < estimate.high - estimate.low < between


def test_what_is_never_settled_is_asked_of_all_sentences(tmp_path: Path) -> None:
    data = identity_dataset(open_dataset("builtin"), recipe(augmentations=["R"], attributes=["age", "race"]))
    ask = outcomes_of(replace(ENGINE, noise=0.3), data, tmp_path / "scores.jsonl")
    plan = Plan([], resamples=200)
    last = until_precise(data, ask, plan, precision=1e-9).looks[-1]
    assert "race" in last.widest
    hard = until_precise(data, ask, plan, precision=last.width - 1e-6, drop=True)
    assert hard.sample is not None and not hard.sample.population
    rows = confidence_disparities(Items(ask(hard.dataset.examples)), plan, hard.sample)
    asked = {name.split(",")[0]: row.n for name, row in rows.items()}
    assert asked["attribute=race"] == last.of > asked["attribute=age"]
    assert all(row.high > row.low for row in rows.values())


def test_an_audit_with_a_precision_says_how_it_stopped(tmp_path: Path) -> None:
    choices = {"base": "builtin", "augment": ["R"], "attributes": ["age"], "resamples": 200, "metrics": ["confidence"]}
    run = equipoise.audit(replace(ENGINE, noise=0.03), "winoidentity", out=tmp_path, precision=0.1, **choices)
    assert any("stopped at look 1 of" in note for note in run.manifest.notes)
    assert len(run.examples) == 96 * 2 * 3
    before = run.measurements
    again = equipoise.remeasure(tmp_path, resamples=200).measurements
    assert before["low"].equals(again["low"]) and before["high"].equals(again["high"])
    looks = run.frame("looks.csv")
    assert looks["look"].tolist() == [1] and looks["sentences"].tolist() == [96] and looks["width"][0] < 0.1


def test_a_precision_is_a_width(tmp_path: Path) -> None:
    with pytest.raises(EquipoiseError, match="greater than 0"):
        equipoise.audit(
            ENGINE,
            "winoidentity",
            base="builtin",
            augment=["R"],
            attributes=["age"],
            out=tmp_path / "2",
            precision=-1.0,
        )


# --- changes against the same sentence unmarked -----------------------------------------------------------------


def planted_changes(seed: int = 0, **planted: Any) -> dict[tuple[str, str], Measurement]:
    data = identity_dataset(
        open_dataset("builtin").limited(120), recipe(augmentations=["R"], attributes=["age", "race"])
    )
    engine = PlantedIdentities(**planted)
    engine.prepare(data.examples)

    def scorer(prompts: Sequence[Prompt]) -> list[Score]:
        return [score for batch in engine.score([prompts]) for score in batch]

    outcomes = open_task("next-word").run(data.examples, scorer=scorer, writer=lambda contexts, tokens: {})
    plan = Plan([], resamples=400, seed=seed)
    rows, _ = measure_part(measured_items(outcomes, plan), plan, RunKey("planted", "builtin", "next-word"))
    return {(row.metric, row.group): row for row in rows}


def test_a_change_is_what_was_planted_whatever_the_gender_gap() -> None:
    rows = planted_changes(noise=0.05, penalties={"old": 0.2}, genders={"female": 0.1})
    old = rows["confidence_change", "attribute=age,augmentation=R,marker=old,type=type2"]
    assert old.value == pytest.approx(-0.2, abs=0.02) and old.low <= -0.2 <= old.high < 0
    young = rows["confidence_change", "attribute=age,augmentation=R,marker=young,type=type2"]
    assert young.low < 0 < young.high
    p_values = {
        group: row.estimate.p_corrected for (metric, group), row in rows.items() if metric == "confidence_change"
    }
    assert {group for group, p in p_values.items() if p < 0.05} == {
        "attribute=age,augmentation=R,marker=old,type=type2",
        "attribute=age,augmentation=R,type=type2",
    }
    assert p_values["attribute=race,augmentation=R,type=type2"] > 0.05
    # An attribute has the p-values of the most significant of its markers; a marker of one gender is not tested.
    assert p_values["attribute=age,augmentation=R,type=type2"] == old.estimate.p_corrected
    assert rows["confidence_change", "attribute=age,augmentation=R,type=type2"].estimate.p == old.estimate.p
    assert np.isnan(p_values["attribute=age,augmentation=R,gender=male,marker=old,type=type2"])
    interaction = rows["confidence_interaction", "attribute=age,augmentation=R,marker=old,type=type2"]
    assert interaction.low < 0 < interaction.high
    # The range over subgroups also holds the gender gap that was there without any marker.
    assert rows["confidence_disparity", "attribute=race,augmentation=R,type=type2"].value > 0.08


def test_nothing_planted_is_nothing_found() -> None:
    rows = planted_changes(noise=0.2, genders={"female": 0.2})
    p_values = [row.estimate.p_corrected for (metric, _), row in rows.items() if metric == "confidence_change"]
    p_values = [p for p in p_values if not np.isnan(p)]
    assert len(p_values) == 8 and min(p_values) > 0.05, "six markers, and two attributes"


def test_a_change_is_paired_and_a_drop_is_the_same_with_the_sign_reversed() -> None:
    # Sentences differ by far more than the marker changes: only within a sentence can it be seen.
    rng = np.random.default_rng(0)
    easy = rng.uniform(-0.6, 0.6, size=50)
    confidence = np.stack([easy, easy - 0.03 + rng.normal(0, 0.02, size=50)], axis=1)
    plan = Plan([], resamples=400)
    rows = {tuple(row.parts.values()): row.estimate for row in changes(Items(confident_outcomes(confidence)), plan)}
    old = rows["R", "age", "old"]
    expected = confidence[:, 1] - confidence[:, 0]
    assert old.value == pytest.approx(expected.mean()) and -0.04 < old.low < old.high < -0.02 and old.n == 50
    assert rows["R", "age"].p_corrected == old.p == pytest.approx(1 / 5001)
    # Flipping the signs of the differences is what exchanging marked and unmarked does.
    flips = rng.choice([-1.0, 1.0], size=(5000, 50)) @ (confidence[:, 1] - easy + 0.024) / 50
    weaker = Items(confident_outcomes(np.stack([easy - 0.024, confidence[:, 1]], axis=1)))
    (p,) = {row.estimate.p for row in changes(weaker, plan)}
    assert p == pytest.approx((np.abs(flips) >= abs((confidence[:, 1] - easy + 0.024).mean())).mean(), abs=0.03)


def confident_outcomes(confidence: Floats) -> Outcomes:
    """Return outcomes with that confidence by sentence: without a marker, and with "old" on the referent."""
    lead = confidence.ravel()
    logprobs = np.log(np.stack([(0.9 + lead) / 2, (0.9 - lead) / 2], axis=1))
    sentences = len(confidence)
    cells = {"augmentation": ("none", "R"), "attribute": ("", "age"), "marker": ("", "old"), "type": ("", "")}
    return Outcomes(
        example_id=np.arange(2 * sentences).astype(str).astype(object),
        variant=np.full(2 * sentences, "", dtype=object),
        set_id=np.repeat(np.arange(sentences).astype(str).astype(object), 2),
        probs=renormalise(logprobs),
        logprobs=logprobs,
        gold=np.zeros(2 * sentences, dtype=np.int64),
        stereotype=np.full(2 * sentences, -1, dtype=np.int64),
        answerable=np.ones(2 * sentences, dtype=bool),
        groups={name: np.array([*values] * sentences, dtype=object) for name, values in cells.items()},
        flags=np.full(2 * sentences, "", dtype=object),
    )


def test_a_sample_shrinks_p_values_and_intervals_alike() -> None:
    sizes = np.abs(np.random.default_rng(0).normal(0.0, 0.1, size=500))
    whole, part = (maximum.p_value(0.1, sizes, shrink=shrink) for shrink in (1.0, 0.5))
    assert part < whole
    radii = [maximum.radius(sizes, level=0.95, shrink=shrink) for shrink in (1.0, 0.5)]
    assert radii[1] == pytest.approx(radii[0] / 2)
