"""The certificate of a settled run: what it says, what it is refused for, and that a changed one is found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.exports.certificate import NAME, certificate, paragraph
from equipoise.records import RunError
from equipoise.run import audit
from equipoise.runs import Run
from equipoise.verification import verify

FEW: dict[str, Any] = {"by": [], "resamples": 20, "metrics": ["flip_rate", "accuracy", "first_mentioned"]}
UNTIL = ["flip_rate[type=type2] <= 0.10", "accuracy >= 0.6"]


@pytest.fixture
def settled(tmp_path: Path) -> Path:
    audit("planted:strength=2", "builtin", out=tmp_path / "run", until=UNTIL, **FEW)
    return tmp_path / "run"


def test_a_certificate_names_population_seed_error_outcomes_version_and_hashes(settled: Path) -> None:
    run = Run(settled)
    content = json.loads(certificate(run))
    (population,) = content["populations"]
    assert population["sets"] == 510 and 30 <= population["asked"] < 266
    assert population["sha256"] == run.manifest.datasets["builtin"]["sha256"]
    assert [entry["outcome"] for entry in population["settled"]] == ["passed", "passed"]
    assert content["error"] == 0.05 and content["seed"] == 0 and content["equipoise"]
    assert content["files"]["outcomes.parquet"] == run.manifest.files["outcomes.parquet"]
    text = paragraph(run)
    assert "drawn at random with seed 0" in text and "At most 5%" in text and "fair" not in text.lower()


def test_verify_checks_it_from_the_folder(settled: Path) -> None:
    result = CliRunner().invoke(app, ["report", str(settled), "--as", "certificate"])
    assert result.exit_code == 0 and "flip_rate[type=type2] <= 0.10: passed" in result.output
    findings = {finding.name: finding for finding in verify(settled)}
    assert findings["certificate"].passed
    run = Run(settled)
    changed = run.folder.content(NAME).replace(b'"asked": ', b'"asked": 1')
    run.folder.add({NAME: changed})
    (wrong,) = [finding for finding in verify(settled) if not finding.passed]
    assert wrong.name == "certificate"


@pytest.mark.parametrize(
    ("choices", "match"),
    [
        ({"limit": 60}, "nothing to certify"),
        ({"until": ["flip_rate[type=type2] <= 0.01"], "at_most": 40}, "is undecided"),
        ({"until": ["flip_rate[type=type2] <= 0.9"], "limit": 20}, "Not usable"),
    ],
)
def test_what_is_not_settled_or_not_usable_has_none(choices: dict[str, Any], match: str, tmp_path: Path) -> None:
    run = audit("planted:strength=2", "builtin", out=tmp_path / "run", **FEW, **choices)
    with pytest.raises(RunError, match=match):
        certificate(run)
