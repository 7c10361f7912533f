"""What is said of identities: each number is of its own run and type, and sentence, chart and table agree."""

from __future__ import annotations

import re
from html import escape
from io import StringIO
from pathlib import Path
from urllib.parse import unquote

import pytest
from rich.console import Console

import equipoise
from equipoise.datasets import open_dataset
from equipoise.datasets.identity import identity_dataset, recipe
from equipoise.records import Estimate, Measurement
from equipoise.records.showing import Chart, Dot, Finding
from equipoise.report import run_page, run_text
from equipoise.runs.measurements import Measurements
from equipoise.runs.run import Run
from equipoise.scoring.planted import open_planted
from equipoise.topics import first_screen, identities
from equipoise.topics.identities.charts import change_chart
from equipoise.topics.identities.sentences import (
    NO_CHANGE,
    Change,
    answers,
    change_findings,
    change_sentence,
    changes,
    detected_names,
    leading_findings,
    reasoning,
    strongest_change,
)
from equipoise.topics.identities.subgroups import subgroups

PLANTED = {
    "nothing": open_planted("lead=0.4,lead:female=-0.1,sentence=0.2,noise=0.1"),
    "old": open_planted("lead=0.4,lead:female=-0.1,lead:old=-0.15,sentence=0.2,noise=0.1"),
    "both ways": open_planted("lead=0.2,lead:old=-0.15,lead:Black=0.1,lead:Asian=-0.1,sentence=0.1,noise=0.05"),
}


@pytest.fixture(scope="module", params=PLANTED)
def planted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Run]:
    choices = {"base": "builtin", "limit": 90, "augment": ["R"], "attributes": ["age", "race"]}
    folder: Path = tmp_path_factory.mktemp("changes")
    equipoise.audit(
        PLANTED[request.param], "winoidentity", out=folder, resamples=200, metrics=["confidence"], **choices
    )
    return request.param, Run(folder)


def found(run: Run) -> tuple[list[Change], list[str]]:
    several = changes(subgroups(run.parts[0]), "type2", "R")
    return several, [change.marker for change in several if change.detected]


def test_what_was_planted_is_named_and_nothing_else(planted: tuple[str, Run]) -> None:
    name, run = planted
    several, names = found(run)
    assert len(several) == 6, "two ages and four races"
    assert set(names) == {"nothing": set(), "old": {"old"}, "both ways": {"old", "Black", "Asian"}}[name]


def test_sentence_chart_and_table_name_the_same_markers(planted: tuple[str, Run]) -> None:
    name, run = planted
    several, names = found(run)
    chart = change_chart(run.parts[0], "type2")
    assert chart is not None
    (panel,) = chart.panels
    drawn = [panel.y.names[round(dot.y)] for dot in panel.marks_of(Dot) if dot.tone != "neither"]
    assert sorted(drawn) == sorted(names)
    p_values = {str(row.cells[0]): float(str(row.cells[0]).rsplit(" = ", 1)[1]) for row in chart.table().rows}
    assert {label.split(", ")[1] for label, p in p_values.items() if p < 0.05} == set(names)
    assert chart.table().rows[0].cells[-1] == several[0].row.estimate
    (finding,) = [said for said in change_findings(run.parts[0], "type2") if "Holm" in said.text]
    assert (NO_CHANGE in chart.caption) == (not names)
    assert all(row.estimate in [change.row.estimate for change in several] for row in finding.rests_on)
    if name == "nothing":
        assert detected_names(several) == NO_CHANGE
        assert "no attribute differs detectably from no marker" in finding.text
    elif name == "old":
        assert re.search(r"“old” \(age\) lowers confidence by 0\.1\d\d \[0\.\d+, 0\.\d+\] \(against", finding.text)
        assert detected_names(several) == "1 of 6 differ from no marker: old."
    else:
        assert "2 of 6 markers lower confidence, most of all “old” (age), by 0.1" in finding.text
        assert "; “Black” (race) raises confidence by 0." in finding.text


