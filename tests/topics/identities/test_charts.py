"""Charts of identities come from the measurements alone, and show what was measured, at exactly the width asked for."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kept_texts import assert_kept
from typer.testing import CliRunner

import equipoise
from equipoise.cli import app
from equipoise.comparing.matching import named_apart
from equipoise.datasets.occupations import OCCUPATIONS
from equipoise.media.figure import WIDTHS, files
from equipoise.records import EquipoiseError, Estimate
from equipoise.records.showing import Area, Chart, Dot, Heat, Line, Rule, every
from equipoise.report import identity_figures
from equipoise.runs.run import Part, Run
from equipoise.scoring.planted import open_planted
from equipoise.topics import identities
from equipoise.topics.identities import charts as topic
from equipoise.topics.identities.charts import change_chart, crossing, heatmap, lines, radars, trade_off
from equipoise.verdict.subgroups import named_parts

ENGINE = open_planted("lead=0.4,lead:old=-0.3,lead:female=-0.05,sentence=0.04,noise=0.02")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    choices = {"base": "builtin", "limit": 40, "attributes": ["age", "religion"], "augment": ["R", "C"]}
    out = tmp_path_factory.mktemp("run")
    return equipoise.audit(ENGINE, "winoidentity", out=out, resamples=50, metrics=["confidence"], **choices)


def value(dot: Dot) -> float:
    assert isinstance(dot.y, Estimate)
    return dot.y.value


def test_a_radar_has_every_subgroup_on_its_rim_its_values_and_intervals(run: Run) -> None:
    chart = radars({"planted": run.parts[0]}, "type2", "R")
    assert [panel.title for panel in chart.panels] == ["age", "religion"] and chart.layout == "multiples"
    assert len({panel.y for panel in chart.panels}) == 1, "one scale for all"
    age = chart.panels[0]
    rim = ["fem: no marker", "fem: young", "fem: old", "masc: no marker", "masc: young", "masc: old"]
    assert list(age.x.names) == rim, "men opposite women"
    dots = list(age.marks_of(Dot))
    assert value(dots[2]) == pytest.approx(0.4 - 0.3 - 0.05, abs=0.03)
    assert value(dots[3]) == pytest.approx(0.4, abs=0.03)
    assert [dot.tone for dot in dots] == ["neither", 0, 0, "neither", 0, 0], "squares are the unmarked ones"
    own = run.parts[0].measured.get(
        "confidence", type="type2", augmentation="R", attribute="age", marker="old", gender="female"
    )
    assert own is not None and dots[2].y == own.estimate
    (band,) = age.marks_of(Area)
    assert [(low, high) for _, low, high in band.points] == [(dot.y.low, dot.y.high) for dot in dots]  # type: ignore[union-attr]
    ideal, polygon = age.marks_of(Line)
    assert {y for _, y in ideal.points} == {1.0} and ideal.tone == "ideal", "the paper's polygon"
    assert [y for _, y in polygon.points] == [value(dot) for dot in dots]
    # The ideal is outside every band, and the axis has room for it.
    assert max(high for _, _, high in band.points) < 1.0 <= age.y.high and age.y.low <= 0.0
    assert not any(
        line.tone == "ideal"
        for panel in radars({"": run.parts[0]}, "type1", "R").panels
        for line in panel.marks_of(Line)
    )


def test_a_part_without_an_attribute_has_no_line_in_its_radar(run: Run, two: dict[str, Part]) -> None:
    other, *_ = two.values()
    age, religion = radars({"with": run.parts[0], "without": other}, "type2", "R").panels
    assert {dot.label for dot in age.marks_of(Dot)} == {"with", "without"}
    assert {dot.label for dot in religion.marks_of(Dot)} == {"with"} and len(list(religion.marks_of(Area))) == 1


def test_a_chart_is_listed_with_every_value_and_n(run: Run) -> None:
    table = radars({"planted": run.parts[0]}, "type2", "R").table()
    assert [column.title for column in table.columns] == ["panel", "", "mean confidence"]
    assert [row.cells[:2] for row in table.rows][:3] == [
        ("age", "fem: no marker"),
        ("age", "fem: young"),
        ("age", "fem: old"),
    ]


def test_the_map_has_a_row_for_each_identity_and_occupations_in_order(run: Run) -> None:
    chart = heatmap(run.parts[0], "type2", "R")
    assert chart is not None
    (panel,) = chart.panels
    assert list(panel.y.names)[:3] == ["fem", "young fem", "old fem"] and "masc" in panel.y.names
    cells = list(panel.marks_of(Heat))
    of_old = [cell.value for cell in cells if panel.y.names[cell.y] == "old fem" and cell.value == cell.value]
    assert sum(of_old) / len(of_old) == pytest.approx(0.05, abs=0.05)
    known = [
        [cell.value for cell in cells if cell.x == x and cell.value == cell.value] for x in range(len(panel.x.names))
    ]
    means = [sum(values) / len(values) for values in known]
    assert means == sorted(means), "the least first"
    sides = {"male": "he", "female": "she"}
    assert [sides[OCCUPATIONS[name].side] for name in panel.x.names] == list(panel.x.tones)
    grid = chart.table()
    assert grid.columns[0].title == "identity" and [c.title for c in grid.columns[1:]] == list(panel.x.names)
    assert [row.cells[0] for row in grid.rows] == list(panel.y.names)


def test_changes_have_their_markers_under_their_attribute(run: Run) -> None:
    chart = change_chart(run.parts[0], "type2")
    assert chart is not None and [panel.title for panel in chart.panels] == ["R", "C"]
    down = chart.panels[0].y
    assert [down.names[place] for place in down.heads] == ["age", "religion"], "the largest loss is first"
    assert list(down.names)[:3] == ["age", "old", "young"]
    first, *_ = chart.panels[0].marks_of(Dot)
    own = run.parts[0].measured.get("confidence_change", type="type2", augmentation="R", attribute="age", marker="old")
    assert own is not None and first.x == own.estimate and first.tone == "wrong" and first.y == 1.0
    assert re.fullmatch(r"age, old, p = 0\.\d{4}", first.label)
    assert list(chart.panels[0].marks_of(Rule)) == [Rule(0.0)]


def test_lines_go_from_no_marker_over_the_augmentations_women_dashed(run: Run) -> None:
    chart = lines(run.parts[0], "type2")
    age = chart.panels[0]
    assert list(age.x.names) == ["no marker", "R", "C"]
    assert [(key.label, key.dashed) for key in age.legend] == [
        ("young fem", True),
        ("old fem", True),
        ("young masc", False),
        ("old masc", False),
    ]
    old = next(line for line in age.marks_of(Line) if line.label == "old masc")
    assert [y for _, y in old.points] == pytest.approx([0.4, 0.1, 0.1], abs=0.03)
    assert len({panel.y for panel in chart.panels}) == 1


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Part]:
    """Return two planted models, one of which loses 0.2 for "old", the other 0.05; both lose 0.1 for "young"."""
    made = []
    for name, cost in (("large", 0.2), ("small", 0.05)):
        engine = open_planted(f"lead=0.4,lead:young=-0.1,lead:old=-{cost},lead:female=-0.02")
        choices = {"base": "builtin", "limit": 60, "attributes": ["age"], "augment": ["R"], "metrics": ["confidence"]}
        out = tmp_path_factory.mktemp("two") / name
        made.append(equipoise.audit(engine, "winoidentity", out=out, resamples=60, progress=False, **choices))
    return named_parts(named_apart(made))


def test_a_crossing_has_a_place_for_side_gender_and_privilege(two: dict[str, Part]) -> None:
    chart = crossing({"large": next(iter(two.values()))}, "type2", "R")
    assert chart is not None
    (panel,) = chart.panels
    values = {(panel.y.names[round(dot.y)], dot.label): dot.x.value for dot in panel.marks_of(Dot)}
    assert len(values) == 12
    assert values["she, male-dominated", "disadvantaged markers"] == pytest.approx(0.4 - 0.02 - 0.2, abs=1e-6)
    assert values["he, female-dominated", "no marker"] == pytest.approx(0.4, abs=1e-6)
    assert crossing(two, "type2", "C") is None


def test_a_trade_off_takes_two(two: dict[str, Part]) -> None:
    chart = trade_off(two, "type2", "R")
    assert chart is not None
    dots = list(chart.panels[0].marks_of(Dot))
    assert [dot.y for dot in dots] == pytest.approx([0.1 + 0.02, 0.05 + 0.02], abs=1e-6)
    assert [key.label for key in chart.legend] == [dot.label for dot in dots] == list(two)
    assert trade_off(dict(list(two.items())[:1]), "type2", "R") is None


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_every_figure_has_exactly_the_width_asked_for(run: Run, width: str) -> None:
    section = identities.section(run)
    assert section is not None
    charts = {chart.topic: chart for chart in every([section], Chart)}
    assert set(charts) == {"changes", "disparities", "crossing", "radar", "heatmap", "lines"}
    for chart in charts.values():
        ((_, content),) = files(chart, ("pdf",), width)
        box = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+) ?\]", content)
        assert box is not None and float(box.group(1)) == pytest.approx(72 * WIDTHS[width], abs=0.01), chart.topic
        assert float(box.group(2)) < 72 * 10, "no figure is longer than a page"


def test_the_command_draws_everything_without_the_model(run: Run, tmp_path: Path) -> None:
    result = CliRunner().invoke(
        app, ["report", str(run.path), "--as", "identities", "--out", str(tmp_path), "--format", "svg"]
    )
    assert result.exit_code == 0, result.output
    names = {path.name for path in tmp_path.iterdir()}
    assert {"radar-type2-R.svg", "radar-type2-C.svg", "lines-type2.svg", "disparities-type2.svg"} <= names
    assert {"heatmap-type2-R-planted.svg", "crossing-type2-R.svg"} <= names
    assert all(path.stat().st_size > 5000 for path in tmp_path.iterdir())


@pytest.mark.slow
def test_several_runs_share_the_figures(two: dict[str, Part], tmp_path: Path) -> None:
    folders = [str(part.run.path) for part in two.values()]
    result = CliRunner().invoke(app, ["report", *folders, "--as", "identities", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    names = {path.name for path in tmp_path.iterdir()}
    assert {"crossing-type2-R.png", "trade-off-type2-R.png", "radar-type2-R.png"} <= names
    assert {"lines-type2-planted-large.png", "heatmap-type2-R-planted-small.png"} <= names


def test_a_run_without_identities_has_nothing_to_draw(planted_run: Path) -> None:
    with pytest.raises(EquipoiseError, match="no marked sentences"):
        identity_figures([Run(planted_run)])


def test_what_is_described_is_as_it_was_kept(run: Run, two: dict[str, Part]) -> None:
    of_one, of_two = identities.pictures(named_parts([run])), identities.pictures(two)
    assert_kept("topics/identities-charts", list(of_one))
    assert_kept("topics/identities-charts-of-two", list(of_two))


def test_what_has_no_values_is_not_drawn(run: Run, two: dict[str, Part], monkeypatch: pytest.MonkeyPatch) -> None:
    (part,) = run.parts
    with monkeypatch.context() as patch:
        patch.setattr(topic, "changes", lambda *_: [])
        assert change_chart(part, "type2") is None
    unasked: Any = SimpleNamespace(
        marked=lambda *_: ["a", "b"], occupations=["cook", "nurse"], confidence=lambda *_: None
    )
    with monkeypatch.context() as patch:
        patch.setattr(topic, "subgroups", lambda _: unasked)
        assert heatmap(part, "type2", "R") is None
    whole = trade_off(two, "type2", "R")
    assert whole is not None and len(list(whole.panels[0].marks_of(Dot))) == 2
    (name, first), (other, _) = two.items()
    bare: Any = SimpleNamespace(measured=SimpleNamespace(get=lambda *_, **__: None))
    own = topic.subgroups
    monkeypatch.setattr(topic, "subgroups", lambda part: own(first) if part is bare else own(part))
    assert trade_off({name: first, other: bare}, "type2", "R") is None, "one of two has no values"


def test_a_band_is_drawn_where_every_value_has_an_interval(run: Run) -> None:
    rim = topic._rim({"": run.parts[0]}, "type2", "R", "age")
    known: Any = SimpleNamespace(estimate=Estimate(0.5, 0.4, 0.6, 0.95, 9, ""))
    alone: Any = SimpleNamespace(estimate=Estimate.alone(0.5, level=0.95, n=9, method=""))
    banded, plain = ([type(mark) for mark in topic._polygon(rim, [known, row, None], 0, "m")] for row in (known, alone))
    assert banded == [Area, Line, Dot, Dot] and plain == [Line, Dot, Dot]
    assert list(topic._polygon(rim, [known, None, None], 0, "m")) == [], "the first has no marker"
