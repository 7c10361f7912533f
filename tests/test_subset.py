"""`--where`: the sentences with certain groups, of a dataset, of a run and of a comparison."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from equipoise import audit, compare, load, subset
from equipoise.cli import app
from equipoise.datasets import DatasetOptions, open_dataset
from equipoise.records import EquipoiseError, RunError
from equipoise.subset import _place, subset_run
from equipoise.verification import verify

NURSES = "occupation=nurse"
QUICK = {"resamples": 40, "metrics": ["ucerf", "accuracy", "flip_rate"], "progress": False}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with runs of two planted models on all built-in sentences, and of the first on nurses alone."""
    folder = tmp_path_factory.mktemp("runs")
    audit("planted:strength=2,bias=0.5", out=folder / "all", **QUICK)
    audit("planted:strength=1,bias=1.5", out=folder / "other", **QUICK)
    audit("planted:strength=2,bias=0.5", where=[NURSES], out=folder / "nurses", **QUICK)
    return folder


def test_a_part_of_a_run_is_the_run_on_that_part(runs: Path) -> None:
    part, asked = subset_run(runs / "all", [NURSES], out=runs / "part", **QUICK), load(runs / "nurses")
    assert set(asked.outcomes["occupation"]) == {"nurse"} and len(part.outcomes) == len(asked.outcomes) > 0
    columns = ["metric", "group", "value", "low", "high", "n"]
    assert part.measurements[columns].equals(asked.measurements[columns])
    assert part.manifest.datasets == asked.manifest.datasets
    assert all(finding.passed for finding in verify(part.path))
    assert len(load(runs / "all").outcomes) > len(part.outcomes)


def test_sentences_without_their_counterpart_can_be_left_out(tmp_path: Path) -> None:
    whole = open_dataset("builtin", DatasetOptions(limit=12))
    first = whole.examples[0]
    rest = replace(whole, examples=tuple(e for e in whole.examples if e.id != first.id))
    alone = [e.id for e in rest.examples if e.set_id == first.set_id]
    assert [e.id for e in open_dataset(rest, DatasetOptions(where=("paired=no",))).examples] == alone != []
    run = audit("planted", rest, out=tmp_path / "run", **QUICK)
    part = subset_run(run.path, ["paired=yes"], out=tmp_path / "part", **QUICK)
    assert set(run.outcomes["example_id"]) - set(part.outcomes["example_id"]) == set(alone)


def test_a_comparison_of_a_part_is_that_of_the_parts(runs: Path) -> None:
    chosen = {"metrics": ["ucerf"], "resamples": 40, "permutations": 40, "progress": False}
    part = compare([runs / "all", runs / "other"], where=[NURSES], **chosen)
    second = subset_run(runs / "other", [NURSES], out=runs / "second", **QUICK)
    apart = compare([runs / "nurses", second], **chosen)
    assert [test.difference for test in part.tests] == [test.difference for test in apart.tests] != []
    assert part.matches[0].dropped > 0 == apart.matches[0].dropped


def test_commands_take_conditions(runs: Path) -> None:
    def command(*words: str) -> str:
        result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output

    before = (runs / "all" / "measurements.csv").read_bytes()
    out = runs / "women"
    text = command("measure", runs / "all", "--where", "gender=female", "--out", out, "--resamples", "40", "--no-html")
    assert "a part of" in text and set(load(out).outcomes["gender"]) == {"female"}
    # Women alone have no pair, so UCerF has no row.
    assert "ucerf" not in set(load(out).measurements["metric"])
    assert (runs / "all" / "measurements.csv").read_bytes() == before
    assert "a part of" in command("report", runs / "all", "--where", NURSES, "--no-html")
    assert (runs / "all--where-occupation-nurse").is_dir()


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small run on two datasets, one of which has no occupation."""
    out = tmp_path_factory.mktemp("two") / "run"
    audit("planted:noise=1", ["gendered:control", "builtin"], limit=12, out=out, **QUICK)
    return out


def test_what_the_manifest_of_a_part_says(two: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = load(two)
    monkeypatch.setattr(subset, "command_line", lambda: "equipoise part")
    part = subset_run(two, ["occupation=farmer", "gender=female"], out=tmp_path / "part", level=0.9, progress=False)
    assert part.manifest.command == "equipoise part" != whole.manifest.command
    assert part.manifest.notes[0] == f"a part of {two}: occupation=farmer or gender=female"
    assert part.manifest.settings["where"] == ["occupation=farmer", "gender=female"]
    assert part.manifest.settings["level"] == 0.9 and part.manifest.settings["limit"] == 12
    assert part.manifest.engine["scores"] == "none: a part of another run"
    assert {**part.manifest.engine, "scores": 0} == {**whole.manifest.engine, "scores": 0}
    assert part.manifest.finished is not None and part.manifest.started >= whole.manifest.started
    for name, facts in part.manifest.datasets.items():
        chosen = part.examples[part.examples["dataset"] == name]
        assert facts["examples"] == len(chosen) and facts["sets"] == (chosen.groupby("set_id").size() > 1).sum()
        assert facts["sha256"] != whole.manifest.datasets[name]["sha256"]
        assert facts["licence"] == whole.manifest.datasets[name]["licence"]
    assert set(part.outcomes["example_id"]) == set(part.examples["id"])
    assert "scores.jsonl" not in part.manifest.files and not (part.path / "scores.jsonl").exists()
    again = subset_run(part.path, ["type=type2"], out=tmp_path / "again", progress=False)
    assert again.manifest.settings["where"] == ["occupation=farmer", "gender=female", "type=type2"]


def test_a_dataset_without_such_sentences_is_left_out_and_noted(two: Path, tmp_path: Path) -> None:
    part = subset_run(two, ["type=type2"], out=tmp_path / "part", progress=False)
    assert set(part.manifest.datasets) == set(part.outcomes["dataset"]) == {"builtin"}
    (note,) = [note for note in part.manifest.notes if note.startswith("left out: ")]
    assert "gendered-control" in note and str(two) in note
    with pytest.raises(EquipoiseError, match="gendered-control in "):
        subset_run(two, ["occupation=astronaut"], out=tmp_path / "none", progress=False)
    assert not (tmp_path / "none").exists()


def test_a_part_is_never_written_over_the_run_or_another_one(two: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"^.* is the run itself; choose another folder for a part of it$"):
        subset_run(two, ["gender=female"], out=two.parent / "." / two.name, progress=False)
    subset_run(two, ["gender=female"], out=tmp_path / "part", progress=False)
    with pytest.raises(RunError, match=r"; choose another out, or delete that folder$"):
        subset_run(two, ["gender=male"], out=tmp_path / "part", progress=False)
    told: list[tuple[object, ...]] = []
    subset_run(two, ["gender=female"], out=tmp_path / "part", progress=lambda *step: told.append(step))
    assert told[-1] == ("measuring", 2, 2)


def test_a_part_lies_beside_its_run_under_a_name_of_its_own(tmp_path: Path) -> None:
    place = _place(tmp_path / "x" / ".." / "run", ["gender=female", "type=type2"])
    assert place.parent == tmp_path and place.name.startswith("run--where-gender-female")
    assert place != _place(tmp_path / "run", ["gender=female"]) and place == _place(
        tmp_path / "run", ["gender=female", "type=type2"]
    )
    assert len(_place(tmp_path / "run", ["occupation=" + "x" * 200]).name) <= 100
