"""The numbers of a run: the leading ones first, none lost, each group's three."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kept_texts import assert_kept

from equipoise import audit
from equipoise.metrics import METRICS
from equipoise.records import Estimate, Measurement
from equipoise.records.showing import Cell, Finding, Section, Table, Verdict
from equipoise.runs.measurements import Measurements, metric_place
from equipoise.runs.run import Run
from equipoise.topics import numbers as numbers_module
from equipoise.topics.categories import pairs
from equipoise.topics.numbers import by_group, headlines, many_groups, metrics, numbers, over_groups, summary


def test_every_metric_of_a_type_is_in_the_table_once_the_leading_ones_first(planted_run: Path) -> None:
    (part,) = Run(planted_run).parts
    table = metrics(part)
    names = [row.cells[0] for row in table.rows]
    known = {row.metric for row in part.measured if row.group in ("type=type1", "type=type2")}
    assert len(names) == len(set(names)) and set(names) == known
    first, rest = headlines(part)
    assert names == [*first, *rest] and table.shown == len(first) and {"flip_rate", "ucerf", "accuracy"} <= set(first)
    for row in table.rows:
        assert row.bounds is not None and row.bounds[0] < row.bounds[1] and row.cells[-1]
        for kind, cell in zip(part.measured.kinds, row.cells[1:-1], strict=True):
            assert cell == part.measured.get(str(row.cells[0]), type=kind)


def test_a_run_that_was_asked_for_certain_metrics_shows_them_all(tmp_path: Path) -> None:
    run = audit("planted", limit=10, resamples=10, metrics=["ucerf", "eo_max"], out=tmp_path / "run")
    assert headlines(run.parts[0]) == (["ucerf", "eo_max"], [])


def test_spreads_over_seeds_are_beside_their_values(tmp_path: Path) -> None:
    run = audit("planted:noise=1", task="mcq", orders=2, limit=10, resamples=10, out=tmp_path / "run")
    part = run.parts[0]
    cells = [cell for row in metrics(part).rows for cell in row.cells if isinstance(cell, Cell)]
    assert cells
    for cell in cells:
        assert isinstance(cell.content, Measurement)
        spread = part.measured.spread(cell.content.metric, cell.content.group)
        assert spread is not None and cell.after == f"±{spread:.3f}"


def test_groups_have_their_own_rows_and_many_are_only_counted(planted_run: Path) -> None:
    (part,) = Run(planted_run).parts
    for table in by_group(part):
        kind = table.about["type"]
        for row in table.rows:
            assert isinstance(row.cells[0], Cell) and "occupation" not in str(row.cells[0].content)
            key, value = str(row.cells[0].content).split(": ")
            for column, cell in zip(table.columns[1:], row.cells[1:], strict=True):
                assert cell == part.measured.get(column.title, type=kind, **{key: value})
    (note,) = many_groups(part)
    count = max(len(part.measured.values_of("occupation", kind)) for kind in part.kinds)
    assert note.text == f"{count} values of occupation are in measurements.csv." and note.state == "note"


def test_the_control_is_a_check_of_the_run_and_its_own_numbers_are_folded(tmp_path: Path) -> None:
    data = ["builtin", "gendered:control"]
    run = audit("planted", data=data, resamples=10, out=tmp_path / "run")
    own, control = [part for part in summary(run).shown if isinstance(part, Section)]
    assert (own.folded, control.folded) == (False, True)
    assert "control of the group word" in [check.name for check in own.every(Finding)]
    alone = audit("planted", data=data[1:], resamples=10, out=tmp_path / "alone")
    assert [part.folded for part in summary(alone).shown if isinstance(part, Section)] == [False]
    assert not pairs(run) and pairs(alone), "a control has he, she and they, but its pairs are not the run's question"


def test_groups_are_folded_unless_they_were_asked_for(tmp_path: Path) -> None:
    for by, folded in ((None, True), (["gender"], False)):
        run = audit("planted", by=by, limit=10, resamples=10, out=tmp_path / f"{by}")
        (part,) = [part for part in summary(run).shown if isinstance(part, Section)]
        groups = [entry for entry in part.shown if isinstance(entry, Section) and list(entry.every(Table))]
        assert [entry.folded for entry in groups if "By group" in next(entry.every(Table)).title] == [folded]
        assert any("values of groups are on the page" in note.text for note in part.every(Finding)) == folded


def test_metrics_over_groups_are_all_there(planted_run: Path) -> None:
    (part,) = Run(planted_run).parts
    (table,) = over_groups(part)
    assert {row.cells[2] for row in table.rows} == {row for row in part.measured if row.group.startswith("by=")}


def test_page_and_terminal_show_the_same_tables(planted_run: Path) -> None:
    run = Run(planted_run)
    on_page = {table.name for table in numbers(run).every(Table)}
    assert {table.name for table in summary(run).every(Table)} == on_page
    assert not list(numbers(run).every(Finding))


def test_what_is_described_is_as_it_was_kept(planted_run: Path, cloze_runs: tuple[Path, Path]) -> None:
    run = Run(planted_run)
    assert_kept("topics/numbers", numbers(run), summary(run), numbers(Run(cloze_runs[0])))


def fake_part(names: list[str], *, settings: dict[str, Any] | None = None, group: str = "type=type1") -> Any:
    """Return a part with these metrics, each with one value of a group."""
    rows = [Measurement(name, "m", "d", "t", group, Estimate(0.5, 0.4, 0.6, 0.95, 9, ""), "higher") for name in names]
    run = SimpleNamespace(manifest=SimpleNamespace(settings=settings or {}), name="m")
    facts = {"measured": Measurements(rows), "run": run, "has_items": False, "about": lambda *_: {}}
    return SimpleNamespace(**facts, title=lambda kind: kind)


LEADING = [metric.name for metric in METRICS.values() if metric.leading]


@pytest.mark.parametrize(("count", "is_whole"), [(12, True), (13, False)])
def test_a_short_table_is_shown_whole(count: int, is_whole: bool) -> None:
    others = [name for name in METRICS if not numbers_module._is_headline(name)][: count - 1]
    first, rest = headlines(fake_part(["ucerf", *others]))
    assert (len(first), len(rest)) == ((count, 0) if is_whole else (1, count - 1))
    assert headlines(fake_part(others)) == (sorted(others, key=metric_place), [])


def test_metrics_that_were_chosen_are_shown_over_groups_too() -> None:
    name = next(name for name in METRICS if not numbers_module._is_headline(name))
    for settings, shown in (({"metrics": [name]}, 2), ({"metrics": LEADING}, 1), ({}, 1)):
        part = fake_part([name, "ucerf"], settings=settings, group="by=gender")
        (table,) = over_groups(part)
        assert table.shown == shown and len(table.rows) == 2
        assert numbers_module._are_chosen(part) is (shown == 2)


@pytest.mark.parametrize(("count", "told"), [(10, []), (11, ["11 values of job are in measurements.csv."])])
def test_groups_of_more_than_ten_values_are_counted(count: int, told: list[str]) -> None:
    rows = [
        Measurement("accuracy", "m", "d", "t", f"job=j{at},type=type1", Estimate(0.5, 0.4, 0.6, 0.95, 9, ""), "higher")
        for at in range(count)
    ]
    part: Any = SimpleNamespace(measured=Measurements(rows), title=lambda kind: kind, about=lambda kind: {})
    assert [note.text for note in many_groups(part)] == told
    assert [len(table.rows) for table in by_group(part)] == ([] if told else [10])


RANGES = {"ucerf": (0.0, 1.0), "no such metric": (0.0, 1.0), "desirability": (-1.0, 1.0)}


@pytest.mark.parametrize(("name", "ends"), RANGES.items())
def test_a_value_is_drawn_on_its_whole_range(name: str, ends: tuple[float, float]) -> None:
    assert numbers_module._range(name, fake_part([])) == ends
    unbounded = next(name for name, metric in METRICS.items() if not math.isfinite(metric.bounds[1]))
    low, _ = METRICS[unbounded].bounds
    part = fake_part([])
    part.has_items, part.outcomes = True, SimpleNamespace(k=3)
    expected = (low if math.isfinite(low) else -3.0, 3.0)
    assert (
        numbers_module._range(unbounded, part) == expected and numbers_module._range(unbounded, fake_part([]))[1] == 2.0
    )


@pytest.mark.parametrize(
    ("count", "groups", "asked", "text"),
    [
        (1, False, False, "1 more finding is"),
        (2, False, False, "2 more findings are"),
        (0, True, False, "The values of groups are"),
        (
            1,
            True,
            False,
            "1 more finding and the values of groups are",
        ),
        (0, True, True, ""),
        (0, False, False, ""),
    ],
)
def test_what_is_folded_is_told(
    count: int, groups: bool, asked: bool, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"{text} on the page; `equipoise report RUN --all` prints them." if text else ""
    table = Table("groups", (), [])
    monkeypatch.setattr(numbers_module, "over_groups", lambda part: [])
    monkeypatch.setattr(numbers_module, "by_group", lambda part: [table] * groups)
    monkeypatch.setattr(numbers_module, "many_groups", lambda part: [])
    part = fake_part([], settings={"by": ["gender"] if asked else []})
    more = [Finding(f"{at}") for at in range(count)]
    for not_detected in (0, 2):
        verdict = Verdict("difference found", "It.", findings=[*[Finding("x")] * 5, *more], not_detected=not_detected)
        shown = list(numbers_module._further(part, verdict))
        notes = [entry.text for entry in shown if isinstance(entry, Finding)]
        assert notes == [" ".join(filter(None, [text, verdict.uncounted]))] * bool(text or not_detected)
        folded = [(entry.title, entry.folded) for entry in shown if isinstance(entry, Section)]
        assert folded == [*[("More findings", True)] * bool(count), ("", True), ("", not asked)]
