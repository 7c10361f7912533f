"""The steps of an audit one by one: what is told, kept, noted and handed on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kept_texts import assert_kept

from equipoise import audit, import_results, load, remeasure
from equipoise import run as module
from equipoise.records import EquipoiseError, RunError
from equipoise.scoring.planted import PlantedEngine

FEW: dict[str, Any] = {"limit": 3, "resamples": 5, "metrics": ["ucerf", "accuracy"], "by": []}


def test_every_step_of_an_audit_is_told_in_order(tmp_path: Path) -> None:
    told: list[Any] = []
    data = ["gendered", "builtin"]
    run = audit("planted:noise=1", data, ["next-word", "mcq"], out=tmp_path, progress=lambda *s: told.append(s), **FEW)
    assert_kept("runs/steps", told, run.manifest.notes)
    assert [(part.dataset, part.task) for part in run.parts] == [
        (name, task) for name in data for task in ("next-word", "mcq")
    ]
    assert sorted(run.manifest.files) == [
        *("examples.parquet", "measurements.csv", "outcomes.parquet", "pairs.parquet", "scores.jsonl"),
    ]
    again: list[Any] = []
    remeasure(tmp_path, progress=lambda *step: again.append(step))
    assert again == [("measuring", number, 4) for number in range(5)]


def test_measuring_again_keeps_the_examples_as_they_are(tmp_path: Path) -> None:
    run = audit("planted:noise=1", "builtin", out=tmp_path, **FEW)
    before = (tmp_path / "examples.parquet").read_bytes()
    again = remeasure(tmp_path, level=0.5)
    assert (tmp_path / "examples.parquet").read_bytes() == before and again.manifest.settings["level"] == 0.5
    assert set(again.manifest.files) == set(run.manifest.files)
    with pytest.raises(EquipoiseError, match="unknown argument 'levle'"):
        remeasure(tmp_path, levle=0.9)


def test_a_run_that_goes_on_keeps_the_time_that_its_chat_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def opener(model: Any, options: Any) -> Any:
        opened.append(options.chat_time)
        return PlantedEngine(noise=1.0)

    monkeypatch.setattr(module, "open_engine", opener)
    monkeypatch.setattr(module.RunFolder, "time_to_keep", lambda folder, identity: "2020-02-03T04:05:06")
    audit("m", "builtin", out=tmp_path / "a", **FEW)
    assert opened == ["", "2020-02-03T04:05:06"]
    opened.clear()
    audit("m", "builtin", out=tmp_path / "b", chat_time="2021-01-01T00:00:00", **FEW)
    assert opened == ["2021-01-01T00:00:00"], "a time that the user gives is the one"
    opened.clear()
    monkeypatch.setattr(module.RunFolder, "time_to_keep", lambda folder, identity: "")
    audit("m", "builtin", out=tmp_path / "c", **FEW)
    assert opened == [""]


def test_results_of_several_models_or_of_one_part_twice_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def result(model: str, name: str, task: str) -> Any:
        dataset = type("Data", (), {"name": name, "label": name})()
        return type("Result", (), {"model": model, "dataset": dataset, "task": task})()

    found = {"a": [result("m", "d", "t")], "b": [result("n", "d", "u")], "c": [result("m", "d", "t")], "e": []}

    def read(path: Any, **choices: Any) -> Any:
        asked.append((path, choices))
        return found[path]

    monkeypatch.setattr(module, "read_results", read)
    with pytest.raises(RunError, match=r"^a run has one model, but these files have 2: m, n$"):
        import_results(["b", "a"], format="f", model="x", dataset="y")
    assert asked == [(path, {"format": "f", "model": "x", "dataset": "y"}) for path in ("b", "a")]
    with pytest.raises(RunError, match=r"^a run has one model, but these files have 0: no results$"):
        import_results("e")
    with pytest.raises(RunError, match=r"^two of the files hold the same dataset and task; rename one, or import"):
        import_results(["a", "c"])
    with pytest.raises(RunError, match=r"^a run has one model, but these files have 2: m, n$"):
        import_results(["a", "b", "c"])
    with pytest.raises(EquipoiseError, match="unknown argument 'modell'; did you mean 'model'"):
        import_results("a", modell="x")


def test_a_default_folder_follows_from_what_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first = audit("planted:noise=1", "builtin", **FEW)
    assert first.path.parent == Path("runs") or first.path.parent == tmp_path / "runs"
    assert audit("planted:noise=1", "builtin", **FEW).path == first.path
    other = audit("planted:noise=1", "builtin", **{**FEW, "limit": 4})
    assert other.path != first.path and load(other.path).manifest.settings["limit"] == 4
    assert json.loads((first.path / "manifest.json").read_text())["finished"]
    with pytest.raises(RunError, match="holds another run"):
        audit("planted:noise=2", "builtin", out=first.path, **FEW)
    replaced = audit("planted:noise=2", "builtin", out=first.path, replace=True, **FEW)
    assert replaced.manifest.engine["noise"] == 2.0
