"""Times that are told before an audit come from the rate of the audit before."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.options import EngineOptions
from equipoise.suites.rates import Meter, remember, seconds

MCQ = "data · mcq"


def meter_of(*events: tuple[str, int, float]) -> Meter:
    """Return a meter that has seen these events: what, how many are done, when."""
    moments = iter([moment for *_, moment in events])
    meter = Meter(lambda *_: None, clock=lambda: next(moments))
    for what, done, _ in events:
        meter(what, done, 1000)
    return meter


def test_a_rate_is_of_what_was_done_anew() -> None:
    meter = meter_of(("a", 500, 10.0), ("b", 0, 11.0), ("a", 600, 12.0), ("a", 700, 20.0), ("b", 99, 30.0))
    assert meter.rates == {"a": pytest.approx(20)}


def test_rates_are_kept_for_each_model_task_and_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path))
    options = EngineOptions(dtype="float32")
    remember("m", options, meter_of((MCQ, 0, 0.0), (MCQ, 400, 10.0)))
    assert seconds("m", EngineOptions(dtype="float32", seed=7), "mcq", prompts=800, texts=0) == pytest.approx(20)
    for other in (("n", options, "mcq"), ("m", EngineOptions(), "mcq"), ("m", options, "cloze")):
        assert seconds(*other, prompts=800, texts=0) is None
    assert seconds("m", options, "mcq", prompts=800, texts=5) is None, "no text was ever written"
    remember("m", options, meter_of((f"{MCQ}, reasoning", 0, 0.0), (f"{MCQ}, reasoning", 100, 50.0)))
    assert seconds("m", options, "mcq", prompts=800, texts=5) == pytest.approx(22.5)
    (tmp_path / "rates.json").write_text("[3]")
    assert seconds("m", options, "mcq", prompts=800, texts=0) is None


def test_an_audit_leaves_its_rate_for_the_next_dry_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    model = "planted:strength=1,noise=1"
    command = ["audit", model, "--by", "gender", "--quiet", "--no-html", "--resamples", "10"]
    told = CliRunner().invoke(app, ["audit", model, "--dry-run"]).output
    assert "(rough)" in told and "within a factor" in told
    assert CliRunner().invoke(app, [*command, "--out", str(tmp_path / "run")]).exit_code == 0
    told = CliRunner().invoke(app, ["audit", model, "--dry-run"]).output
    assert "(measured)" in told and "within a factor" not in told
