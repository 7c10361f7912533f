"""Every run, dataset and task has its own identities: planted runs with different values, side by side."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from stand_in_parts import StandIn
from stand_in_parts import row as told

import equipoise
from equipoise.comparing.matching import named_apart
from equipoise.records import Estimate, Measurement, group_label
from equipoise.records.showing import Dot, Heat
from equipoise.runs import Run
from equipoise.runs.folder import RunFolder
from equipoise.runs.measurements import Measurements
from equipoise.scoring.planted import open_planted
from equipoise.topics.identities.charts import crossing, disparities, heatmap, lines, pictures, radars
from equipoise.topics.identities.sections import disparity_table
from equipoise.verdict.subgroups import (
    NONE,
    WITH,
    Subgroup,
    Subgroups,
    capital,
    main_disparity,
    named_parts,
    row_title,
    subgroups,
    titled,
)

CHOICES = {
    "base": "builtin",
    "limit": 30,
    "attributes": ["age", "non-demographic"],
    "augment": ["R"],
    "resamples": 30,
    "metrics": ["confidence"],
    "progress": False,
}
PENALTIES = {"strict": 0.30, "mild": 0.10}
COT = "next-word-cot"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two runs of equal name and different penalties, and one with both as two tasks."""
    folder = tmp_path_factory.mktemp("runs")
    for name, penalty in PENALTIES.items():
        # Some neutral markers lose 0.4, for he and she alike: max - min is large, the gap of he and she is 0.05.
        engine = open_planted(f"lead=0.4,lead:old=-{penalty},lead:focused=-0.4,lead:female=-0.05")
        equipoise.audit(engine, "winoidentity", out=folder / name, **CHOICES)
    first, second = Run(folder / "strict"), Run(folder / "mild")
    both = RunFolder(folder / "both")
    shutil.copytree(first.path, both.path)
    tables = {
        name: pd.concat([first.frame(name), second.frame(name).assign(task=COT)], ignore_index=True)
        for name in ("outcomes.parquet", "pairs.parquet", "measurements.csv")
    }
    with both.held():
        manifest = both.manifest()
        both.commit(tables, replace(manifest, tasks={**manifest.tasks, COT: {}}))
    return folder


def _old(penalty: float) -> float:
    return 0.4 - penalty


def test_subgroups_are_those_that_were_measured() -> None:
    estimate = Estimate(0.5, 0.4, 0.6, 0.95, 9, "")
    groups = [
        {"type": "type1"},
        {"type": "type1", "augmentation": "none", "gender": "male"},
        {"type": "type1", "augmentation": "none", "gender": "female"},
        {"type": "type1", "augmentation": "C", "attribute": "age", "marker": "old", "gender": "female"},
        {"type": "type2", "augmentation": "R", "attribute": "age", "marker": "old"},
        {"type": "type2", "augmentation": "R", "attribute": "age", "marker": "young", "occupation": "nurse"},
        {"type": "odd", "augmentation": "none"},
    ]
    rows = [Measurement("confidence", "m", "d", "t", group_label(parts), estimate, "higher") for parts in groups]
    identities = Subgroups(Measurements(rows))
    assert identities.kinds == ["type2", "type1"], "types without marked sentences have no identities"
    assert identities.ways("type2") == ["R"] and identities.ways("type1") == ["C"]
    assert identities.markers("type2", "R") == {"age": ["old", "young"]} and identities.markers("type1", "R") == {}
    assert identities.genders == ["female", "male"] and identities.occupations == ["nurse"]
    names = [one.rim_name for one in identities.marked("type2", "R", "age")]
    assert names == ["fem: no marker", "fem: old", "fem: young", "masc: no marker", "masc: old", "masc: young"]
    assert [one.name for one in identities.marked("type1", "C")] == ["fem", "old fem", "masc", "old masc"]
    known = Subgroup("C", "age", "old", "female")
    assert identities.confidence("type1", known) == rows[3] and identities.confidence("type2", known) is None
    assert identities.confidence("type1", Subgroup(NONE, "", "", "male")) == rows[1]
    assert Subgroup(NONE, "", "", "").name == Subgroup(NONE, "", "", "").rim_name == "no marker"
    assert Subgroups(Measurements(rows[:1])).kinds == []


