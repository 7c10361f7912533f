"""`equipoise tune`: what is handed to the training, and what is said of its result."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Any

import pytest
from noted import noted, refusal, said

from equipoise.records.showing import Column, Row, Table
from equipoise.training.objective import TrainingError
from equipoise.training.tune_plan import Plan
from equipoise.training.tuning import Tuned

TUNE = "equipoise.training.tuning.tune"
OPTIONS: dict[str, Any] = {
    "method": "full",
    "rank": 3,
    "target": "labels",
    "weight": 0.5,
    "decided": 4,
    "decided_target": "base",
    "leash": 0.25,
    "temperature": 0.75,
    "estimator": "entropy",
    "parity": "signed",
    "steps": 7,
    "seed": 5,
    "learning_rate": 0.001,
    "validate_every": 6,
    "validation_sets": 9,
    "outside_sets": 8,
    "patience": 2,
}


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the notes of the calls, without a training."""
    monkeypatch.setattr("equipoise.report.write_training_page", lambda folder: (folder / "page.html", "curves"))
    table = Table("", [Column("what", words=True)], [Row(("before and after",))])
    monkeypatch.setattr(
        "equipoise.topics.training.before_and_after", lambda curves: [table] if curves == "curves" else []
    )
    return noted(monkeypatch, TUNE, Tuned(Path("out"), {}, {}, 12, ("the loss rose", "flips rose")))


def test_every_option_is_handed_on(made: Any, tmp_path: Path) -> None:
    words = [word for name, value in OPTIONS.items() for word in (f"--{name.replace('_', '-')}", value)]
    given = ("--out", tmp_path, "--data", "mine.csv", "--sets", "11", "--no-markers", "--device", "cpu")
    out, _ = said("tune", "smollm2", *given, *words)
    plan = Plan(**OPTIONS, answerable=11, unanswerable=5, checkpoint_every=6)
    expected = {"data": "mine.csv", "out": tmp_path, "plan": plan, "markers": False, "device": "cpu"}
    assert made == [(("smollm2",), expected)]
    audit = f"`equipoise audit {quote(str(tmp_path))}` audits the result"
    assert out.splitlines() == [
        "what",
        "before and after",
        "Kept step 12.",
        "note: at the last step the loss rose",
        "note: at the last step flips rose",
        f"{tmp_path}/ (learning curves: {tmp_path}/training/page.html; {audit})",
    ]


def test_an_adapter_is_audited_with_its_model_and_quiet_says_nothing(made: Any) -> None:
    out, _ = said("tune", "my model", "--out", "adapter")
    assert "`equipoise audit 'my model' --adapter adapter` audits the result)" in out
    out, _ = said("tune", "bell\x07", "--out", "adapter\x07")
    assert "\x07" not in out and "bell\N{REPLACEMENT CHARACTER}" in out
    plan = Plan(answerable=16, unanswerable=8, checkpoint_every=25)
    assert made[0][1] == {"data": "grammar", "out": Path("adapter"), "plan": plan, "markers": True, "device": "auto"}
    assert said("tune", "smollm2", "--out", "adapter", "--quiet") == ("", "")


def test_a_training_that_fails_shows_its_curves_where_it_has_some(
    made: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from typer.testing import CliRunner

    from equipoise.cli import app

    def told() -> str:
        result = CliRunner().invoke(app, ["tune", "smollm2", "--out", str(tmp_path)])
        assert str(result.exception) == "no step passed"
        return result.stderr

    noted(monkeypatch, TUNE, TrainingError("no step passed"))
    assert refusal("tune", "smollm2", "--out", tmp_path) == "no step passed"
    assert told() == ""
    (tmp_path / "training" / "report.json").mkdir(parents=True)
    assert told() == "", "a folder of that name is no report"
    (tmp_path / "training" / "report.json").rmdir()
    (tmp_path / "training" / "report.json").write_text("{}")
    assert told() == f"{tmp_path}/training/page.html shows the learning curves\n"