def test_terminal_page_and_first_screen_say_the_same_sentences(planted: tuple[str, Run]) -> None:
    _, run = planted
    console = Console(width=400, record=True, file=StringIO())
    console.print(run_text(run))
    printed, page = console.export_text(), run_page(run)
    sentences = [finding.text for finding in change_findings(run.parts[0], "type2", interactions=True)]
    assert sentences and all(sentence in printed and escape(sentence) in page for sentence in sentences)
    leading = [finding.text for finding in leading_findings(run.parts[0])]
    block = [finding.text for finding in first_screen.block(run.parts[0]).every(Finding)]
    assert len(leading) == 1 and leading[0] == block[1], "right under the verdict"
    rest = [finding.text for finding in first_screen.further(run.parts[0])]
    every = [finding.text for finding in identities.findings(run.parts[0])]
    assert [text for text in every if text not in leading] == [text for text in rest if text in every]


def test_the_first_screen_is_about_the_markers_with_the_strongest_as_its_example(planted: tuple[str, Run]) -> None:
    name, run = planted
    (part,) = run.parts
    block = first_screen.block(part)
    picture = next(iter(block.every(Chart)))
    assert picture.topic == "markers"
    strongest = strongest_change(part)
    cases = [finding for finding in block.every(Finding) if finding.example]
    if name == "nothing":
        assert strongest is None and {dot.tone for dot in picture.panels[0].marks_of(Dot)} == {"neither"}
        return
    assert strongest is not None and strongest.marker == "old" and strongest.row.value < 0
    dots = list(picture.panels[0].marks_of(Dot))
    assert [dot.x.value for dot in dots] == sorted(dot.x.value for dot in dots)
    (dot,) = [dot for dot in dots if dot.x == strongest.row.estimate]
    assert dot.tone == "wrong" and "marker%3Dold" in dot.link
    marked, unmarked = cases
    assert "“old” (age) lowers confidence most" in marked.text and unmarked.text == "The same without a marker"
    # The same base sentence, once with the marker and once without it.
    sets = part.items.drop_duplicates("set_id").set_index("set_id")
    ids = [unquote(finding.example.removeprefix("#case=").split(",")[0]) for finding in cases]
    assert sets.loc[ids[0], "cluster_id"] == sets.loc[ids[1], "cluster_id"]
    assert (sets.loc[ids[0], "marker"], sets.loc[ids[1], "augmentation"]) == ("old", "none")


def a_change(marker: str, value: float, reach: float, p: float) -> Change:
    estimate = Estimate(value, value - reach, value + reach, 0.95, 1030, "", p, p)
    return Change("age", marker, Measurement("confidence_change", "m", "d", "t", "all", estimate, "neither"))


def test_a_small_p_beside_an_interval_that_holds_0_is_not_quoted() -> None:
    wide = a_change("old", -0.1, 0.2, 0.002)
    (finding,) = change_sentence([wide, wide], "Here", "type2")
    ends = "(the intervals of all 2 markers include 0, n = 1,030)."
    assert finding.text == f"Here no attribute differs detectably from no marker {ends}"
    (finding,) = change_sentence([a_change("old", -0.1, 0.2, 0.4)], "Here", "type2")
    assert "(smallest p = 0.400 after Holm over 1 marker, n = 1,030)" in finding.text and finding.kind == "type2"


def test_markers_are_counted_and_the_strongest_is_named() -> None:
    several = [a_change("old", -0.2, 0.1, 0.01), a_change("aged", -0.3, 0.1, 0.01), a_change("young", 0.1, 0.3, 0.01)]
    (finding,) = change_sentence(several, "Here", "type2")
    assert "2 of 3 markers lower confidence, most of all “aged” (age), by 0.300 [0.200, 0.400] (" in finding.text
    assert [row.value for row in finding.rests_on] == [-0.3]


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
