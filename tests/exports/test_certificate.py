"""The certificate of a settled run: what it says, what it is refused for, and that a changed one is found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.exports.certificate import HASHED, NAME, _statement, certificate, paragraph
from equipoise.files import sha256
from equipoise.records import RunError
from equipoise.run import audit
from equipoise.runs import Run
from equipoise.verdict.settled import decisions_of
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


def test_a_certificate_is_readable_json_with_the_hash_of_its_content(settled: Path) -> None:
    run = Run(settled)
    made = certificate(run)
    content = json.loads(made)
    assert made.decode() == json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    seal = content.pop("sha256")
    assert seal == sha256(json.dumps(content, sort_keys=True).encode())
    manifest = run.manifest
    assert content == {
        "statement": paragraph(run),
        "model": manifest.model,
        "engine": {name: manifest.engine[name] for name in manifest.engine["identity"]},
        "populations": content["populations"],
        "seed": 0,
        "error": 0.05,
        "equipoise": manifest.versions["equipoise"],
        "finished": manifest.finished,
        "files": {name: manifest.files[name] for name in HASHED if name in manifest.files},
    }
    assert "examples.parquet" in content["files"] and content["engine"]
    (population,) = content["populations"]
    facts = manifest.datasets["builtin"]
    assert {name: population[name] for name in ("dataset", "sha256", "source", "task", "sets", "asked")} == {
        "dataset": "builtin",
        "sha256": facts["sha256"],
        "source": facts["source"],
        "task": "next-word",
        "sets": facts["sets"],
        "asked": len(set(run.parts[0].items["set_id"])),
    }


def test_the_first_of_several_open_requirements_is_named(tmp_path: Path) -> None:
    until = ["accuracy >= 0.1", "flip_rate[type=type2] <= 0.02", "accuracy >= 0.97"]
    run = audit("planted:strength=2", "builtin", out=tmp_path / "run", until=until, at_most=40, **FEW)
    assert [entry.as_json()["outcome"] for entry in decisions_of(run.parts[0])] == ["passed", "undecided", "undecided"]
    with pytest.raises(RunError) as refused:
        certificate(run)
    assert str(refused.value) == f"{run.path} has no certificate: flip_rate[type=type2] <= 0.02 is undecided"


def test_the_statement_says_what_was_asked_and_settled() -> None:
    entry = {"requirement": "accuracy >= 0.6", "word": "", "outcome": "passed", "value": 0.71234, "low": 0.6549}
    entry |= {"high": 0.75, "sets": 1200, "of": 5100}
    other = {**entry, "requirement": "flip_rate", "word": "better", "outcome": "failed", "low": 0.5}
    population = {"asked": 1234, "sets": 56789, "dataset": "d", "sha256": "0123456789abcdef", "task": "mcq"}
    content = {"model": "m", "seed": 7, "error": 0.0125, "equipoise": "1.2"}
    assert _statement({**content, "populations": [{**population, "settled": [entry, other]}]}) == (
        "m was asked 1,234 of the 56,789 sets of d (SHA-256 0123456789ab…) as mcq, drawn at random with seed 7."
        " accuracy >= 0.6: passed, 0.712 [0.655, 0.750] after 1,200 of 5,100 sets."
        " flip_rate: better, 0.712 [0.500, 0.750] after 1,200 of 5,100 sets."
        " At most 1.25% of such audits settle one of these wrongly, all together. This is about these metrics on"
        " sentences like these, and about nothing else; it does not show that the model treats people equally."
        " Made by Equipoise 1.2."
    )
