"""A folder that is not what it claims is found out, whichever of its files was changed, and however carefully."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from kept_texts import assert_kept
from tiny import make_engine

from equipoise.run import audit
from equipoise.runs import Run, RunFolder
from equipoise.subset import subset_run
from equipoise.verification import _examples, _files, _safely, _tasks, to_json, verify
from equipoise.verification.finding import Finding
from equipoise.verification.tables import compared

Change = Callable[[pd.DataFrame], pd.DataFrame]


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("honest") / "run"
    few = {"metrics": ["ucerf", "flip_rate", "accuracy"], "by": ["gender"], "resamples": 20}
    audit("planted:noise=1", task=["next-word", "mcq"], limit=20, out=folder, **few)
    return folder


def failed(findings: list[Finding]) -> list[str]:
    return [finding.name for finding in findings if not finding.passed]


def test_an_honest_run_holds(honest: Path) -> None:
    findings = verify(honest)
    assert failed(findings) == []
    names = ["manifest", "files", "examples", "tasks", "answers", "outcomes", "pairs", "measurements"]
    assert [finding.name for finding in findings] == names
    assert "recomputed from the scores" in findings[5].what
    assert "recomputed from the outcomes" in findings[-1].what
    assert_kept("verification/honest", [finding.what for finding in findings])


FEW = {"limit": 4, "resamples": 5, "metrics": ["ucerf", "accuracy"], "by": ["gender"]}
THOUGHT = {"answer_turn": "plain", "reasoning_tokens": 4}


@pytest.mark.parametrize(
    ("model", "choices"),
    [
        ("planted:noise=1", {"task": ["next-word", "mcq"], "chat": True, "orders": 2, "estimators": ["renyi"]}),
        ("planted:noise=1", {"limit": 60, "until_width": 0.5}),
        ("planted:noise=1", {"wordings": "built-in"}),
        ("planted:noise=1", {"task": ["cloze", "sentence"], "metrics": ["certainty"], "by": []}),
        ("ensemble:planted+planted:noise=1", {}),
        ("tiny", {"task": ["next-word-cot", "mcq-cot"], **THOUGHT}),
        ("tiny", {"estimators": ["perplexity", "p-true"]}),
    ],
)
def test_every_kind_of_run_holds(model: str, choices: dict[str, Any], tmp_path: Path) -> None:
    audit(make_engine() if model == "tiny" else model, out=tmp_path, **{**FEW, **choices})
    assert failed(verify(tmp_path)) == []


def test_a_part_of_a_run_says_that_it_has_no_scores(honest: Path, tmp_path: Path) -> None:
    subset_run(honest, ["gender=female"], out=tmp_path / "part")
    findings = {finding.name: finding for finding in verify(tmp_path / "part")}
    assert failed(list(findings.values())) == []
    assert "outcomes are taken as they are (a part of another run)" in findings["scores"].what


def test_a_run_whose_manifest_does_not_name_its_scores_is_not_verified(honest: Path, tmp_path: Path) -> None:
    folder = RunFolder(Path(shutil.copytree(honest, tmp_path / "run")))
    manifest = folder.manifest()
    with folder.held():
        folder.commit({}, replace(manifest, files={k: v for k, v in manifest.files.items() if k != "scores.jsonl"}))
    (finding,) = [finding for finding in verify(folder.path) if not finding.passed]
    assert finding.what.startswith("the manifest does not name scores.jsonl")


FORGERIES: list[tuple[str, Change, str]] = [
    ("measurements.csv", lambda t: t.assign(value=t["value"].where(t["metric"] != "ucerf", 0.99)), "measurements"),
    ("measurements.csv", lambda t: t.assign(low=t["low"] + 1e-3), "measurements"),
    ("measurements.csv", lambda t: t[t["metric"] != "flip_rate"], "measurements"),
    ("examples.parquet", lambda t: t.assign(text=t["text"].str.replace(" the ", " a ")), "examples"),
    ("outcomes.parquet", lambda t: t.assign(gold=1 - t["gold"].clip(0, 1)), "outcomes"),
    ("outcomes.parquet", lambda t: t.assign(desirability=1e300), "outcomes"),
    ("outcomes.parquet", lambda t: t[t["correct"] != 0], "outcomes"),
    ("pairs.parquet", lambda t: t.assign(u_signed=-7.5), "pairs"),
    ("measurements.csv", lambda t: t.assign(p=0.001), "measurements"),
    ("outcomes.parquet", lambda t: t.assign(set_id=t["set_id"].iloc[0]), "answers"),
    ("outcomes.parquet", lambda t: t.assign(cluster_id="c"), "answers"),
    ("outcomes.parquet", lambda t: t.assign(answerable=~t["answerable"]), "answers"),
    ("outcomes.parquet", lambda t: t.assign(example_id=[*t["example_id"][:-3], *"xyz"]), "answers"),
    ("examples.parquet", lambda t: t[:-2], "examples"),
    ("examples.parquet", lambda t: pd.concat([t, t[:1].assign(dataset="other")]), "examples"),
]


def test_a_forger_who_writes_a_new_manifest_is_found_out(honest: Path, tmp_path: Path) -> None:
    said = {}
    for number, (table, change, fault) in enumerate(FORGERIES):
        folder = RunFolder(Path(shutil.copytree(honest, tmp_path / f"forged-{number}")))
        forged = change(folder.frame(table))
        with folder.held():
            folder.commit({table: forged}, folder.manifest())
        findings = verify(folder.path)
        assert fault in failed(findings), (table, fault)
        said[f"{number}: {table}, {fault}"] = [finding.what for finding in findings if not finding.passed]
    assert_kept("verification/forgeries", said)


def test_a_changed_file_and_a_changed_manifest_are_found_out(honest: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(honest, tmp_path / "changed"))
    (folder / "notes.txt").write_text("mine")
    findings = verify(folder)
    assert failed(findings) == []
    assert any("notes.txt" in finding.what for finding in findings)
    with open(folder / "outcomes.parquet", "ab") as file:
        file.write(b" ")
    assert failed(verify(folder)) == ["files"]
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"model": "planted"', '"model": "better"'))
    assert failed(verify(folder)) == ["manifest"]


def test_numbers_may_differ_by_rounding_and_no_more(honest: Path) -> None:
    table = RunFolder(honest).frame("measurements.csv")
    assert compared(table.assign(value=table["value"] + 1e-9), table).passed
    assert not compared(table.assign(value=table["value"] + 1e-5), table).passed
    assert not compared(table.assign(n=table["n"] + 1), table).passed


def test_a_run_whose_metric_is_unknown_here_is_not_verified(honest: Path, tmp_path: Path) -> None:
    folder = RunFolder(Path(shutil.copytree(honest, tmp_path / "plugged")))
    manifest = folder.manifest()
    settings = {**manifest.settings, "metrics": ["of_another_package"]}
    with folder.held():
        folder.commit({}, replace(manifest, settings=settings))
    finding = verify(folder.path)[-1]
    assert not finding.passed and "of_another_package" in finding.what
    assert set(asdict(finding)) == {"name", "passed", "what"}


def altered(honest: Path, folder: Path, **changes: Any) -> list[Finding]:
    """Return what is found in a copy whose manifest says something else."""
    run = RunFolder(Path(shutil.copytree(honest, folder)))
    with run.held():
        run.commit({}, replace(run.manifest(), **changes))
    return verify(run.path)


def test_a_manifest_that_says_something_else_is_found_out(honest: Path, tmp_path: Path) -> None:
    manifest = RunFolder(honest).manifest()
    facts = manifest.datasets["builtin"]
    cases: dict[str, dict[str, Any]] = {
        "examples": {"datasets": {"builtin": {**facts, "examples": 41}}},
        "both": {"datasets": {"builtin": {**facts, "examples": 2000, "sets": 1000}}},
        "hash": {"datasets": {"builtin": {**facts, "sha256": "0" * 64, "sets": 3}}},
        "task": {"tasks": {**manifest.tasks, "mcq": {**manifest.tasks["mcq"], "answer_space": "apart", "more": 1}}},
        "order": {"tasks": {**manifest.tasks, "next-word": {**manifest.tasks["next-word"], "more": 1}}},
        "identity": {"engine": {**manifest.engine, "identity": []}},
        "engine": {"engine": {**manifest.engine, "noise": 9.0}},
        "metrics": {"settings": {**manifest.settings, "metrics": ["ucerf", "a", "b"]}},
    }
    said = {}
    for name, changes in cases.items():
        findings = altered(honest, tmp_path / name, **changes)
        said[name] = [f"{finding.name}: {finding.what}" for finding in findings if not finding.passed]
        assert said[name], name
    assert_kept("verification/manifests", said)


def test_files_are_missing_changed_or_strange(honest: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(honest, tmp_path / "run"))
    (folder / "sub").mkdir()
    for name in ("sub/b.txt", "a.txt", "scores.lock", ".run.lock"):
        (folder / name).write_text("")
    (finding,) = [finding for finding in verify(folder) if finding.name == "other files"]
    assert finding == Finding("other files", True, "2 files are not part of the run: a.txt, sub/b.txt")
    count = len(RunFolder(folder).manifest().files)
    for name in ("scores.jsonl", "pairs.parquet"):
        (folder / name).unlink()
    findings = verify(folder)
    assert [finding.name for finding in findings] == ["manifest", "files", "other files"]
    assert sorted(findings[1].what.partition(": ")[2].split(", ")) == ["pairs.parquet", "scores.jsonl"]
    assert findings[1].what.startswith(f"2 of {count} are missing or changed: ")
    assert verify(tmp_path / "nowhere")[0].name == "manifest" and len(verify(tmp_path / "nowhere")) == 1


def test_what_cannot_be_checked_is_a_finding() -> None:
    def broken() -> Any:
        yield Finding("first", True, "fine")
        raise ValueError("no such row")

    assert _safely("answers", broken) == [Finding("answers", False, "cannot be checked: no such row")]
    with pytest.raises(RuntimeError):
        _safely("answers", lambda: (_ for _ in ()).throw(RuntimeError("a fault of ours")))


def test_findings_are_written_as_json_and_progress_is_told(honest: Path) -> None:
    findings = [Finding("files", True, "schön"), Finding("answers", False, "none")]
    text = to_json({"a": findings, "b": findings[:1]})
    runs = ("a", "a", "b")
    assert json.loads(text) == [
        {"run": run, **asdict(finding)} for run, finding in zip(runs, [*findings, findings[0]], strict=True)
    ]
    assert "schön" in text and text.startswith('[\n  {\n    "run"')
    told: list[tuple[object, ...]] = []
    assert failed(verify(honest, progress=lambda *progress: told.append(progress))) == []
    assert told


def test_a_run_without_scores_has_no_tasks_to_check(honest: Path, tmp_path: Path) -> None:
    subset_run(honest, ["gender=female"], out=tmp_path / "part")
    run = Run(tmp_path / "part")
    assert list(_tasks(run)) == []
    count = len(run.manifest.files)
    assert _files(run) == Finding("files", True, f"{count} files have the SHA-256 that the manifest names")
    names = [finding.name for finding in verify(tmp_path / "part")]
    assert names == ["manifest", "files", "examples", "answers", "scores", "outcomes", "pairs", "measurements"]


def test_a_dataset_of_which_one_task_asked_a_sample_has_no_hash_to_check(honest: Path) -> None:
    run = Run(honest)
    for sampled in (["mcq"], ["next-word"], ["next-word", "mcq"]):
        drawn = {name: {**run.manifest.tasks[name], "samples": {"builtin": {}}} for name in sampled}
        tasks = {**run.manifest.tasks, **drawn}
        of_some: Any = SimpleNamespace(table=run.table, manifest=replace(run.manifest, tasks=tasks))
        told = "builtin: a sample was asked, so the dataset's hash says nothing of it"
        assert list(_examples(of_some)) == [Finding("examples", True, told)]
    (whole,) = _examples(run)
    assert "examples have the dataset's hash" in whole.what
