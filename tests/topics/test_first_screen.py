"""The first screen of a run with several parts: the finding, its picture and its worst case before every caution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from kept_texts import assert_kept

from equipoise.datasets.builtin import load_builtin
from equipoise.datasets.dataset import Dataset
from equipoise.records import DECIDED, Estimate, Measurement
from equipoise.records.showing import Chart, Dot, Finding, Section, Verdict
from equipoise.report import write_run_page
from equipoise.run import audit
from equipoise.runs.run import Run
from equipoise.scoring.planted import PlantedEngine
from equipoise.topics import first_screen
from equipoise.topics.first_screen import block, data_checks, findings, lead_place, leading_picture, parts
from equipoise.verdict.items import Labels

Opened = Callable[..., Any]
HIGHEST = "its flip rate is the highest, by the low end of its interval"


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run of two tasks that the model guesses at, on data with one set that has one side only."""
    examples = load_builtin().examples
    sets = list(dict.fromkeys(example.set_id for example in examples))
    chosen = set(sets[:32] + sets[-32:])
    dropped = next(example for example in examples if example.answerable and example.set_id in chosen)
    kept = tuple(example for example in examples if example.set_id in chosen and example is not dropped)
    folder = tmp_path_factory.mktemp("several") / "run"
    shown = {"task": ["next-word", "mcq"], "orders": 2, "resamples": 30, "by": []}
    audit(PlantedEngine(strength=0, bias=1.5, other=1.0, noise=0.7), data=Dataset("cut", kept), out=folder, **shown)
    return folder


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_the_finding_the_picture_and_the_worst_case_come_first(
    opened: Opened, several: Path, tmp_path: Path, width: int, height: int
) -> None:
    tab = opened(write_run_page(Run(several), out=tmp_path / "page.html"), viewport={"width": width, "height": height})

    def place(selector: str) -> Any:
        return tab.locator(selector).first.bounding_box()

    picture = place("#findings .squares")
    assert place("#findings .status")["y"] < picture["y"] and place("#findings .status")["y"] < height
    if width > 1000:
        assert picture["y"] + picture["height"] < height and place("#findings .worst h3")["y"] < height
    status = tab.locator("#findings .first .status")
    assert status.count() == 1 and "so a high UCerF means nothing" in status.inner_text()
    assert tab.locator("#findings .caution").count() == 0
    assert place(".bar")["height"] < (60 if width > 1000 else 120)
    ends = [tab.locator(".bar nav a").nth(at).bounding_box() for at in range(tab.locator(".bar nav a").count())]
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= width for box in ends), "no link is off the screen"
    if width > 1000:
        assert place("#findings .checks")["y"] < height
    others = tab.locator("#findings tbody a")
    assert others.count() == 1
    others.click()
    assert tab.url.endswith("#part-1") or tab.url.endswith("#part-0")
    assert tab.locator("#parts .status").count() == 1, "the other part has its own verdict"


def test_a_note_on_the_data_comes_once_however_it_was_asked(opened: Opened, several: Path, tmp_path: Path) -> None:
    run = Run(several)
    (check,) = data_checks(run.parts, "cut")
    assert check.name == "one-sided sets" and check.text.startswith("1 of ")
    tab = opened(write_run_page(Run(several), out=tmp_path / "page.html"))
    assert tab.inner_text("#data").count(check.text) == 1


def test_a_sound_part_leads_before_one_at_chance_and_the_surest_of_sound_ones(
    several: Path, planted_run: Path, mild_run: Path
) -> None:
    guessed, (strong,), (mild,) = Run(several).parts, Run(planted_run).parts, Run(mild_run).parts
    rates = {part.run.path: part.measured.get("flip_rate", type="type1").low for part in (strong, mild)}
    assert rates[strong.run.path] > rates[mild.run.path]
    place, why = lead_place([*guessed, mild, strong])
    assert place == 3 and "of the 2 answered better than chance" in why
    place, why = lead_place([guessed[0], mild])
    assert place == 1 and "the only one answered better than chance" in why
    place, why = lead_place(guessed)
    assert "all of them in doubt" in why


def test_a_control_never_leads(tmp_path: Path) -> None:
    settings = {"metrics": ["flip_rate", "accuracy", "group_word_accuracy"], "resamples": 20, "limit": 40, "by": []}
    run = audit(PlantedEngine(strength=1, bias=0.1), ["gendered:control", "builtin"], out=tmp_path, **settings)
    place, why = lead_place(run.parts)
    assert run.parts[place].dataset == "builtin" and "the other is a control" in why


def test_wordings_are_the_picture_of_a_run_in_several_wordings(worded_runs: list[Path]) -> None:
    (part,) = Run(worded_runs[1]).parts
    picture = leading_picture(part)
    assert picture is not None and picture.topic == "wordings"
    (rates, scores), wordings = picture.panels, {"one", "two", "three"}
    assert set(rates.y.names) == wordings and len(list(rates.marks_of(Dot))) == len(list(scores.marks_of(Dot))) == 3
    values = [dot.x.value for dot in rates.marks_of(Dot)]
    assert values == sorted(values, reverse=True)
    for dot in rates.marks_of(Dot):
        assert dot.x == part.measured.get("flip_rate", type="type1", wording=dot.label).estimate
    captions = [chart.caption for chart in block(part).every(Chart)]
    assert not any("option orders" in text for text in captions) and any("3 wordings" in text for text in captions)


def test_the_reliability_diagram_is_the_picture_of_labelled_pairs(cloze_runs: tuple[Path, Path]) -> None:
    (part,) = Run(cloze_runs[0]).parts
    first = next(iter(block(part).every(Chart)))
    assert first.title == "Do the probabilities match the labels?" and not first.topic, "published by its section"


