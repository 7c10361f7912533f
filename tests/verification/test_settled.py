"""Whether what a run settled follows from its answers: a changed outcome is found."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from equipoise.measuring.settling import ALL_ASKED, STOPPED, Decision
from equipoise.records import RunError, RunKey
from equipoise.run import audit
from equipoise.runs.folder import RunFolder
from equipoise.runs.manifest import write_manifest
from equipoise.verification import verify
from equipoise.verification.finding import Finding
from equipoise.verification.settled import EXACT, _follows, certified

module = sys.modules["equipoise.verification.settled"]

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


NAN = float("nan")
ROOM = 0.9 * EXACT


def decision(*, how: str = ALL_ASKED, outcome: str = "passed", **changes: Any) -> Decision:
    usual = {"requirement": "accuracy >= 0.6", "metric": "accuracy", "group": "", "sign": ">=", "bound": 0.6}
    ends = {"value": 0.8, "low": 0.7, "high": 0.9, "level": 0.95, "sets": 30, "of": 60}
    return Decision(**{**usual, **ends, "how": how, "outcome": outcome, **changes})


@pytest.mark.parametrize(
    ("how", "claimed", "again", "holds"),
    [
        (ALL_ASKED, {}, (0.7, 0.9), True),
        (ALL_ASKED, {}, (0.7 + ROOM, 0.9), True),
        (ALL_ASKED, {}, (0.7 - ROOM / 2, 0.9 + ROOM / 3), True),
        (ALL_ASKED, {}, (0.7 + ROOM, 0.9 + ROOM), False),
        (ALL_ASKED, {}, (0.7 + ROOM, 0.9 - ROOM), False),
        (ALL_ASKED, {}, (0.7 - 2 * EXACT, 0.9), False),
        (ALL_ASKED, {}, (0.7, 0.9 + 2 * EXACT), False),
        (ALL_ASKED, {}, None, False),
        (ALL_ASKED, {"outcome": "FAILED"}, (0.7, 0.9), False),
        (STOPPED, {}, (0.7, 0.9), True),
        (STOPPED, {}, (0.75, 0.85), True),
        (STOPPED, {}, (0.7 - ROOM, 0.9 + ROOM), True),
        (STOPPED, {}, (0.7 - 2 * EXACT, 0.9), False),
        (STOPPED, {}, (0.7, 0.9 + 2 * EXACT), False),
        (STOPPED, {}, None, False),
        (STOPPED, {"outcome": "undecided"}, (0.75, 0.85), False),
        (STOPPED, {"low": NAN, "high": NAN, "outcome": "undecided"}, None, True),
        (STOPPED, {"low": NAN, "high": NAN, "outcome": "undecided"}, (0.7, 0.9), False),
    ],
)
def test_an_outcome_follows_from_the_interval_that_comes_out_again(
    how: str, claimed: dict[str, Any], again: tuple[float, float] | None, holds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    ends = None if again is None else SimpleNamespace(low=again[0], high=again[1])
    monkeypatch.setattr(module, "final_estimate", lambda *given: asked.append(given) or ends)
    monkeypatch.setattr(module, "interval_at_any_look", lambda *given: asked.append(given) or ends)
    monkeypatch.setattr(module, "sample_of", lambda manifest, key: ("sample", manifest, key))
    made = decision(how=how, **claimed)
    run, key = SimpleNamespace(manifest="m"), RunKey("a", "b", "c")
    assert bool(_follows(made, "outcomes", "plan", key, run)) is holds  # type: ignore[arg-type]
    (given,) = asked
    assert given[0] == "outcomes" and given[1].metric == "accuracy" and given[2:4] == ("plan", key)
    assert given[4:] == ((0.95,) if how == ALL_ASKED else (("sample", "m", key),))


def found(decisions: list[Decision], monkeypatch: pytest.MonkeyPatch, *, parts: int = 1) -> list[Finding]:
    every = [SimpleNamespace(dataset=f"d{number}", task="t") for number in range(parts)]
    run = SimpleNamespace(parts=every, manifest=SimpleNamespace(model="m"))
    monkeypatch.setattr(module, "decisions_of", lambda part: decisions)
    monkeypatch.setattr(module, "_follows", lambda one, *rest: one.outcome == "passed")
    return list(module.settled(run, {RunKey("m", "d0", "t"): "answers"}, "plan"))  # type: ignore[arg-type, dict-item]


def test_requirements_and_comparisons_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    fine, wrong = decision(), decision(outcome="FAILED", requirement="other")
    compared = [decision(word="better"), decision(sign="better")]
    assert found([], monkeypatch) == []
    holds = Finding("settled", True, "2 requirements have the outcome that follows from the answers")
    assert found([fine, fine], monkeypatch) == [holds]
    taken = "2 comparisons with another run are taken as they are: that run is not in the folder"
    assert found(compared, monkeypatch) == [Finding("settled", True, taken)]
    assert found([compared[0], fine, *compared[1:], fine], monkeypatch) == [holds, Finding("settled", True, taken)]
    fault = Finding("settled", False, "2 of 3 do not follow from the answers: other, other")
    assert found([wrong, fine, wrong], monkeypatch) == [fault]
    # The second part has no answers, so nothing follows there.
    lone = Finding("settled", False, "1 of 2 do not follow from the answers: accuracy >= 0.6")
    assert found([fine], monkeypatch, parts=2) == [lone]


def test_a_certificate_is_the_one_that_its_run_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*files: str) -> Any:
        folder = SimpleNamespace(content=lambda name: f"content of {name}".encode())
        return SimpleNamespace(manifest=SimpleNamespace(files=files), folder=folder)

    assert list(certified(run("a.txt"))) == []
    monkeypatch.setattr(module, "certificate", lambda run: b"content of certificate.json")
    assert list(certified(run("certificate.json"))) == [
        Finding("certificate", True, "it says what the run settled"),
    ]
    monkeypatch.setattr(module, "certificate", lambda run: b"other")
    assert list(certified(run("certificate.json"))) == [
        Finding("certificate", False, "it is not the certificate that this run gives"),
    ]

    def refused(run: Any) -> bytes:
        raise RunError("not usable")

    monkeypatch.setattr(module, "certificate", refused)
    assert list(certified(run("certificate.json"))) == [Finding("certificate", False, "not usable")]
