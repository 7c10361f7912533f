"""What is said of identities: claims of the run, and sentence, chart and table agree."""

from __future__ import annotations

import re
from html import escape
from io import StringIO
from pathlib import Path
from urllib.parse import unquote

import pytest
from kept_texts import assert_kept
from rich.console import Console
from stand_in_parts import row as told

import equipoise
from equipoise.records import Estimate, Measurement
from equipoise.records.showing import Chart, Dot, Finding
from equipoise.report import run_page, run_text
from equipoise.runs.measurements import Measurements
from equipoise.runs.run import Run
from equipoise.scoring.planted import open_planted
from equipoise.topics import first_screen
from equipoise.topics.identities.charts import change_chart
from equipoise.verdict.identities import (
    CORRECTED,
    NO_CHANGE,
    Change,
    _interaction,
    change_findings,
    change_sentence,
    changes,
    detected_names,
    findings,
    strongest_change,
)
from equipoise.verdict.subgroups import Subgroups, subgroups
from equipoise.verdict.summary import part_summary

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
    said = [finding for finding in change_findings(subgroups(run.parts[0]), "type2") if "(R)" in finding.text]
    (finding,) = [finding for finding in said if "with he" not in finding.text]
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


def test_what_markers_change_is_in_the_verdict_and_on_every_medium(planted: tuple[str, Run]) -> None:
    name, run = planted
    (part,) = run.parts
    console = Console(width=400, record=True, file=StringIO())
    console.print(run_text(run))
    printed, page = console.export_text(), run_page(run)
    sentences = [finding.text for finding in change_findings(subgroups(part), "type2")]
    assert sentences and all(sentence in printed and escape(sentence) in page for sentence in sentences)
    verdict = part_summary(part).verdict
    said = [finding.text for finding in (*verdict.findings, *filter(None, [verdict.lead]))]
    assert all(said.count(finding.text) == 1 for finding in findings(subgroups(part))), "each once, in the verdict"
    leading = findings(subgroups(part))[0]
    if name == "nothing":
        assert not any("differ" in finding.text and finding.claim for finding in findings(subgroups(part)))
    else:
        assert verdict.status == "difference found" and leading.claim and verdict.lead == leading
        assert leading.text[1:] in verdict.sentence


def test_the_first_screen_is_about_the_markers_with_the_strongest_as_its_example(planted: tuple[str, Run]) -> None:
    name, run = planted
    (part,) = run.parts
    block = first_screen.block(part)
    picture = next(iter(block.every(Chart)))
    assert picture.topic == "markers"
    strongest = strongest_change(subgroups(part))
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
    assert f"(smallest p = 0.400 of 1 marker, {CORRECTED}, n = 1,030)" in finding.text and finding.kind == "type2"


def test_markers_are_counted_and_the_strongest_is_named() -> None:
    several = [a_change("old", -0.2, 0.1, 0.01), a_change("aged", -0.3, 0.1, 0.01), a_change("young", 0.1, 0.3, 0.01)]
    (finding,) = change_sentence(several, "Here", "type2")
    assert "2 of 3 markers lower confidence, most of all “aged” (age), by 0.300 [0.200, 0.400] (" in finding.text
    assert [row.value for row in finding.rests_on] == [-0.3]


STATES = {
    "less": (-0.2, -0.3, -0.1, 0.01),
    "more": (0.15, 0.1, 0.2, 0.01),
    "wide": (-0.1, -0.3, 0.1, 0.01),
    "unsure": (-0.05, -0.09, -0.01, 0.4),
    "untested": (-0.3, -0.4, -0.2, float("nan")),
}


def marked(
    metric: str, marker: str, state: str, kind: str = "type2", way: str = "R", attribute: str = "age"
) -> Measurement:
    value, low, high, p = STATES[state]
    parts = f"attribute={attribute},augmentation={way},marker={marker}" + (f",type={kind}" if kind else "")
    return told(metric, parts, value=value, low=low, high=high, p=p)


def genders(
    he: float, she: float, gap: float, ends: tuple[float, float], p: float, kind: str = "type2"
) -> list[Measurement]:
    at = "augmentation=none" + (f",type={kind}" if kind else "")
    rows = [
        told("confidence", f"augmentation=none,gender={name}" + (f",type={kind}" if kind else ""), value=value)
        for name, value in (("male", he), ("female", she))
    ]
    return [*rows, told("confidence_disparity", at, value=gap, low=ends[0], high=ends[1], p=p)]


