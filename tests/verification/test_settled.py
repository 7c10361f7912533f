"""Whether what a run settled follows from its answers: a changed outcome is found."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from equipoise.run import audit
from equipoise.runs.folder import RunFolder
from equipoise.runs.manifest import write_manifest
from equipoise.verification import verify

UNTIL = ["flip_rate[type=type2] <= 0.10", "ucerf[type=type1] >= 0.97", "accuracy >= 0.6"]


FEW = {"by": [], "resamples": 20, "metrics": ["flip_rate", "ucerf", "accuracy"]}


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("settled") / "run"
    audit("planted:strength=2,bias=0.3,noise=0.5", "builtin", out=out, until=UNTIL, **FEW)
    return out


@pytest.fixture
def run(settled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(settled, tmp_path / "copy"))


def test_what_was_settled_comes_out_again(run: Path) -> None:
    findings = {finding.name: finding for finding in verify(run)}
    assert all(finding.passed for finding in findings.values()), findings
    assert findings["settled"].what.startswith("3 requirements")


@pytest.mark.parametrize(
    ("number", "changes"), [(0, {"outcome": "FAILED"}), (1, {"outcome": "passed"}), (2, {"low": 0.9999})]
)
def test_another_outcome_is_found(run: Path, number: int, changes: dict[str, object]) -> None:
    manifest = RunFolder(run).manifest()
    tasks = json.loads(json.dumps(manifest.tasks))
    tasks["next-word"]["settled"]["builtin"][number] |= changes
    write_manifest(run, replace(manifest, tasks=tasks))
    (finding,) = [finding for finding in verify(run) if not finding.passed]
    assert finding.name == "settled" and UNTIL[number] in finding.what
