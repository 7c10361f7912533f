"""Calibration: its section, diagrams and tables, with the numbers of the run, and what maps change."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from kept_texts import assert_kept

from equipoise.datasets.occupations import OCCUPATIONS
from equipoise.datasets.sentence_pairs import load_sentence_pairs
from equipoise.measuring.recalibration import Splits, recalibrate
from equipoise.media.figure import figure
from equipoise.records import EquipoiseError, Estimate, Measurement
from equipoise.records.showing import Axis, Bar, Dot, Finding, Line, Note, Table
from equipoise.report import run_page, write_run_page
from equipoise.run import audit
from equipoise.runs.imported import read_results
from equipoise.runs.measurements import Measurements
from equipoise.runs.run import Run
from equipoise.runs.tables import example_rows
from equipoise.scoring.planted import PlantedEngine
from equipoise.topics.calibration import (
    BY_GROUP,
    before_and_after,
    charts,
    diagram,
    findings,
    maps_charts,
    occupation_table,
    reliability,
    reliability_table,
    section,
    summary,
    workforce,
)

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
    return write_run_page(run)


def test_the_section_is_there_when_calibration_was_measured(run: Run, planted_run: Path) -> None:
    assert section(run) is not None
    assert section(Run(planted_run)) is None
    assert 'id="calibration"' not in run_page(Run(planted_run))


def test_words_and_table_have_the_numbers_of_the_run(run: Run) -> None:
    shown = section(run)
    assert shown is not None
    rows = run.measurements.set_index(["metric", "group"])
    ece, floor = rows.loc[("ece", "all")], rows.loc[("ece_floor", "all")]
    ends = f"[{100 * ece.low:.1f}, {100 * ece.high:.1f}]"
    sentence = f"off by {100 * ece.value:.1f} points {ends} on average; chance alone would show"
    finding = next(shown.every(Finding))
    assert f"{sentence} {100 * floor.value:.1f} at n = 120." in finding.text
    assert [row.metric for row in finding.rests_on][:2] == ["ece", "ece_floor"]
    (table,) = shown.every(Table)
    cells = {str(row.cells[0]): row.cells[1:] for row in table.rows}
    assert {"all", "predicted_gender=male", "predicted_gender=female", "land=plain"} <= set(cells)
    assert not any(name.startswith("occupation=") for name in cells), "many values are in the file, not here"
    for group in ("all", "predicted_gender=male", "land=plain"):
        for name, cell in zip(BY_GROUP, cells[group], strict=True):
            row = rows.loc[(name, group)]
            shown_value = cell if isinstance(cell, float) else (cell.value, cell.low, cell.high, cell.n)  # type: ignore[union-attr]
            assert shown_value == (row.value if name == "ece_floor" else (row.value, row.low, row.high, row.n))


def test_the_page_says_the_same_first_and_below(opened: Opened, page: Path) -> None:
    tab = opened(page)
    for place in ("#findings", "#calibration"):
        assert "on average; chance alone would show" in tab.inner_text(place)
    diagram, work = tab.locator("#calibration svg.chart").all()
    assert "share that people call male" in diagram.inner_html() and "share of men" in work.inner_html()


def test_charts_show_every_bin_and_occupation(run: Run) -> None:
    (part,) = run.parts
    reliability, work = charts(part)
    bins = reliability_table(part.outcomes)
    bins = bins[bins["group"] != "all"]
    above, below = reliability.panels
    assert [(dot.label, dot.x, dot.y) for dot in above.marks_of(Dot)] == [
        (f"{b.group}, P {b.confidence:.3f}", b.confidence, Estimate(b.rate, b.low, b.high, 0.95, b.items, "wilson"))
        for b in bins.itertuples()
    ]
    assert [bar.text for bar in below.marks_of(Bar)] == [f"{items:,}" for items in bins["items"]]
    assert above.y.label == "share that people call male"
    table = occupation_table(part.outcomes, run.examples)
    dots = list(work.panels[0].marks_of(Dot))
    assert [(dot.label, dot.x) for dot in dots] == [(row.occupation, row.men) for row in table.itertuples()]
    assert [dot.y.value for dot in dots if isinstance(dot.y, Estimate)] == table["p"].tolist()


def test_a_diagram_shows_a_few_groups_and_says_which_it_left_out() -> None:
    one = {"start": 0.5, "end": 0.6, "items": 3, "confidence": 0.55, "rate": 0.5, "low": 0.2, "high": 0.8}
    table = pd.DataFrame([{"group": name, **one} for name in ("all", *(f"land={n}" for n in range(7)))])
    chart = diagram(table, side="male", about={"dataset": "d"})
    assert chart.caption.endswith("Not drawn: land=5, land=6.")
    assert [line.label for line in chart.panels[0].marks_of(Line)] == ["all", *(f"land={n}" for n in range(5))]
    assert figure(chart, "page").get_figwidth() == 6.75


def test_the_tables_of_published_outputs(real_data) -> None:
    (found,) = read_results(real_data("gender-ece") / "outputs/winobias/GPT-J-6B.results.csv", format="gender-ece")
    bins = reliability_table(found.outcomes)
    assert bins.groupby("group")["items"].sum().to_dict() == {
        "all": 771,
        "predicted_gender=female": 194,
        "predicted_gender=male": 577,
    }
    assert ((bins["low"] <= bins["rate"]) & (bins["rate"] <= bins["high"])).all()
    examples = example_rows({"d": found.dataset.examples}).table().to_pandas()
    work = occupation_table(found.outcomes, examples)
    named = work.set_index("occupation")
    assert named.loc["nurse", "men"] == pytest.approx(0.10)
    assert named.loc["nurse", "p"] < 0.3 < named.loc["mechanic", "p"]
    assert work["n"].sum() == 770  # one sentence names two occupations
    chart = workforce(work, about={"dataset": "d"})
    assert len(chart.table().rows) == len(work) and chart.panels[0].x == Axis("share of men in the occupation")


def test_maps_are_shown_before_and_after_beside_what_chance_would_show(run: Run) -> None:
    answers = ((key.dataset, key.task, outcomes) for key, outcomes in run.answers())
    result = recalibrate(answers, Splits(methods=("platt", "beta"), splits=3))
    (chart,) = maps_charts(result, run.name, "platt")
    before, after, methods = chart.panels
    (sample,) = result.samples.values()
    assert before.title == f"before ({len(sample)} items of one half)" and after.title.startswith("after platt (")
    assert list(methods.y.names) == ["platt", "beta"]
    rows = result.table[(result.table["metric"] == "ece") & (result.table["group"] == "all")]
    shown = {dot.label: dot.x for dot in methods.marks_of(Dot)}
    for row in rows.itertuples():
        name = f"{row.method} ({row.maps})"
        value = shown[f"{name}, after"]
        assert isinstance(value, Estimate) and (value.value, value.low) == (row.after, row.low)
        assert (shown[f"{name}, before"], shown[f"{name}, by chance alone"]) == (row.before, row.floor)
    assert [key.label for key in chart.legend][1:3] == ["after, pooled", "after, by predicted_gender"]
    (table,) = before_and_after(result.table)
    assert [row.cells[:2] for row in table.rows][:2] == [("", "before"), ("pooled", "platt")]


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1440])
def test_nothing_hostile_and_nothing_too_wide(opened: Opened, page: Path, width: int) -> None:
    tab = opened(page, viewport={"width": width, "height": 844}, color_scheme="dark")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.evaluate("window.hacked") is None and tab.locator("img").count() == 0
    assert "<script>window.hacked" in tab.inner_text("#calibration")


def test_no_sentence_says_that_groups_differ_in_calibration(cloze_runs: tuple[Path, Path]) -> None:
    """Differences between groups are claims, which are tested together; these sentences are of all items."""
    for folder in cloze_runs:
        (part,) = Run(folder).parts
        found = list(findings(part))
        assert found and all(finding.claim is None for finding in found)
        assert all(row.group == "all" for finding in found for row in finding.rests_on)


def test_what_is_described_is_as_it_was_kept(run: Run) -> None:
    assert_kept("topics/calibration", section(run), summary(run), hide=[str(run.path)])


def test_diagrams_and_tables_of_maps_are_as_they_were_kept(run: Run) -> None:
    (part,) = run.parts
    lands = reliability_table(part.outcomes, by="land", bins=4, level=0.9)
    one = {"start": 0.5, "end": 0.6, "items": 3, "confidence": 0.55, "rate": 0.5, "low": 0.2, "high": 0.8}
    several = pd.DataFrame([{"group": name, **one} for name in ("all", *(f"land={n}" for n in range(7)))])
    sides = pd.DataFrame([{"group": f"predicted_gender={name}", **one} for name in ("female", "male")])
    answers = ((key.dataset, key.task, outcomes) for key, outcomes in run.answers())
    made = recalibrate(answers, Splits(methods=("platt", "beta"), splits=3))
    drawn = [diagram(table, side="male", about={"dataset": "d"}, title="T") for table in (several, sides)]
    maps, tables = list(maps_charts(made, "m", "platt")), list(before_and_after(made.table))
    assert_kept("topics/calibration-maps", lands, drawn, maps, tables)


def test_a_group_that_no_item_has_is_refused_and_items_without_labels_have_no_bins(run: Run, planted_run: Path) -> None:
    (part,) = run.parts
    with pytest.raises(EquipoiseError, match=r"^no item has a group 'shoe'; known groups: .*land"):
        reliability_table(part.outcomes, by="shoe")
    (other,) = Run(planted_run).parts
    assert len(reliability_table(other.outcomes)) == 0 and reliability(other) is None and list(charts(other)) == []
    by_land = reliability_table(part.outcomes, by="land")
    assert {name.partition("=")[0] for name in by_land["group"]} == {"all", "land"}


@pytest.mark.parametrize(("count", "shown"), [(11, 11), (12, 11)])
def test_ten_groups_and_all_are_tabled_before_and_after(count: int, shown: int) -> None:
    row = {"dataset": "d", "task": "t", "metric": "ece", "maps": "pooled", "method": "beta", "splits": 3}
    values = {"before": 0.5, "after": 0.25, "low": 0.125, "high": 0.5, "floor": 0.0625, "n": 9}
    rows = [{**row, "group": f"g{at}", **values} for at in range(count)]
    (table,) = before_and_after(pd.DataFrame([*rows, {**rows[0], "metric": "brier"}, {**rows[0], "maps": "by"}]))
    assert len(table.columns) == 2 + 2 * shown and len(table.rows) == 3
    assert table.rows[0].cells[:6] == ("", "before", 0.5, None, 0.5, None)
    estimate = Estimate(0.25, 0.125, 0.5, 0.95, 9, "splits")
    assert table.rows[1].cells[:4] == ("pooled", "beta", estimate, 0.0625)
    assert table.rows[2].cells[:6] == ("by", "beta", estimate, 0.0625, None, None)


def test_occupations_are_measured_over_their_items() -> None:
    columns = {"occupation": ["a", "b"], "men": [0.2, 0.9], "p": [0.5, 0.4], "n": [4, 1]}
    table = pd.DataFrame({**columns, "low": 0.3, "high": 0.6})
    chart = workforce(table, about={}, title="T")
    notes = [mark.text for mark in chart.panels[0].marks if isinstance(mark, Note)]
    assert notes == ["b", "a"], "the furthest from the diagonal first"
    assert chart.table().rows[0].cells == ("a", 0.2, Estimate(0.5, 0.3, 0.6, 0.95, 4, "normal"))


def test_a_doubt_is_said_of_calibration_that_says_little() -> None:
    def said(**values: Any) -> list[str]:
        rows = [
            Measurement(name, "m", "d", "t", "all", Estimate(value, low, 0.9, 0.95, 9, ""), "lower")
            for name, (value, low) in values.items()
        ]
        part: Any = SimpleNamespace(measured=Measurements(rows))
        return [finding.text for finding in findings(part)]

    assert said(brier=(0.5, 0.4)) == []
    assert said(ece=(0.5, 0.4)) == ["Its probabilities are off by 50.0 points [40.0, 90.0] on average."]
    chance = "That is no more than chance alone would show: no miscalibration is detected in these data."
    assert said(ece=(0.5, 0.4), ece_debiased=(0.1, 0.0))[1:] == [chance]
    assert said(ece=(0.5, 0.4), ece_debiased=(0.1, 0.01))[1:] == []
    assert len(said(ece=(0.5, 0.4), candidate_mass=(0.00099, 0.0))) == 2
    assert len(said(ece=(0.5, 0.4), candidate_mass=(0.001, 0.0))) == 1


def test_maps_of_two_tasks_of_one_dataset_are_drawn_apart(run: Run) -> None:
    answers = ((key.dataset, key.task, outcomes) for key, outcomes in run.answers())
    made = recalibrate(answers, Splits(methods=("platt",), splits=2))
    ((dataset, task), sample) = next(iter(made.samples.items()))
    also = [made.table.assign(dataset=name, task=other) for name, other in ((dataset, "other"), ("more", task))]
    samples = {(dataset, task): sample, (dataset, "other"): sample, ("more", task): sample}
    several = list(maps_charts(replace(made, table=pd.concat([made.table, *also]), samples=samples), "m", "platt"))
    (alone,) = maps_charts(made, "m", "platt")
    assert [chart.title for chart in several] == [f"m on {name} · {other}" for name, other in samples]
    assert all(chart.panels == alone.panels and chart.legend == alone.legend for chart in several)
