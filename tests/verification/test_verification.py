"""A folder that is not what it claims is found out, whichever of its files was changed, and however carefully."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tiny import make_engine

from equipoise.run import audit
from equipoise.runs import RunFolder
from equipoise.subset import subset_run
from equipoise.verification import verify
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


FEW = {"limit": 4, "resamples": 5, "metrics": ["ucerf", "accuracy"], "by": ["gender"]}
THOUGHT = {"answer_turn": "plain", "reasoning_tokens": 4}


@pytest.mark.parametrize(
    ("model", "choices"),
    [
        ("planted:noise=1", {"task": ["next-word", "mcq"], "chat": True, "orders": 2, "estimators": ["renyi"]}),
        ("planted:noise=1", {"limit": 60, "until_width": 0.5}),
        ("planted:noise=1", {"wordings": "built-in"}),
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


@pytest.mark.parametrize(
    ("table", "change", "fault"),
    [
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
    ],
)
def test_a_forger_who_writes_a_new_manifest_is_found_out(
    honest: Path, tmp_path: Path, table: str, change: Change, fault: str
) -> None:
    folder = RunFolder(Path(shutil.copytree(honest, tmp_path / "forged")))
    forged = change(folder.frame(table))
    with folder.held():
        folder.commit({table: forged}, folder.manifest())
    assert fault in failed(verify(folder.path))


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
