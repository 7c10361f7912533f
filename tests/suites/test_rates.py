"""Times that are told before an audit come from the rate of the audit before."""

from __future__ import annotations

import json
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
    kept = (tmp_path / "rates.json").read_text()
    assert kept == json.dumps(json.loads(kept), indent=1) and len(json.loads(kept)) == 2
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


def metered(*steps: tuple[str, int, float]) -> Meter:
    moments = iter([moment for _, _, moment in steps])
    meter = Meter(lambda *step: None, clock=moments.__next__)
    for what, done, _ in steps:
        meter(what, done, 10**6)
    return meter


def test_too_few_or_no_time_give_no_rate() -> None:
    assert metered(("a", 5, 1.0), ("b", 0, 1.0), ("a", 104, 3.0), ("b", 100, 1.0)).rates == {}
    assert metered(("a", 5, 1.0), ("a", 60, 2.0), ("a", 105, 3.0)).rates == {"a": 50.0}
    told: list[tuple[str, int, int]] = []
    Meter(lambda *step: told.append(step))("x", 1, 2)
    assert told == [("x", 1, 2)]


def test_a_rate_is_of_a_dataset_and_a_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path))
    options = EngineOptions()
    remember("m", options, metered(("measuring", 0, 0.0), ("measuring", 200, 1.0)))
    assert not (tmp_path / "rates.json").exists()
    steps = [("d · t", 0, 0.0), ("d · t, reasoning", 0, 0.0), ("d · t", 200, 2.0), ("d · t, reasoning", 100, 4.0)]
    remember("m", options, metered(*steps))
    assert seconds("m", options, "t", prompts=50, texts=0) == 0.5
    assert seconds("m", options, "t", prompts=0, texts=50) == 2.0
    assert (
        seconds("m", options, "t", prompts=50, texts=50) == 2.5 and seconds("m", options, "t", prompts=0, texts=0) == 0
    )
    assert (
        seconds("n", options, "t", prompts=50, texts=0) is None
        and seconds("m", options, "u", prompts=5, texts=0) is None
    )
    assert seconds("m", EngineOptions(dtype="float32"), "t", prompts=50, texts=0) is None
    assert seconds("m", EngineOptions(seed=9), "t", prompts=50, texts=0) == 0.5
    remember("m", options, metered(("e · u", 0, 0.0), ("e · u", 100, 1.0)))
    assert seconds("m", options, "u", prompts=5, texts=5) is None, "no text of the task was measured"
    kept = json.loads((tmp_path / "rates.json").read_text())
    assert kept == {
        json.dumps(["m", "t", "prompts", {}]): 100.0,
        json.dumps(["m", "t", "texts", {}]): 25.0,
        json.dumps(["m", "u", "prompts", {}]): 100.0,
    }


@pytest.mark.parametrize("content", ["", "[1]", "{", '{"a": "x"}'])
def test_rates_that_cannot_be_read_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path))
    (tmp_path / "rates.json").write_text(content)
    assert seconds("m", EngineOptions(), "t", prompts=5, texts=0) is None
    (tmp_path / "rates.json").write_text(json.dumps({json.dumps(["m", "t", "prompts", {}]): 0}))
    assert seconds("m", EngineOptions(), "t", prompts=5, texts=0) is None


def test_a_cache_that_cannot_be_written_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "file"))
    remember("m", EngineOptions(), metered(("d · t", 0, 0.0), ("d · t", 200, 2.0)))