def test_runs_and_tasks_are_named_apart(folder: Path) -> None:
    runs = named_apart([Run(folder / name) for name in ("strict", "mild")])
    assert list(named_parts(runs)) == ["planted (strict)", "planted (mild)"]
    both = named_parts([Run(folder / "both")])
    assert list(both) == ["planted · next-word", f"planted · {COT}"]
    names = {chart.name for chart in pictures(both)}
    assert {f"heatmap-type2-R-planted · {task}" for task in ("next-word", COT)} <= names
    assert {f"lines-type2-planted · {task}" for task in ("next-word", COT)} <= names
    assert {"radar-type2-R", "crossing-type2-R", "trade-off-type2-R", "disparities-type2"} <= names


@pytest.mark.parametrize("names", [("strict", "mild"), ("both",)])
def test_each_series_has_its_own_values(folder: Path, names: tuple[str, ...]) -> None:
    runs = [Run(folder / name) for name in names]
    named = named_parts(named_apart(runs) if len(runs) > 1 else runs)
    assert len(named) == 2
    (age,) = [panel for panel in radars(named, "type2", "R").panels if panel.title == "age"]
    place = list(age.x.names).index("masc: old")
    (crossed,) = [crossing(named, "type2", "R")]
    assert crossed is not None and [panel.title for panel in crossed.panels] == list(named)
    for number, ((name, part), penalty) in enumerate(zip(named.items(), PENALTIES.values(), strict=True)):
        map_of = heatmap(part, "type2", "R")
        assert map_of is not None and part.run.name in map_of.title
        row = list(map_of.panels[0].y.names).index("old masc")
        cells = [cell.value for cell in map_of.panels[0].marks_of(Heat) if cell.y == row and cell.value == cell.value]
        assert sum(cells) / len(cells) == pytest.approx(_old(penalty), abs=1e-6)
        (dot,) = [dot for dot in age.marks_of(Dot) if (dot.label, dot.x, dot.tone) == (name, place, number)]
        assert dot.y.value == pytest.approx(_old(penalty))  # type: ignore[union-attr]
        panel = next(panel for panel in lines(part, "type2").panels if panel.title == "age")
        ends = [dot.y.value for dot in panel.marks_of(Dot) if dot.label == "old masc"]  # type: ignore[union-attr]
        assert ends == pytest.approx([0.4, _old(penalty)])


def test_disparities_are_those_of_each_run_and_the_gap_of_he_and_she_for_neutral_markers(folder: Path) -> None:
    named = named_parts([Run(folder / "both")])
    (panel,) = disparities(named, "type2").panels
    assert list(panel.y.names) == ["no marker", "age", "non-demographic"]
    for name, penalty in zip(named, PENALTIES.values(), strict=True):
        own = {panel.y.names[round(dot.y)]: dot.x for dot in panel.marks_of(Dot) if dot.label == name}  # type: ignore[arg-type]
        values = [own[row].value for row in panel.y.names]  # type: ignore[union-attr]
        assert values == pytest.approx([0.05, penalty + 0.05, 0.05], abs=0.001)


def test_neutral_markers_come_last_with_their_gap_in_every_table(folder: Path) -> None:
    table = disparity_table(Run(folder / "strict").parts[0], "type2", "R")
    assert [row.cells[0] for row in table.rows] == ["age", "non-demographic (mean of |he - she|)"]
    _, gap, *others = table.rows[-1].cells
    assert isinstance(gap, Measurement) and gap.value == pytest.approx(0.05, abs=0.001) and others == [None] * 4


