"""`equipoise study`: what each study is given, writes and says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from kept_texts import assert_kept
from noted import noted, refusal, said

from equipoise.builder.compare.sensitivity import NearDuplicates
from equipoise.cli import study
from equipoise.measuring.estimators import Resamples
from equipoise.records import EquipoiseError, Estimate
from equipoise.records.showing import Finding, Section
from equipoise.runs.run import Run

SECTIONS = [Section("Found", [Finding("It differs.")])]
FRAME = pd.DataFrame({"name": ["ä"], "value": [0.5]})


@pytest.fixture
def folder(planted_run: Path, tmp_path: Path) -> Path:
    """Return a copy of a run, to write into."""
    return Path(shutil.copytree(planted_run, tmp_path / "run"))


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the notes of what studies keep."""
    return noted(monkeypatch, "equipoise.cli.study.keep_study")


def paths(runs: Any) -> list[Path]:
    return [run.path for run in runs]


def test_a_group_without_a_command_shows_its_help() -> None:
    assert said("study")[0].startswith("Usage: ")


def test_every_option_of_estimators_is_handed_on(folder: Path, kept: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = noted(monkeypatch, "equipoise.comparing.estimators.estimator_studies", "studies")
    monkeypatch.setattr("equipoise.comparing.estimators.frames", lambda studies: {"ranks": FRAME, "sides": FRAME})
    monkeypatch.setattr("equipoise.topics.estimators.sections", lambda studies: iter(SECTIONS))
    monkeypatch.setattr("equipoise.topics.estimators.answers", lambda studies: [f"answers of {studies}"])
    words = ("--estimator", "margin", "--estimator", "renyi", "--resamples", "7", "--level", "0.8", "--seed", "3")
    said("study", "estimators", folder, folder, "--out", "there", *words, "--intersect", "--no-figures", "--quiet")
    (((runs, plan), named),) = asked
    assert paths(runs) == [folder] * 2 and plan == Resamples(resamples=7, level=0.8, seed=3)
    assert named == {"estimators": ["margin", "renyi"], "intersect": True}
    (((shown, contents, out), how),) = kept
    assert shown == SECTIONS and out == Path("there") and how == {"figures": False, "quiet": True}
    text = contents.pop("estimators.json").decode()
    expected = {"answers": ["answers of studies"], "ranks": [{"name": "ä", "value": 0.5}]}
    assert text == json.dumps(expected, indent=1, ensure_ascii=False) + "\n"
    assert {name: b"0.5" in content for name, content in contents.items()} == {"ranks.csv": True, "sides.csv": True}
    said("study", "estimators", folder)
    assert asked[1][0][1] == Resamples() and asked[1][1] == {"estimators": (), "intersect": False}
    assert kept[1][0][2] == Path("estimators") and kept[1][1] == {"figures": True, "quiet": False}


ESTIMATE = Estimate(0.25, 0.125, 0.5, 0.95, 9, "m")


def near(size: int) -> NearDuplicates:
    table = pd.DataFrame({"first": ["a"] * size})
    return NearDuplicates("builtin", "mcq", "type1", 9, 3, ESTIMATE, None, 0.75, 0.0625, table)


@pytest.mark.parametrize("size", [0, 2])
def test_near_duplicates_are_written_and_printed(folder: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    asked = noted(monkeypatch, "equipoise.builder.compare.sensitivity.near_duplicates", [near(0), near(size)])
    out, _ = said("study", "wording", folder, "--words", "1", "--seed", "5")
    (((run,), named),) = asked
    assert run.path == folder and named == {"words": 1, "seed": 5}
    lines = out.splitlines()
    if size:
        assert len(pd.read_csv(folder / "sensitivity.csv")) == 2
        assert lines[-1] == f"The pairs are in {folder}/sensitivity.csv"
    else:
        assert not (folder / "sensitivity.csv").exists() and lines[-1] == "No two sets are near-duplicates."
    assert said("study", "wording", folder, "--quiet") == ("", "")
    assert asked[1][1] == {"words": 2, "seed": 0}


def test_near_duplicates_are_printed_as_they_were_kept(capsys: pytest.CaptureFixture[str]) -> None:
    study.print_near_duplicates([near(2), near(0)])
    assert_kept("cli/near-duplicates", capsys.readouterr().out)


@pytest.mark.parametrize("setting", ["wordings", "questions"])
def test_wordings_are_studied_where_a_run_has_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], setting: str
) -> None:
    asked = noted(monkeypatch, "equipoise.comparing.wordings.wording_parts", ["part"])
    monkeypatch.setattr("equipoise.comparing.wordings.frames", lambda parts: {"spread": FRAME} if asked[1:] else {})
    monkeypatch.setattr("equipoise.topics.wordings.section", lambda part: Section(f"Of {part}", SECTIONS))
    plain, worded = (SimpleNamespace(manifest=SimpleNamespace(settings={setting: value})) for value in ([], ["a"]))
    runs: Any = [plain, worded]
    choices: dict[str, Any] = {"intersect": True, "resamples": 7, "seed": 3}
    study._wordings([plain], tmp_path, quiet=False, **choices)  # type: ignore[list-item]
    assert asked == [] and capsys.readouterr().out == ""
    study._wordings(runs, tmp_path, quiet=False, **choices)
    assert asked == [((runs, Resamples(resamples=7, seed=3)), {"intersect": True})]
    assert capsys.readouterr().out.splitlines()[-1] == "No part has 30 base sentences in several wordings."
    assert list(tmp_path.iterdir()) == []
    study._wordings(runs, tmp_path, quiet=False, **choices)
    said_of = capsys.readouterr().out.splitlines()
    assert said_of[-1] == f"1 files in {tmp_path}/" and "Of part" in said_of[0] + said_of[1]
    assert pd.read_csv(tmp_path / "spread.csv").equals(FRAME)
    study._wordings(runs, tmp_path, quiet=True, **choices)
    assert capsys.readouterr().out == ""


