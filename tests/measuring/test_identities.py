"""A penalty planted on an identity comes back from every metric of identities, end to end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import equipoise
from equipoise.datasets import open_dataset
from equipoise.datasets.identity import identity_dataset, recipe
from equipoise.measuring.identities import _alike, _column, _table_points
from equipoise.measuring.items import Items
from equipoise.measuring.markers import NONE
from equipoise.measuring.measure import Plan, measured_items, with_values
from equipoise.measuring.part import measure_part
from equipoise.measuring.sentences import marked_sentences
from equipoise.metrics import METRICS
from equipoise.records import EquipoiseError, Measurement, Outcomes, RunKey, parse_group
from equipoise.runs.run import Run
from equipoise.scoring.planted import PlantedEngine, open_planted
from equipoise.scoring.score_store import ScoreStore
from equipoise.tasks import open_task

PENALTIES = {"old": 0.12, "young": 0.02, "Black": 0.1, "Asian": 0.05, "White": 0.0, "Hispanic": 0.05}
ENGINE = PlantedEngine(
    strength=0, bias=0, leads={"": 0.4, "female": -0.03} | {marker: -cost for marker, cost in PENALTIES.items()}
)


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


def confidence_with(run: Run, marker: str, gender: str, augmentation: str = "R") -> float:
    attribute = "age" if marker in ("old", "young") else "race"
    parts = {"marker": marker, "gender": gender, "augmentation": augmentation, "attribute": attribute}
    return value(run, "confidence_marked", **parts)


@pytest.mark.parametrize("marker", PENALTIES)
@pytest.mark.parametrize("augmentation", ["R", "C"])
def test_the_penalty_of_a_marker_comes_back(run: Run, marker: str, augmentation: str) -> None:
    for gender, penalty in (("male", 0.0), ("female", 0.03)):
        expected = 0.4 - penalty - PENALTIES[marker]
        assert confidence_with(run, marker, gender, augmentation) == pytest.approx(expected)
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


def outcomes_of(engine: PlantedEngine, dataset, path: Path):
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
        engine = PlantedEngine(strength=1, bias=0, sentence=0.2, noise=0.1, seed=seed)
        outcomes = outcomes_of(engine, data, tmp_path / f"{seed}.jsonl")(data.examples)
        rows, _ = measure_part(measured_items(outcomes, plan), plan, RunKey("m", "d", "t"))
        intervals = [m.estimate for m in rows if m.metric == "confidence_disparity" and "none" not in m.group]
        assert len(intervals) == 2
        false += min(estimate.p_corrected for estimate in intervals) <= 0.05
        missed += sum(estimate.low > 0 for estimate in intervals)
    assert false <= 2 and missed <= 3


CROSSED = "lead=0.4,lead:old=-0.1,lead:female=-0.03,lead:old*female=-0.05,lead:disadvantaged*anti=-0.04"


def crossed_rows(planted: str, path: Path) -> dict[tuple[str, str], Measurement]:
    """Return the measurements of a planted engine on sentences marked by age, by metric and group."""
    data = identity_dataset(open_dataset("builtin").limited(120), recipe(augmentations=["R"], attributes=["age"]))
    plan = Plan([], by=(), resamples=200)
    outcomes = outcomes_of(open_planted(planted), data, path)(data.examples)
    rows, _ = measure_part(measured_items(outcomes, plan), plan, RunKey("m", "d", "t"))
    return {(row.metric, row.group): row for row in rows}


def test_a_crossing_of_marker_and_gender_and_one_of_privilege_and_stereotype_come_back(tmp_path: Path) -> None:
    rows = crossed_rows(CROSSED.replace(",lead:disadvantaged*anti=-0.04", ""), tmp_path / "gender.jsonl")
    old = "attribute=age,augmentation=R,marker=old,type=type2"
    assert rows["confidence_interaction", old].value == pytest.approx(0.05)
    assert rows["confidence_change", old].value == pytest.approx(-0.125)
    assert rows["confidence_drop", "attribute=age,augmentation=R,gender=female,marker=old,type=type2"].value == (
        pytest.approx(0.15)
    )
    assert rows["confidence_disparity", "attribute=age,augmentation=R,type=type2"].value == pytest.approx(0.18)
    young = "attribute=age,augmentation=R,marker=young,type=type2"
    assert rows["confidence_interaction", young].value == pytest.approx(0) == rows["confidence_change", young].value
    rows = crossed_rows("lead=0.4,lead:old=-0.1,lead:disadvantaged*anti=-0.04", tmp_path / "stereotype.jsonl")
    whole = "augmentation=R,type=type2"
    assert rows["disadvantage_interaction", whole].value == pytest.approx(0.04)
    assert rows["double_disadvantage", whole].value == pytest.approx(0.14)


@pytest.mark.slow
def test_intervals_hold_what_was_planted(tmp_path: Path) -> None:
    truth = {key: row.value for key, row in crossed_rows(CROSSED, tmp_path / "truth.jsonl").items()}
    linear = {"confidence_drop", "confidence_disparity", "confidence_change", "confidence_interaction"}
    linear |= {"double_disadvantage", "disadvantage_interaction"}
    held = []
    for seed in range(1, 21):
        rows = crossed_rows(f"{CROSSED},sentence=0.5,noise=0.3,seed={seed}", tmp_path / f"{seed}.jsonl")
        known = [(key, row) for key, row in rows.items() if key[0] in linear and row.estimate.has_interval]
        held += [row.low <= truth[key] <= row.high for key, row in known if "occupation" not in row.parts]
    # 20 audits of some 30 intervals each, which depend on each other: benchmarks/planted_markers.py has hundreds.
    assert len(held) > 400 and np.mean(held) > 0.92


def test_metrics_of_some_items_have_a_table_and_those_of_none_do_not(marked: Outcomes) -> None:
    sides = np.where(np.arange(len(marked)) < 5, "female", "").astype(object)
    items = Items(replace(marked, groups={**marked.groups, "side": sides}))
    (sentences,) = marked_sentences(items)
    base = METRICS["confidence_disparity"]
    metrics = {kind: replace(base, applies_to=kind) for kind in ("all", "labelled", "sided", "pairs")}
    alike = _alike(items, sentences, metrics.values())
    served = {(level, kind): [metric.applies_to for metric in several] for (level, kind, *_), several in alike.items()}
    # All items are labelled, five have a side, none is a pair.
    assert served == {
        (level, kind): applied
        for level in base.levels
        for kind, applied in (("all", ["all", "labelled"]), ("sided", ["sided"]))
    }


def test_groups_without_unmarked_sentences_have_no_change_to_these(marked: Outcomes) -> None:
    items = Items(marked)
    (sentences,) = marked_sentences(items)
    metric = METRICS["confidence_drop"]
    plan = Plan([metric], intervals=False)
    columns = {name: _column(items, plan, name) for name in metric.inputs}
    for level in metric.levels:
        table = sentences.table(level, columns, items.applicable["all"], added_up=True)
        points = with_values(list(_table_points(table, [metric], sentences.sentences)), plan)
        assert not all(reason for _, reason in points)
        without = replace(table, unmarked={})
        marked_only = [groups for groups in table.groups if groups[0].get("augmentation") != NONE]
        without = replace(without, groups=marked_only)
        points = with_values(list(_table_points(without, [metric], sentences.sentences)), plan)
        assert points and all(reason for _, reason in points)
    with pytest.raises(EquipoiseError, match=r"^a metric of identities reads 'colour'; known columns: "):
        _column(items, plan, "colour")


def test_a_metric_that_reads_an_unknown_column_is_asked_for_with_the_others(marked: Outcomes) -> None:
    items = Items(marked)
    (sentences,) = marked_sentences(items)
    odd = replace(METRICS["confidence_disparity"], inputs=("colour",))
    assert {key[2] for key in _alike(items, sentences, [odd])} == {()}
