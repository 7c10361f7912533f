"""The page's section on calibration: there when it was measured, with the numbers of the run."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from equipoise.reports.calibration.reliability import occupation_table, reliability_table
from equipoise.reports.calibration.section import calibration
from equipoise.reports.page.html import run_page, write_run_page

from equipoise.datasets.occupations import OCCUPATIONS
from equipoise.datasets.sentence_pairs import load_sentence_pairs
from equipoise.run import audit
from equipoise.runs.run import Run
from equipoise.scoring.planted.stereotype import PlantedEngine

Opened = Callable[..., Any]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, hostile: str) -> Run:
    """Return a run on sentence pairs with a label, about known occupations, some of them from a hostile land."""
    folder = tmp_path_factory.mktemp("pairs")
    jobs = [name for name in OCCUPATIONS if " " not in name][:12]
    with open(folder / "mine.csv", "w", newline="", encoding="utf-8") as handle:
        rows = csv.writer(handle)
        rows.writerow(["sent_more", "sent_less", "y", "land"])
        for number in range(120):
            job, land = jobs[number % len(jobs)], hostile.replace("=", ":") if number % 3 else "plain"
            start = f"On day {number} the {job} came and"
            rows.writerow([f"{start} he slept.", f"{start} she slept.", int(number * 7 % 10 < 6), land])
    pairs = load_sentence_pairs(folder / "mine.csv", {"group:land": "land"})
    by = ["land", "predicted_gender", "occupation"]
    audit(PlantedEngine(bias=0.8, noise=1.2), pairs, task="sentence", out=folder / "run", resamples=40, by=by)
    return Run(folder / "run")


@pytest.fixture(scope="module")
def page(run: Run) -> Path:
    return write_run_page(run.path)


def test_the_section_is_there_when_calibration_was_measured(run: Run, planted_run: Path) -> None:
    assert calibration(run) is not None
    assert calibration(Run(planted_run)) is None
    assert 'id="calibration"' not in run_page(Run(planted_run))


def test_words_and_table_have_the_numbers_of_the_run(opened: Opened, page: Path, run: Run) -> None:
    tab = opened(page)
    table = run.measurements.set_index(["metric", "group"])
    ece, floor = table.loc[("ece", "all")], table.loc[("ece_floor", "all")]
    ends = f"[{100 * ece.low:.1f}, {100 * ece.high:.1f}]"
    sentence = f"off by {100 * ece.value:.1f} points {ends} on average; chance alone would show"
    assert f"{sentence} {100 * floor.value:.1f} at n = 120." in tab.inner_text("#calibration")
    assert sentence in tab.inner_text("#findings")
    shown = {
        row.locator("th").inner_text(): row.locator("td").all_inner_texts()
        for row in tab.locator("#calibration tbody tr").all()
    }
    assert {"all", "predicted_gender=male", "predicted_gender=female", "land=plain"} <= set(shown)
    assert not any(name.startswith("occupation=") for name in shown), "many values are in the file, not on the page"
    for group in ("all", "predicted_gender=male", "land=plain"):
        rows = [table.loc[(name, group)] for name in ("ece", "ece_debiased", "brier", "human_alignment")]
        numbers = [f"{row.value:.3f} [{row.low:.3f}, {row.high:.3f}]" for row in rows]
        numbers.insert(1, f"{table.loc[('ece_floor', group)].value:.3f}")
        assert shown[group] == [str(rows[0].n), *numbers]


def test_charts_show_every_bin_and_occupation(opened: Opened, page: Path, run: Run) -> None:
    tab = opened(page)
    (part,) = run.parts
    diagram, work = tab.locator("#calibration svg.chart").all()
    titles = diagram.locator("g > title").all_text_contents()
    bins = reliability_table(part.outcomes)
    bins = bins[bins["group"] != "all"]
    assert titles == [
        f"{one.group}, P {one.confidence:.3f}: {one.rate:.3f} [{one.low:.3f}, {one.high:.3f}] of {one.items}"
        for one in bins.itertuples()
    ]
    assert diagram.locator("rect.mark").count() >= len(bins)
    titles = work.locator("g > title").all_text_contents()
    table = occupation_table(part.outcomes, run.examples)
    assert [re.match(r"(.*): P\(male\) ([\d.]+)", one).groups() for one in titles] == [
        (one.occupation, f"{one.p:.3f}") for one in table.itertuples()
    ]
    assert "share that people call male" in diagram.inner_html()


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1440])
def test_nothing_hostile_and_nothing_too_wide(opened: Opened, page: Path, width: int) -> None:
    tab = opened(page, viewport={"width": width, "height": 844}, color_scheme="dark")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.evaluate("window.hacked") is None and tab.locator("img").count() == 0
    assert "<script>window.hacked" in tab.inner_text("#calibration")
