"""What a tuning run has learned: curves read from its folder, values before and after, charts with their tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from kept_texts import assert_kept

from equipoise.records import RunError
from equipoise.records.showing import Chart, Dot, Finding, Line, Rule, Table
from equipoise.report import write_training_page
from equipoise.topics.training import before_and_after, charts, facts, picture, read_curves, sections

LOSSES = ("loss", "task", "ucerf", "ucerf_unanswerable", "leash")
VALUES = ("loss", "accuracy", "ucerf", "signed", "flips", "flips_unanswerable", "certainty", "mass", "first")


def written(folder: Path, *, steps: int = 60, **report: object) -> Path:
    """Write a tuning run's files as `tune` does, with losses and values that can be told apart."""
    folder.mkdir()
    losses = [",".join(["step", *LOSSES])]
    losses += [",".join(map(str, [step, *(step + 1000 * n for n in range(len(LOSSES)))])) for step in range(steps)]
    (folder / "curves.csv").write_text("\n".join(losses))
    values = [",".join(["step", *VALUES, "perplexity"])]
    values += [",".join(map(str, [step, *(0.1 * n for n in range(len(VALUES))), "nan"])) for step in (0, 30, 60)]
    (folder / "validation.csv").write_text("\n".join(values))
    settings = {"model": "tiny <b>", "data": "grammar", "method": "lora", "weight": 1.0, "seed": 3, "limits": {"a": 1}}
    (folder / "settings.json").write_text(json.dumps(settings))
    measured = dict.fromkeys(VALUES, 0.5)
    told = {
        "step": 30,
        "validation_sets": 1234,
        "outside_sets": 8,
        "before": {**measured, "outside_accuracy": 0.25},
        "after": {**measured, "ucerf": 0.75, "outside_accuracy": 0.125},
        "faults_at_the_end": ["accuracy fell"],
        "held_out_occupations": ["nurse", "cook"],
    }
    (folder / "report.json").write_text(json.dumps({**told, **report}))
    return folder


def test_losses_are_means_over_a_twentieth_of_the_run(tmp_path: Path) -> None:
    curves = read_curves(written(tmp_path / "training"))
    assert curves.pooled == 3
    points = curves.losses("task")
    assert len(points) == 20 and points[0] == (1.0, 1001.0) and points[-1] == (58.0, 1058.0)
    assert curves.values("ucerf") == [(0.0, 0.2), (30.0, 0.2), (60.0, 0.2)]
    assert curves.values("perplexity") == [], "a value that is not a number is left out"


def test_a_chart_has_its_lines_the_step_that_was_kept_and_a_table_by_step(tmp_path: Path) -> None:
    several = {chart.title: chart for chart in charts(read_curves(written(tmp_path / "training")))}
    assert list(several) == [
        "Losses",
        "Alike and right on 1,234 validation sets",
        "Share of sets that flip on 1,234 validation sets",
        "What the guards watch on 1,234 validation sets",
    ], "what was not measured has no chart"
    losses, alike, *_, guards = several.values()
    assert [key.label for key in losses.legend] == ["task", "UCerF", "UCerF, unanswerable sets", "leash"]
    assert "Means over 3 steps" in losses.caption and "step 30, whose weights were kept" in losses.caption
    (panel,) = alike.panels
    assert [rule.at for rule in panel.marks_of(Rule)] == [30.0]
    assert [len(line.points) for line in panel.marks_of(Line)] == [3, 3, 3] and len(list(panel.marks_of(Dot))) == 9
    table = alike.table()
    labels = ["UCerF, answerable sets", "UCerF signed, unanswerable sets", "accuracy"]
    assert [column.title for column in table.columns] == ["step", *labels]
    assert table.rows[0].cells == ("0", 0.2, pytest.approx(0.3), 0.1)
    assert (guards.panels[0].y.low, guards.panels[0].y.high) == (0.0, 1.0)