def test_a_run_without_marked_sentences_has_no_identities(planted_run: Path) -> None:
    run = Run(planted_run)
    assert named_parts([run]) == {} and subgroups(run.parts[0]).kinds == []


def test_titles_and_names_of_subgroups_are_as_they_are_said() -> None:
    assert [
        titled("Confidence", kind, way) for kind, way in (("type2", "R"), ("type1", "C"), ("", ""), ("mine", "x"))
    ] == [
        "Confidence, resolvable (type 2), marker on the referent (R)",
        "Confidence, ambiguous (type 1), contrasting markers (C)",
        "Confidence, all items",
        "Confidence, mine",
    ]
    assert WITH == {
        "R": "with a marker on the referent (R)",
        "NR": "with a marker on the other person (NR)",
        "C": "with contrasting markers (C)",
    }
    assert [main_disparity(name) for name in ("age", "non-demographic")] == [
        "confidence_disparity",
        "confidence_gender_gap",
    ]
    assert [row_title(name) for name in ("age", "non-demographic")] == ["age", "non-demographic (mean of |he - she|)"]
    assert [capital("old people"), capital("")] == ["Old people", ""]
    several = [Subgroup("R", "age", "old", gender) for gender in ("female", "male", "neutral", "xe", "")]
    assert [one.name for one in several] == ["old fem", "old masc", "old they", "old xe", "old"]
    assert [one.rim_name for one in several] == ["fem: old", "masc: old", "they: old", "xe: old", "old"]
    assert (
        Subgroup(NONE, "", "", "male").name == "masc" and Subgroup(NONE, "", "", "male").rim_name == "masc: no marker"
    )


def test_subgroups_keep_the_order_of_measurements_and_known_genders_first() -> None:
    def group(**parts: str) -> Measurement:
        return told("confidence", group_label(parts))

    rows = [
        group(augmentation="NR", attribute="race", marker="Black", gender="agender"),
        group(augmentation="R", attribute="race", marker="White", gender="male", occupation="cook"),
        group(augmentation="R", attribute="race", marker="Asian", gender="female", occupation="baker"),
        group(augmentation="R", attribute="age", marker="old", gender="neutral", occupation="cook"),
        group(gender="other", occupation="pilot"),
    ]
    identities = Subgroups(Measurements(rows))
    assert identities.genders == ["female", "male", "neutral", "agender"] and identities.occupations == [
        "cook",
        "baker",
    ]
    assert identities.ways("") == ["R", "NR"] and identities.kinds == [""] and identities.ways("type1") == []
    assert identities.markers("", "R") == {"race": ["White", "Asian"], "age": ["old"]}
    named = [(one.attribute, one.marker, one.gender) for one in identities.marked("", "R", "age")]
    assert named[:3] == [("", "", "female"), ("age", "old", "female"), ("", "", "male")] and len(named) == 8
    assert len(list(identities.marked("", "R"))) == 4 * 4
    found = identities.confidence("", Subgroup("R", "race", "White", "male"), "cook")
    assert found == rows[1] and identities.confidence("", Subgroup("R", "race", "White", "male")) is None
    assert Subgroups(Measurements([])).genders == [""]


def test_parts_are_named_by_what_tells_them_apart() -> None:
    def part(name: str, dataset: str, task: str, marked: bool = True) -> StandIn:
        rows = [told("confidence", "attribute=age,augmentation=R,marker=old")] if marked else []
        made = StandIn(rows)
        made.dataset, made.task, made.run.name = dataset, task, name
        return made

    def names(*parts: StandIn) -> list[str]:
        return list(named_parts([part.run for part in parts]))

    assert names(part("a", "d", "t"), part("b", "d", "t")) == ["a", "b"]
    assert names(part("a", "d", "t"), part("b", "d", "u")) == ["a · t", "b · u"]
    assert names(part("a", "d", "t"), part("b", "e", "t")) == ["a · d · t", "b · e · t"]
    assert names(part("a", "d", "t"), part("b", "e", "t", marked=False)) == ["a"]