def test_sentences_on_identities_are_as_kept() -> None:
    made = {}
    several = {
        "one less": ["less"],
        "one more": ["more"],
        "both": ["less", "more", "unsure"],
        "three less": ["less", "less", "less", "wide"],
        "wide": ["wide", "wide"],
        "unsure": ["unsure"],
        "untested": ["untested"],
        "seven": ["more"] * 7,
    }
    for name, states in several.items():
        for kind in ("type2", ""):
            rows = [marked("confidence_change", f"m{n}", state, kind) for n, state in enumerate(states)]
            rows += [marked("confidence_interaction", f"m{n}", state, kind) for n, state in enumerate(states)]
            identities = Subgroups(Measurements(rows))
            made[f"{name} {kind}"] = [
                f"{finding.text} ({finding.claim}, {finding.kind}: {', '.join(r.group for r in finding.rests_on)})"
                for finding in findings(identities)
            ]
            made[f"{name} {kind}, names"] = detected_names(changes(identities, kind, "R"))
    for name, facts in {
        "he": (0.5, 0.3, 0.2, (0.1, 0.3), 0.01),
        "she": (0.3, 0.5, 0.2, (0.1, 0.3), 0.01),
        "neither": (0.3, 0.5, 0.2, (0.0, 0.3), 0.3),
        "another gap": (0.3, 0.5, 0.4, (0.1, 0.6), 0.01),
    }.items():
        rows = [*genders(*facts), *genders(*facts, kind=""), marked("confidence_change", "old", "unsure")]
        made[f"gender {name}"] = [f.text for f in change_findings(Subgroups(Measurements(rows)), "type2")]
        made[f"gender {name}, no type"] = [f.text for f in change_findings(Subgroups(Measurements(rows)), "")]
        made[f"gender {name}, not all"] = [
            len(list(change_findings(Subgroups(Measurements([r for r in rows[:3] if r is not left])), "type2")))
            for left in rows[:3]
        ]
    assert_kept("verdict/identities", made)


def test_the_strongest_change_is_the_furthest_from_0_and_leads() -> None:
    rows = [
        marked("confidence_change", "young", "more", "type1"),
        marked("confidence_change", "old", "less", "type2", "C"),
        marked("confidence_change", "Black", "untested", "type2", "R", "race"),
        marked("confidence_change", "Asian", "wide", "type2", "R", "race"),
    ]
    identities = Subgroups(Measurements(rows))
    strongest = strongest_change(identities)
    assert strongest is not None and strongest.row == rows[1] and strongest.name == "“old” (age)"
    assert (strongest.kind, strongest.way, strongest.p) == ("type2", "C", 0.01)
    told_first = findings(identities)
    assert list(told_first[0].rests_on) == [rows[1]] and len(told_first) == 3
    assert strongest_change(Subgroups(Measurements(rows[2:]))) is None and findings(Subgroups(Measurements([]))) == []


def test_changes_come_with_the_largest_loss_of_an_attribute_first() -> None:
    rows = [
        marked("confidence_change", "young", "more"),
        marked("confidence_change", "old", "wide"),
        marked("confidence_change", "Black", "less", attribute="race"),
        marked("confidence_change", "White", "more", attribute="race"),
    ]
    several = changes(Subgroups(Measurements(rows)), "type2", "R")
    assert [change.marker for change in several] == ["Black", "White", "old", "young"]
    assert changes(Subgroups(Measurements(rows)), "type2", "C") == []


def test_the_largest_detected_difference_of_he_and_she_is_named_before_larger_ones_that_are_not() -> None:
    small, large = a_change("old", 0.1, 0.05, 0.001), a_change("aged", 0.4, 0.9, 0.8)
    third = a_change("x", 0.05, 0.9, 0.9)
    (found,) = _interaction([third, large, small], "Here", "type2")
    apart = "the change with he minus that with she is"
    assert found.text.startswith("Here “old” (age) changes confidence with he and with she by different amounts: ")
    assert f"{apart} +0.100" in found.text and found.claim and [row.value for row in found.rests_on] == [0.1]
    (none,) = _interaction([third, large], "Here", "type2")
    assert f"most of all “aged” (age): {apart} +0.400" in none.text and none.claim is False
    (several,) = _interaction([small, a_change("grey", -0.2, 0.05, 0.001), large], "Here", "type2")
    assert "Here 2 of 3 markers change confidence with he and with she by different amounts, most of all “grey”" in (
        several.text
    )
    assert list(_interaction([], "Here", "type2")) == []
