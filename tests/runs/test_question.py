"""A run folder belongs to one question: the same one continues, another one is refused with what differs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from equipoise import audit, import_results
from equipoise.cli import app
from equipoise.datasets import open_datasets
from equipoise.files import sha256
from equipoise.records import DatasetError, OtherRunError, RunManifest
from equipoise.runs import RunFolder
from equipoise.runs.question import _shown, differences

FEW: dict[str, Any] = {"resamples": 2, "metrics": ["accuracy", "ucerf"], "by": ["gender"]}
ROWS = [("she", "late"), ("he", "late"), ("she", "tired"), ("he", "tired")]


def table(words: list[tuple[str, str]]) -> pd.DataFrame:
    texts = [f"The nurse told the farmer that {pronoun} was {end}." for pronoun, end in words]
    people = {"candidate_1": "nurse", "candidate_2": "farmer", "gold": "nurse"}
    return pd.DataFrame({"text": texts, "pronoun": [pronoun for pronoun, _ in words]}).assign(**people)


FIRST, SECOND = table(ROWS[:2]), table(ROWS[2:])


def tables_of(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.suffix in (".parquet", ".csv", ".jsonl")}


def written(tmp_path: Path) -> list[Path]:
    """Return two files of one name with different sentences."""
    paths = [tmp_path / name / "mine.csv" for name in ("x", "y")]
    for path, frame in zip(paths, (FIRST, SECOND), strict=True):
        path.parent.mkdir()
        frame.to_csv(path, index=False)
    return paths


@pytest.mark.parametrize("kind", ["path", "frame"])
def test_two_datasets_of_one_name_twice_leave_two_runs(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data: list[Any] = list(map(str, written(tmp_path))) if kind == "path" else [FIRST, SECOND]
    monkeypatch.chdir(tmp_path)
    runs = [audit("planted", one_of_two, **FEW) for one_of_two in data]
    kept = [tables_of(run.path) for run in runs]
    assert runs[0].path != runs[1].path
    again = [audit("planted", one_of_two, **FEW).path for one_of_two in data]
    assert again == [run.path for run in runs] and [tables_of(path) for path in again] == kept
    assert len(list(Path("runs").iterdir())) == 2


def test_other_data_for_the_same_folder_are_refused_and_the_run_is_kept(tmp_path: Path) -> None:
    first, second = map(str, written(tmp_path))
    kept = tables_of(audit("planted", first, out=tmp_path / "run", **FEW).path)
    for _ in range(2):
        with pytest.raises(
            OtherRunError, match=r"holds another run: the data mine has other sentences \(2 other ones\)"
        ):
            audit("planted", second, out=tmp_path / "run", **FEW)
        assert tables_of(tmp_path / "run") == kept
    audit("planted", first, out=tmp_path / "run", **FEW)
    assert tables_of(tmp_path / "run") == kept


def test_replacing_deletes_the_other_run_with_its_scores(tmp_path: Path) -> None:
    first, second = map(str, written(tmp_path))
    audit("planted", first, out=tmp_path / "run", **FEW)
    fresh = tables_of(audit("planted", second, out=tmp_path / "fresh", **FEW).path)
    app(["report", str(tmp_path / "run"), "--quiet"], standalone_mode=False)
    audit("planted", second, out=tmp_path / "run", replace=True, **FEW)
    assert tables_of(tmp_path / "run") == fresh and not (tmp_path / "run" / "report.html").exists()
    before = (tmp_path / "run" / "scores.jsonl").stat().st_mtime_ns
    audit("planted", second, out=tmp_path / "run", replace=True, **FEW)
    assert (tmp_path / "run" / "scores.jsonl").stat().st_mtime_ns == before, "the same run continues all the same"


@pytest.mark.parametrize(
    ("choices", "fault"),
    [
        ({"model": "planted:bias=1"}, "the model planted has other bias"),
        ({"task": "mcq"}, "the task is next-word, not mcq"),
        ({"limit": 3}, "limit is 4, not 3"),
        ({"seed": 1}, "seed is 0, not 1"),
        ({"chat": True}, "chat is False, not True"),
        ({"questions": ["{text} It is about the"]}, "questions is none, not {text} It is about the"),
        ({"data": FIRST}, "the data is builtin, not data"),
    ],
)
def test_another_question_is_refused_with_what_differs(
    tmp_path_factory: pytest.TempPathFactory, choices: dict[str, Any], fault: str
) -> None:
    usual = {"model": "planted", "data": "builtin", "limit": 4}
    out = tmp_path_factory.getbasetemp() / "asked"
    audit(**usual, out=out, **FEW)
    with pytest.raises(OtherRunError) as caught:
        audit(**{**usual, **choices}, out=out, **FEW)
    assert str(caught.value).startswith(f"{out} holds another run: {fault}")
    assert str(caught.value).endswith("; choose another out, or set replace to delete that run")


def test_what_does_not_change_an_answer_may_differ(tmp_path: Path) -> None:
    audit("planted", limit=4, out=tmp_path, **FEW)
    again = audit("planted", limit=4, out=tmp_path, resamples=3, level=0.9, estimators=["renyi"], device="cpu")
    assert again.level == 0.9


def test_shots_are_told_apart_by_their_content(tmp_path: Path) -> None:
    shots = [tmp_path / name for name in ("a.csv", "b.csv")]
    for path in shots:
        SECOND.to_csv(path, index=False)
    audit("planted", FIRST, shots=str(shots[0]), out=tmp_path / "run", **FEW)
    audit("planted", FIRST, shots=str(shots[1]), out=tmp_path / "run", **FEW)
    FIRST.to_csv(shots[0], index=False)
    with pytest.raises(OtherRunError, match="the task next-word asks with other shots"):
        audit("planted", FIRST, shots=str(shots[0]), out=tmp_path / "run", **FEW)


def test_data_of_one_name_in_one_run_are_told_apart(tmp_path: Path) -> None:
    first, second = map(str, written(tmp_path))
    run = audit("planted", [first, second], out=tmp_path / "run", **FEW)
    names = [dataset.name for dataset in open_datasets([first, second])]
    assert list(run.manifest.datasets) == names and len(set(names)) == 2
    assert run.examples["dataset"].value_counts().to_dict() == dict.fromkeys(names, 2)
    with pytest.raises(DatasetError, match="the data mine is named 2 times, with the same sentences; name it once"):
        open_datasets([first, first])


def test_other_answers_to_the_same_sentences_are_another_import(tmp_path: Path) -> None:
    rows = [("1", "nurse", -0.1), ("1", "farmer", -2.0), ("2", "nurse", -1.0), ("2", "farmer", -0.5)]
    frame = pd.DataFrame(rows, columns=["item", "candidate", "logprob"])
    frame = frame.assign(gold=frame["candidate"] == "nurse", model="m", dataset="d")
    path = tmp_path / "results.csv"
    frame.to_csv(path, index=False)
    import_results(path, out=tmp_path / "run", resamples=2)
    import_results(path, out=tmp_path / "run", resamples=2)
    frame.assign(logprob=frame["logprob"] - [0, 0, 0, 1]).to_csv(path, index=False)
    with pytest.raises(OtherRunError, match="the model m has other answers"):
        import_results(path, out=tmp_path / "run", resamples=2)
    import_results(path, out=tmp_path / "run", resamples=2, replace=True)


def test_a_manifest_of_an_earlier_version_continues(tmp_path: Path) -> None:
    audit("planted", limit=4, out=tmp_path, **FEW)
    path = tmp_path / "manifest.json"
    manifest = RunFolder(tmp_path).manifest()
    content = json.loads(path.read_text())
    content["engine"].pop("identity")
    content.pop("sha256")
    content["sha256"] = sha256(json.dumps(content, sort_keys=True).encode())
    path.write_text(json.dumps(content))
    assert audit("planted", limit=4, out=tmp_path, **FEW).manifest.engine == manifest.engine


def manifest(**changes: Any) -> RunManifest:
    facts = {"sha256": "a", "source": "", "licence": "", "examples": 1200, "sets": 0, "faults": 0}
    usual = {
        "model": "m",
        "engine": {"engine": "e", "identity": ["weights", "device", "adapter"], "weights": "w", "device": "cpu"},
        "datasets": {"d": facts, "e": facts},
        "tasks": {"t": {"seeds": (1, 2), "samples": {"x": {}}, "settled": {}}},
        "settings": {"level": 0.95},
        "versions": {},
        "command": "c",
        "started": "s",
    }
    return RunManifest(**{**usual, **changes})


def data(**changes: Any) -> dict[str, Any]:
    facts = manifest().datasets
    return {name: {**facts[name], **changes.get(name, {})} for name in facts}


ENGINE = manifest().engine


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, []),
        ({"model": "n", "settings": {"seed": 3}}, ["the model is m, not n"]),
        ({"datasets": {"d": data()["d"]}}, ["the data is d and e, not d"]),
        ({"datasets": data(d={"sha256": "b"})}, ["the data d has other sentences (1,200 other ones)"]),
        (
            {"datasets": data(d={"sha256": "b", "examples": 1300})},
            ["the data d has other sentences (1,200 sentences, not 1,300)"],
        ),
        (
            {"datasets": data(d={"sha256": "b"}, e={"sha256": "b"})},
            [f"the data {n} has other sentences (1,200 other ones)" for n in "de"],
        ),
        ({"datasets": data(d={"sha256": "b"}), "settings": {"limit": 3}}, ["limit is not set, not 3"]),
        ({"settings": {"limit": 3}}, []),
        ({"settings": {"seed": 1}}, ["seed is 0, not 1"]),
        ({"settings": {"shots": "other.toml"}}, []),
        ({"settings": {"level": 0.5, "resamples": 3}}, []),
        ({"tasks": {"u": {}}}, ["the task is t, not u"]),
        ({"tasks": {"t": {"seeds": [1, 2]}}}, []),
        ({"tasks": {"t": {"seeds": [1, 3], "more": 1}}}, ["the task t asks with other seeds, more"]),
        ({"tasks": {"t": {"seeds": [1, 3]}}, "settings": {"seed": 1}}, ["seed is 0, not 1"]),
        ({"tasks": {"t": {"seeds": [1, 2], "samples": 3}}}, ["the task t asks with other samples"]),
        ({"engine": {**ENGINE, "device": "cuda"}}, []),
        ({"engine": {**ENGINE, "weights": "v", "adapter": "a"}}, ["the model m has other weights, adapter"]),
        ({"engine": {**ENGINE, "note": "x"}}, []),
    ],
)
def test_what_differs_is_said_in_words(changes: dict[str, Any], said: list[str]) -> None:
    assert differences(manifest(), manifest(**changes)) == said


def test_an_engine_without_identity_is_of_an_earlier_version() -> None:
    earlier = manifest(engine={"weights": "w", "adapter": "a/path"})
    assert differences(earlier, manifest(engine={**ENGINE, "adapter": "a hash"})) == []
    assert differences(earlier, manifest(engine={"weights": "v"})) == ["the model m has other weights"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [([], "none"), ([1, "a"], "1, a"), (None, "not set"), ("", "not set"), ({}, "not set"), (0, "0"), (False, "False")],
)
def test_values_are_shown_in_words(value: Any, shown: str) -> None:
    assert _shown(value) == shown
