"""Double disadvantage, coverage and deviation: values planted on identities come back."""

from __future__ import annotations

import numpy as np
import pytest

import equipoise
from equipoise.datasets import open_dataset
from equipoise.datasets.identity import identity_dataset, recipe
from equipoise.metrics import identities
from equipoise.metrics.confidence import coreference_confidence
from equipoise.records import UndefinedMetric
from equipoise.runs.run import Part, Run
from equipoise.scoring.planted import PlantedEngine

PENALTIES = {"White": 0.02, "Black": 0.12, "Asian": 0.06, "Hispanic": 0.06}
COST = 0.06

"""What a disadvantaged marker costs more than the privileged one, on average."""


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory) -> Part:
    leads = {"": 0.4, "female": -0.03} | {marker: -cost for marker, cost in PENALTIES.items()}
    engine = PlantedEngine(strength=0, bias=0, leads=leads)
    data = identity_dataset(open_dataset("builtin").limited(80), recipe(augmentations=("R",), attributes=["race"]))
    run: Run = equipoise.audit(engine, data, out=tmp_path_factory.mktemp("run"), resamples=100, metrics=["confidence"])
    return run.parts[0]


@pytest.mark.parametrize(("side", "gap"), [("male", 0.03), ("female", -0.03)])
def test_the_doubly_disadvantaged_are_behind_by_marker_and_gender(part: Part, side: str, gap: float) -> None:
    measured = part.measured.get("double_disadvantage", type="type2", augmentation="R", side=side)
    assert measured is not None and measured.value == pytest.approx(COST + gap, abs=1e-6)
    assert measured.low < measured.value < measured.high and measured.n > 10
    interaction = part.measured.get("disadvantage_interaction", type="type2", augmentation="R", side=side)
    assert interaction is not None and interaction.value == pytest.approx(0, abs=1e-6)


def test_confidence_by_side_privilege_and_gender_is_of_its_own_group(part: Part) -> None:
    where = {"type": "type2", "augmentation": "R", "side": "male"}
    for gender, penalty in (("male", 0.0), ("female", 0.03)):
        for privilege, cost in (("privileged", 0.02), ("disadvantaged", 0.08)):
            row = part.measured.get("confidence", gender=gender, privilege=privilege, **where)
            assert row is not None and row.value == pytest.approx(0.4 - penalty - cost, abs=1e-6)
    pro, anti = (
        part.measured.get("confidence", type="type2", augmentation="R", stereotype=name, privilege="privileged")
        for name in ("pro", "anti")
    )
    assert pro is not None and anti is not None and pro.value == pytest.approx(0.365) == anti.value


def test_markers_that_cost_certainty_are_declined_more_often(part: Part) -> None:
    unmarked, marked = (part.measured.get("coverage", type="type2", augmentation=way) for way in ("none", "R"))
    assert unmarked is not None and marked is not None
    assert unmarked.value >= 0.5 and marked.value == pytest.approx(0)
    drop = part.measured.get("coverage_drop", type="type2", augmentation="R")
    assert drop is not None and drop.value == pytest.approx(unmarked.value - marked.value)


def test_the_deviation_is_that_of_the_items(part: Part) -> None:
    measured = part.measured.get("confidence_deviation", type="type2", augmentation="R")
    outcomes = part.outcomes
    rows = np.flatnonzero((outcomes.group("type") == "type2") & (outcomes.group("augmentation") == "R"))
    items = outcomes.take(rows)
    expected = float(np.std(coreference_confidence(items.gold, items.logprobs)))
    assert measured is not None and measured.value == pytest.approx(expected, abs=1e-9)
    assert measured.low < expected < measured.high


def test_the_functions_of_arrays_agree_with_hand_made_means() -> None:
    values = np.array([0.5, 0.3, 0.4, 0.1])
    privilege = np.array(["privileged", "disadvantaged", "privileged", "disadvantaged"])
    stereotype = np.array(["pro", "pro", "anti", "anti"])
    assert identities.double_disadvantage(values, privilege, stereotype) == pytest.approx(0.4)
    assert identities.disadvantage_interaction(values, privilege, stereotype) == pytest.approx(0.1)
    assert identities.deviation(values) == pytest.approx(np.std(values))
    with pytest.raises(UndefinedMetric, match="double disadvantage of an empty group"):
        identities.double_disadvantage(values[:2], privilege[:2], stereotype[:2])
