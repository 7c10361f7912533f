"""The headline questions about identities: each number and picture is of its own run, task and type."""

from __future__ import annotations

from pathlib import Path

import pytest
from equipoise.reports.page.html import run_page

import equipoise
from equipoise.datasets import open_dataset
from equipoise.datasets.identity import identity_dataset, recipe
from equipoise.records import Estimate, Measurement
from equipoise.reports.identities.crossings.figures import _places, crossing, trade_off
from equipoise.reports.identities.figures import draw
from equipoise.reports.identities.findings import findings, reasoning_sentences
from equipoise.run import Run
from equipoise.runs.measurements import Measurements
from equipoise.scoring.planted.identities import PlantedIdentities


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Return runs of two planted models whose disadvantaged markers cost 0.2 and 0.05, the privileged one 0.1."""
    folder = tmp_path_factory.mktemp("runs")
    data = identity_dataset(open_dataset("builtin").limited(60), recipe(augmentations=("R",), attributes=["age"]))
    sides = {e.groups["privilege"]: e.groups["marker"] for e in data.examples if e.groups.get("privilege")}
    made = []
    for name, cost in (("large", 0.2), ("small", 0.05)):
        penalties = {sides["privileged"]: 0.1, sides["disadvantaged"]: cost}
        engine = PlantedIdentities(confidence=0.4, penalties=penalties, genders={"female": 0.02}, mass=0.9)
        made.append(
            equipoise.audit(engine, data, out=folder / name, resamples=60, metrics=["confidence"], progress=False)
        )
    return made


@pytest.mark.parametrize(("number", "cost"), [(0, 0.2), (1, 0.05)])
def test_findings_have_their_own_run_s_numbers(runs: list[Run], number: int, cost: float) -> None:
    several = {f.name: f for f in findings(runs[number].parts[0].measured, "type2")}
    assert several["loss for privileged markers"].row.value == pytest.approx(0.1, abs=1e-6)
    assert several["loss for disadvantaged markers"].row.value == pytest.approx(cost, abs=1e-6)
    double = several["double disadvantage, male-dominated"]
    assert double.row.value == pytest.approx(cost - 0.1 + 0.02, abs=1e-6)
    assert f"{double.row.value:.3f} [" in double.sentence and f"(n = {double.row.n})" in double.sentence
    assert several["cost of disadvantage, against - with"].row.value == pytest.approx(0, abs=1e-6)
    assert "not detectably" in several["cost of disadvantage, against - with"].sentence
    assert several["coverage, privileged"].row.value == pytest.approx(0)


def test_the_page_shows_them(runs: list[Run]) -> None:
    html = run_page(runs[0])
    sentence = next(iter(findings(runs[0].parts[0].measured, "type2"))).sentence
    assert sentence in html and "double disadvantage" in html


def test_a_crossing_has_a_place_for_side_gender_and_privilege(runs: list[Run]) -> None:
    places = _places(runs[0].parts[0].measured, "type2", "R")
    values = {(words, privilege): row.value for words, privilege, row in places}
    assert len(values) == 12
    assert values["she, male-dominated", "disadvantaged"] == pytest.approx(0.4 - 0.02 - 0.2, abs=1e-6)
    assert values["he, female-dominated", ""] == pytest.approx(0.4, abs=1e-6)


def test_pictures_are_drawn_for_runs_side_by_side(runs: list[Run], tmp_path: Path) -> None:
    names = {path.name for path in draw(runs, tmp_path)}
    assert {"crossing-type2-R.png", "trade-off-type2-R.png"} <= names
    named = {run.path.name: run.parts[0].measured for run in runs}
    figure = trade_off(named, "type2", "R")
    assert figure is not None
    heights = [float(line.get_ydata()[0]) for line in figure.axes[0].lines]
    assert heights == pytest.approx([0.1 + 0.02, 0.05 + 0.02], abs=1e-6)
    assert trade_off(dict(list(named.items())[:1]), "type2", "R") is None
    assert crossing(named, "type2", "C") is None


def test_a_chain_of_thought_is_compared_with_none() -> None:
    def measured(task: str, value: float) -> tuple[str, Measurements]:
        estimate = Estimate(value, value - 0.02, value + 0.02, 0.95, 50, "")
        group = "augmentation=R,type=type2"
        return task, Measurements([Measurement("confidence", "m", "d", task, group, estimate, "higher")])

    (sentence,) = reasoning_sentences([measured("next-word", 0.3), measured("next-word-cot", 0.1)], "type2")
    assert "a chain of thought lowers confidence: -0.200 [-0.228, -0.172] (n = 50 and 50)" in sentence
    assert list(reasoning_sentences([measured("next-word", 0.3)], "type2")) == []