def test_every_option_of_wordings_is_handed_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noted(monkeypatch, "equipoise.builder.compare.sensitivity.near_duplicates", [])
    asked = noted(monkeypatch, "equipoise.cli.study._wordings")
    said("study", "wording", folder, "--out", "there", "--intersect", "--resamples", "9", "--seed", "2", "--quiet")
    said("study", "wording", folder)
    assert [(paths(given[0]), given[1], named) for given, named in asked] == [
        ([folder], Path("there"), {"intersect": True, "resamples": 9, "seed": 2, "quiet": True}),
        ([folder], Path("wordings"), {"intersect": False, "resamples": 1000, "seed": 0, "quiet": False}),
    ]


def test_every_option_of_temperatures_is_handed_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = noted(monkeypatch, "equipoise.topics.wordings.drawn_section", Section("Drawn", [Finding("It differs.")]))
    out, _ = said(
        "study", "temperature", folder, "--temperature", "0.1", "--temperature", "3", "--draws", "7", "--seed", "2"
    )
    said("study", "temperature", folder, folder)
    assert "Drawn" in out and [(paths(given[0]), given[1], named) for given, named in asked] == [
        ([folder], [0.1, 3.0], {"draws": 7, "seed": 2}),
        ([folder] * 2, [0.5, 1.0, 2.0], {"draws": 100, "seed": 0}),
    ]


def test_a_study_of_a_suite_takes_its_usable_parts_and_names_the_others(
    folder: Path, kept: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (part,) = Run(folder).parts
    submission = SimpleNamespace(folder=folder)

    def entry(dataset: str, invalid: str = "") -> Any:
        return SimpleNamespace(model="m", submission=submission, dataset=dataset, task=part.task, invalid=invalid)

    entries = [entry(part.dataset), entry("other"), entry(part.dataset, "at chance")]
    monkeypatch.setattr("equipoise.topics.leaderboard.boards.run_folders", lambda folders: list(folders))
    read = noted(monkeypatch, "equipoise.topics.leaderboard.boards.read_submissions", SimpleNamespace(entries=entries))
    asked = noted(monkeypatch, "equipoise.comparing.sources.sources", "result")
    monkeypatch.setattr("equipoise.comparing.sources.frames", lambda result: {"sources": FRAME})
    monkeypatch.setattr("equipoise.topics.sources.sections", lambda result: iter(SECTIONS))
    words = ("--out", "there", "--resamples", "9", "--level", "0.9", "--seed", "4")
    out, _ = said("study", "suite", folder, *words)
    assert out == f"left out: m, {part.dataset} · {part.task}: at chance\n" and read == [(([folder],), {})]
    (((parts, plan), _),) = asked
    assert [(one.run.name, one.dataset) for one in parts] == [("m", part.dataset)]
    assert plan == Resamples(resamples=9, level=0.9, seed=4)
    (((shown, contents, place), how),) = kept
    assert shown == SECTIONS and list(contents) == ["sources.csv"] and place == Path("there")
    assert how == {"figures": True, "quiet": False}
    assert said("study", "suite", folder, "--quiet", "--no-figures") == ("", "")
    assert asked[1][0][1] == Resamples() and kept[1][0][2] == Path("sources")
    assert kept[1][1] == {"figures": False, "quiet": True}
    noted(monkeypatch, "equipoise.comparing.sources.sources", EquipoiseError("too few values"))
    why = f"too few values; left out: m, {part.dataset} · {part.task}: at chance"
    assert refusal("study", "suite", folder, "--quiet") == why