def test_short_runs_show_every_step_and_refused_ones_say_so(tmp_path: Path) -> None:
    curves = read_curves(written(tmp_path / "training", steps=12, refused=True, validation_sets=None))
    losses = next(charts(curves))
    assert "Each step asks other sentences." in losses.caption and "No step passed the guards" in losses.caption
    (lines,) = {len(line.points) for line in losses.panels[0].marks_of(Line)}
    assert lines == 12
    assert next(before_and_after(curves)).columns[0].title == "on the validation sets"
    notes = [finding.text for section in sections(curves) for finding in section.every(Finding)]
    assert "At the last step accuracy fell, so nothing was kept." in notes


def test_values_before_and_after_are_two_tables(tmp_path: Path) -> None:
    sets, outside = before_and_after(read_curves(written(tmp_path / "training")))
    assert ("UCerF, answerable sets", 0.5, 0.75) in [row.cells for row in sets.rows]
    assert outside.columns[0].title == "on 8 built-in sets, never trained on"
    assert [row.cells for row in outside.rows] == [("accuracy", 0.25, 0.125)]


def test_one_picture_has_every_chart_with_its_legend(tmp_path: Path) -> None:
    curves = read_curves(written(tmp_path / "training"))
    several = list(charts(curves))
    drawn = picture(curves)
    assert [(panel.title, panel.legend) for panel in drawn.panels] == [(chart.title, chart.legend) for chart in several]


def test_the_page_and_the_picture_are_written(tmp_path: Path) -> None:
    path, curves = write_training_page(written(tmp_path / "training"))
    page = path.read_text(encoding="utf-8")
    assert path == tmp_path / "training" / "report.html" and "0.750" in page and "step 30 of 60" in page
    assert "Tuning tiny &lt;b&gt;" in page and "<b>" not in page.split("<main")[1].split("<footer")[0].replace(
        "<b>!", ""
    )
    assert "held out" not in page and "nurse, cook" in page
    root = ElementTree.parse(tmp_path / "training" / "curves.svg").getroot()
    # The legends have straight lines.
    paths = root.iter("{http://www.w3.org/2000/svg}path")
    lines = [part for part in paths if "outline" in part.get("class", "").split()]
    assert len(lines) == sum(len(list(panel.marks_of(Line))) for panel in picture(curves).panels) == 4 + 3 + 2 + 3
    titles = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"Losses", "UCerF signed, unanswerable sets", "first person chosen"} <= set(titles)
    settings = next(section for section in sections(curves) if section.id == "settings")
    shown = [row.cells for table in settings.every(Table) for row in table.rows]
    assert ("seed", "3") in shown and "limits" not in dict(shown)
    assert len([chart for section in sections(curves) for chart in section.every(Chart)]) == 4


def test_a_folder_that_is_not_one_of_a_finished_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"it has no settings\.json"):
        read_curves(tmp_path)
    folder = written(tmp_path / "training")
    (folder / "curves.csv").write_text("step,task\n1,much\n")
    with pytest.raises(RunError, match="holds a damaged file"):
        read_curves(folder)


def test_what_is_described_is_as_it_was_kept(tmp_path: Path) -> None:
    curves = read_curves(written(tmp_path / "training"))
    assert_kept("topics/training", facts(curves), list(sections(curves)), picture(curves), hide=[str(tmp_path)])
    refused = read_curves(written(tmp_path / "refused", steps=12, refused=True, validation_sets=None))
    assert_kept("topics/training-refused", facts(refused), list(sections(refused)), hide=[str(tmp_path)])


@pytest.mark.parametrize("unknown", [{"outside_sets": None, "control_sets": None}, {"control_sets": 1200}])
def test_sets_that_are_not_counted_are_none(tmp_path: Path, unknown: dict[str, Any]) -> None:
    values = {"ucerf": 0.5, "outside_accuracy": 0.25, "word_accuracy": 1.0}
    curves = read_curves(written(tmp_path / "training", before=values, after=values, **unknown))
    outside, control = ({"outside_sets": 8, "control_sets": 0} | unknown).values()
    decides = "sets in which the group word decides, never trained on"
    assert [table.columns[0].title for table in before_and_after(curves)][1:] == [
        f"on {outside or 0:,} built-in sets, never trained on",
        f"on {control or 0:,} {decides}",
    ]
