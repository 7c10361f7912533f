"""The first screen of a run with several parts: the finding, its picture and its worst case before every caution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept_texts import assert_kept

from equipoise.datasets.builtin import load_builtin
from equipoise.datasets.dataset import Dataset
from equipoise.records.showing import Chart, Dot, Finding
from equipoise.report import write_run_page
from equipoise.run import audit
from equipoise.runs.run import Run
from equipoise.scoring.planted import PlantedEngine
from equipoise.topics.first_screen import block, data_checks, findings, lead_place, leading_picture, parts

Opened = Callable[..., Any]


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
