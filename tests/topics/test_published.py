"""Published values are shown beside those of runs on the same dataset, task and type, and marked as published."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from kept_texts import assert_kept

import equipoise
from equipoise.comparing.comparison import Choices, compare
from equipoise.papers.published import published_values
from equipoise.report import SiteOptions, comparison_page, write_site
from equipoise.runs import Run
from equipoise.runs.measurements import Measurements
from equipoise.topics.published import Measured, PublishedValue, beside_published, published

BARE = Measurements([])
QUICK = {"resamples": 30, "limit": 20, "progress": False, "metrics": ["ucerf", "accuracy", "perplexity"]}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("runs") / "planted"
    return equipoise.audit("planted:strength=1,bias=1", task="next-word", out=out, **QUICK)


def value(metric: str, printed: str, *, dataset: str = "builtin", kind: str = "type2", model: str = "Big-70B"):
    return PublishedValue(f"some-paper, {kind}", model, dataset, "next-word", f"type={kind}", metric, printed, "")


def test_rows_are_those_that_both_have(run: Run) -> None:
    part = run.parts[0]
    values = [value("ucerf", "0.123"), value("fp", "0.9"), value("ucerf", "0.7", dataset="winobias")]
    (table,) = beside_published([Measured("mine", part.dataset, part.task, part.measured)], values)
    assert [column.title for column in table.columns] == ["metric", "mine", "published: Big-70B"]
    (row,) = table.rows
    assert row.cells == ("ucerf", part.measured.get("ucerf", type="type2"), "0.123")
    assert table.name == "published-builtin-next-word-type2"
    assert published([Measured("mine", part.dataset, part.task, part.measured)], values[1:]) is None


def test_a_doubt_is_marked_and_explained_under_the_table(run: Run) -> None:
    part = run.parts[0]
    doubtful = replace(value("ucerf", "0.123"), doubt="It is the accuracy.")
    (table,) = beside_published([Measured("mine", part.dataset, part.task, part.measured)], [doubtful])
    assert table.rows[0].cells[2] == "0.123†" and table.notes == ["† It is the accuracy."]
    other = replace(value("accuracy", "0.5"), model="Small-1B")
    (both,) = beside_published([Measured("mine", part.dataset, part.task, part.measured)], [doubtful, other])
    assert [row.cells[2:] for row in both.rows] == [("0.123†", None), (None, "0.5")]


def test_a_single_run_can_be_seen_beside_published_values(run: Run) -> None:
    comparison = compare([run], Choices(alone=True), progress=False)
    html = comparison_page(comparison, [value("ucerf", "0.123"), value("accuracy", "0.456")])
    assert "published: Big-70B" in html and "0.456" in html
    assert "published:" not in comparison_page(comparison, [value("ucerf", "0.1", dataset="winobias")])


def test_the_papers_values_name_rows_of_measurements() -> None:
    values = published_values("ucerf")
    (pythia,) = [
        v
        for v in values
        if (v.source, v.model, v.group, v.metric) == ("ucerf-paper, Table 4", "Pythia-1B", "type=type2", "ucerf")
    ]
    assert (pythia.dataset, pythia.task, pythia.shown) == ("winobias", "next-word", pythia.printed)
    assert any(v.shown.endswith("†") and "exchanged" in v.doubt for v in values)
    groups = {v.group for v in published_values("winoidentity")}
    assert "attribute=age,augmentation=R,type=type2" in groups


def test_a_leaderboard_shows_them_on_the_pages_of_their_metric_and_dataset(run: Run, tmp_path: Path) -> None:
    values = [value("ucerf", "0.123"), value("perplexity", "1.456")]
    write_site([run.path], tmp_path / "site", SiteOptions(published=values))
    index, dataset = (tmp_path / "site" / name for name in ("index.html", "datasets/builtin.html"))
    assert "0.123" in index.read_text(encoding="utf-8") and "1.456" not in index.read_text(encoding="utf-8")
    assert "0.123" in dataset.read_text(encoding="utf-8") and "1.456" in dataset.read_text(encoding="utf-8")


def test_what_is_described_is_as_it_was_kept(run: Run) -> None:
    (part,) = run.parts
    doubtful = replace(value("accuracy", "0.123"), doubt="It is the accuracy.")
    measured = [Measured("mine", part.dataset, part.task, part.measured)]
    assert_kept("topics/published", published(measured, [doubtful, value("ucerf", "0.5", model="Small-1B")]))


def test_a_metric_that_several_papers_print_is_one_row_with_a_column_for_each_model(run: Run) -> None:
    part = run.parts[0]
    values = [value("ucerf", "0.1"), value("ucerf", "0.2", model="Small-1B"), value("ucerf", "0.3", model="Small-1B")]
    (table,) = beside_published([Measured("mine", part.dataset, part.task, part.measured)], values)
    assert [row.cells for row in table.rows] == [("ucerf", part.measured.get("ucerf", type="type2"), "0.1", "0.2")]


def test_values_of_another_task_or_dataset_are_not_beside_a_run(run: Run) -> None:
    part = run.parts[0]
    here, base = (Measured("mine", name, part.task, part.measured) for name in ("builtin", "builtin-winobias"))
    known = value("ucerf", "0.1")
    assert len(list(beside_published([here, base], [known]))) == 2, "marked sentences are named after their base, too"
    assert list(beside_published([here], [replace(known, task="mcq")])) == []
    assert list(beside_published([here], [replace(known, dataset="other")])) == []


def test_a_row_is_there_where_one_of_the_runs_has_the_metric(run: Run) -> None:
    part = run.parts[0]
    row = part.measured.get("ucerf", type="type2")
    both = [Measured("mine", "builtin", "next-word", part.measured), Measured("bare", "builtin", "next-word", BARE)]
    (table,) = beside_published(both, [value("ucerf", "0.1")])
    assert [shown.cells for shown in table.rows] == [("ucerf", row, None, "0.1")]
    assert list(beside_published(both[1:], [value("ucerf", "0.1")])) == []