def test_no_picture_of_answers_to_a_question_that_was_not_understood(planted_run: Path) -> None:
    (part,) = Run(planted_run).parts
    little = np.full_like(part.outcomes.logprobs, -9.0)
    part.__dict__["outcomes"] = replace(part.outcomes, logprobs=little)
    shown = block(part)
    assert not list(shown.every(Chart))
    lead, *others = [finding for finding in shown.every(Finding) if not finding.short]
    assert "did not understand the question" in lead.text and not others, "no finding, and no worst case"


def test_what_is_described_is_as_it_was_kept(several: Path, cloze_runs: tuple[Path, Path]) -> None:
    run = Run(several)
    assert_kept("topics/first_screen", findings(run), parts(run), findings(Run(cloze_runs[1])))


def part_with(flips: float, *, usable: bool = True, doubts: bool = False, control: bool = False) -> Any:
    """Return what `lead_place` looks at of a part: its flips, whether it is usable and sound, and a control."""
    checks = [SimpleNamespace(beside="a doubt" if doubts else "")]
    summary = SimpleNamespace(verdict=SimpleNamespace(usable=usable), checks=checks)
    return SimpleNamespace(flips=flips, summary=summary, kinds=[DECIDED] if control else ["type1"])


@pytest.mark.parametrize(
    ("several", "place", "why"),
    [
        ([{"flips": -1.0}, {"flips": -1.0}], 0, "One of 2 parts of this run."),
        ([{"flips": -1.0}, {"flips": 0.0}], 1, f"Shown first of 2 parts: {HIGHEST} (0.0%)."),
        ([{"flips": 0.1}, {"flips": 0.9, "control": True}], 0, "Shown first of 2 parts: the other is a control."),
        (
            [{"flips": 0.9, "control": True}, {"flips": 0.1}, {"flips": 0.9, "control": True}],
            1,
            "Shown first of 3 parts: the others are controls.",
        ),
        ([{"flips": 0.1}, {"flips": 0.25}], 1, f"Shown first of 2 parts: {HIGHEST} (25.0%)."),
        ([{"flips": 0.25}, {"flips": 0.25}], 0, f"Shown first of 2 parts: {HIGHEST} (25.0%)."),
        (
            [{"flips": 0.1, "doubts": True}, {"flips": 0.25, "doubts": True}],
            1,
            f"Shown first of 2 parts, all of them in doubt: {HIGHEST} (25.0%).",
        ),
        (
            [{"flips": 0.1}, {"flips": 0.9, "doubts": True}],
            0,
            "Shown first of 2 parts: the only one answered better than chance.",
        ),
        (
            [{"flips": 0.1}, {"flips": 0.2}, {"flips": 0.9, "usable": False}],
            1,
            f"Shown first of 3 parts: of the 2 answered better than chance, {HIGHEST} (20.0%).",
        ),
        (
            [{"flips": 0.1, "doubts": True}, {"flips": 0.9, "usable": False}],
            0,
            f"Shown first of 2 parts, all of them in doubt: {HIGHEST} (10.0%).",
        ),
    ],
)
def test_the_part_that_comes_first_is_told_with_the_reason(
    several: list[dict[str, Any]], place: int, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_screen, "part_summary", lambda part: part.summary)
    monkeypatch.setattr(first_screen, "_surest_flips", lambda part: part.flips)
    assert lead_place([part_with(**facts) for facts in several]) == (place, why)


def test_the_surest_flips_are_the_largest_low_end() -> None:
    def surest(*lows: float | None) -> float:
        rates = {f"k{at}": None if low is None else SimpleNamespace(low=low) for at, low in enumerate(lows)}
        measured = SimpleNamespace(get=lambda metric, type: rates[type] if metric == "flip_rate" else None)
        return first_screen._surest_flips(SimpleNamespace(kinds=list(rates), measured=measured))  # type: ignore[arg-type]

    assert surest(0.1, 0.3, 0.2) == 0.3 and surest(None, float("nan"), 0.2) == 0.2 and surest(None) == -1.0 == surest()


def test_labels_are_drawn_as_they_were_kept(planted_run: Path) -> None:
    (part,) = Run(planted_run).parts

    def row(value: float) -> Measurement:
        return Measurement("p", "m", "d", "t", "all", Estimate(value, value - 0.1, value + 0.1, 0.95, 9, ""), "neither")

    drawn = [
        first_screen.label_chart(part, Labels(side, other, row(0.75), labelled, None))
        for side, other, labelled in (("male", "female", row(0.5)), ("a", "b", None))
    ]
    assert_kept("topics/labels", drawn)


def test_what_comes_after_the_verdict_is_counted(planted_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (part,) = Run(planted_run).parts
    found = [Finding(f"finding {at}") for at in range(7)]
    for count, title in ((6, "1 more finding"), (7, "2 more findings"), (5, "")):
        verdict = Verdict("difference found", "It.", findings=found[:count], not_detected=count % 2)
        summary = SimpleNamespace(verdict=verdict)
        monkeypatch.setattr(first_screen, "part_summary", lambda part, summary=summary: summary)
        shown = list(first_screen.further(part))
        assert shown[:5] == found[:5]
        assert [entry.title for entry in shown if isinstance(entry, Section)] == [title] * bool(title)
        assert [str(entry) for entry in shown[5:] if isinstance(entry, Finding)] == [verdict.uncounted] * (count % 2)
        assert first_screen.lines(part) == [verdict.line, *found[:5]]
