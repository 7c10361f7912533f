"""The WinoIdentity paper's questions: each number is of its own run and type."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from kept_texts import assert_kept

import equipoise
from equipoise.datasets import open_dataset
from equipoise.datasets.identity import identity_dataset, recipe
from equipoise.records import Estimate, Measurement
from equipoise.report import run_page
from equipoise.runs.measurements import Measurements
from equipoise.runs.run import Run
from equipoise.scoring.planted import open_planted
from equipoise.topics.identities.sentences import answers, reasoning


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Return runs of two planted models whose disadvantaged markers cost 0.2 and 0.05, the privileged one 0.1."""
    folder = tmp_path_factory.mktemp("runs")
    data = identity_dataset(open_dataset("builtin").limited(60), recipe(augmentations=("R",), attributes=["age"]))
    made = []
    for name, cost in (("large", 0.2), ("small", 0.05)):
        engine = open_planted(f"lead=0.4,lead:privileged=-0.1,lead:disadvantaged=-{cost},lead:female=-0.02")
        made.append(
            equipoise.audit(engine, data, out=folder / name, resamples=60, metrics=["confidence"], progress=False)
        )
    return made


@pytest.mark.parametrize(("number", "cost"), [(0, 0.2), (1, 0.05)])
def test_answers_have_their_own_run_s_numbers(runs: list[Run], number: int, cost: float) -> None:
    several = {finding.name: finding for finding in answers(runs[number].parts[0].measured, "type2", "R")}
    assert len(several) == 8

    def value(name: str) -> float:
        estimate = several[name].estimate
        assert estimate is not None
        return estimate.value

    assert value("loss for privileged markers") == pytest.approx(0.1, abs=1e-6)
    assert value("loss for disadvantaged markers") == pytest.approx(cost, abs=1e-6)
    double = several["double disadvantage, male-dominated"]
    assert value(double.name) == pytest.approx(cost - 0.1 + 0.02, abs=1e-6)
    assert f"{double.estimate} (n = {double.rests_on[0].n})" in double.text
    assert value("cost of disadvantage, against - with") == pytest.approx(0, abs=1e-6)
    assert "not detectably" in several["cost of disadvantage, against - with"].text
    assert value("coverage, privileged") == pytest.approx(0)
    assert "answers 0.0% [" in several["coverage, privileged"].text
    assert not list(answers(runs[number].parts[0].measured, "type2", "C")), "what was not asked has no answer"


def test_the_page_shows_them(runs: list[Run]) -> None:
    page = run_page(runs[0])
    several = list(answers(runs[0].parts[0].measured, "type2", "R"))
    assert all(finding.text in page and finding.name in page for finding in several)


def test_a_chain_of_thought_is_compared_with_none() -> None:
    def measured(task: str, value: float) -> Measurements:
        estimate = Estimate(value, value - 0.02, value + 0.02, 0.95, 50, "")
        group = "augmentation=R,type=type2"
        return Measurements([Measurement("confidence", "m", "d", task, group, estimate, "higher")])

    alone = measured("next-word", 0.3)
    (finding,) = reasoning(alone, measured("next-word-cot", 0.1), "type2")
    assert "a chain of thought lowers confidence: -0.200 [-0.228, -0.172] (n = 50 and 50)" in finding.text
    assert [row.value for row in finding.rests_on] == [0.1, 0.3]
    (finding,) = reasoning(alone, measured("next-word-cot", 0.301), "type2")
    assert "does not detectably change confidence: +0.001 [" in finding.text
    assert list(reasoning(alone, None, "type2")) == [] == list(reasoning(alone, alone, "type1"))


def test_chains_of_thought_are_tested_together() -> None:
    def measured(task: str, value: float, ways: Sequence[str]) -> Measurements:
        estimate = Estimate(value, value - 0.02, value + 0.02, 0.95, 50, "")
        groups = [f"augmentation={way},type={kind}" for way in ways for kind in ("type1", "type2")]
        return Measurements([Measurement("confidence", "m", "d", task, group, estimate, "higher") for group in groups])

    # An interval of one that just leaves 0 out is a claim by itself, but not among eight.
    for ways, claimed in ((["R"], True), (["none", "R", "NR", "C"], False)):
        for kind in ("type1", "type2"):
            without, reasoned = measured("next-word", 0.30, ways), measured("next-word-cot", 0.335, ways)
            findings = list(reasoning(without, reasoned, kind))
            assert len(findings) == len(ways) and "+0.035 [+0.007, +0.063]" in findings[0].text
            assert all(("raises" in finding.text) == claimed for finding in findings)
            assert {row.parts["type"] for finding in findings for row in finding.rests_on} == {kind}


def test_what_is_said_is_as_it_was_kept(runs: list[Run]) -> None:
    said = [list(answers(run.parts[0].measured, kind, "R")) for run in runs for kind in ("type1", "type2")]
    assert_kept("topics/identities-sentences", *said)


@pytest.mark.parametrize(
    ("value", "low", "high", "told"),
    [
        (0.2, 0.1, 0.3, "lower confidence by 0.200 [0.100, 0.300]"),
        (-0.2, -0.3, -0.1, "raise confidence: they lower it by -0.200 [-0.300, -0.100]"),
        (0.0, -0.3, -0.1, "raise confidence: they lower it by 0.000 [-0.300, -0.100]"),
        (0.1, -0.1, 0.3, "do not change confidence detectably: the loss is 0.100 [-0.100, 0.300]"),
    ],
)
def test_a_question_is_answered_by_the_side_of_0_it_is_on(value: float, low: float, high: float, told: str) -> None:
    estimate = Estimate(value, low, high, 0.95, 1200, "")
    group = "augmentation=R,privilege=privileged,type=type2"
    row = Measurement("confidence_drop", "m", "d", "next-word", group, estimate, "lower")
    (finding,) = answers(Measurements([row]), "type2", "R")
    assert f", markers of privileged groups {told} (n = 1,200)." in finding.text
    assert finding.claim == (low > 0 or high < 0) and finding.rests_on == [row]


@pytest.mark.parametrize(("without", "with_it"), [(["R"], ["R", "C"]), (["R", "C"], ["R"]), (["C", "R"], ["R", "NR"])])
def test_only_ways_that_were_asked_both_times_are_compared(without: list[str], with_it: list[str]) -> None:
    def measured(task: str, ways: Sequence[str]) -> Measurements:
        estimate = Estimate(0.3, 0.2, 0.4, 0.95, 50, "")
        groups = [f"augmentation={way},type=type2" for way in ways]
        return Measurements([Measurement("confidence", "m", "d", task, group, estimate, "higher") for group in groups])

    (finding,) = reasoning(measured("next-word", without), measured("next-word-cot", with_it), "type2")
    assert {row.parts["augmentation"] for row in finding.rests_on} == {"R"}
