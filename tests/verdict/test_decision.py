"""The verdict: what decides its status, and what could have been missed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from equipoise.records import Estimate, Measurement
from equipoise.records.showing import Finding
from equipoise.runs.measurements import Measurements
from equipoise.runs.run import Run
from equipoise.verdict.decision import _missed, verdict_of
from equipoise.verdict.validity import checks


def row(metric: str, group: str, low: float, high: float) -> Measurement:
    return Measurement(metric, "m", "d", "t", group, Estimate(0.01, low, high, 0.95, 80, "b", 0.5, 0.9), "neither")


def test_what_could_have_been_missed_is_the_far_end_of_an_interval() -> None:
    gap, flips = row("accuracy_gap", "type=type2", 0.0, 0.048), row("flip_bias", "type=type1", -0.2, 0.1)
    missed, text = _missed(Measurements([gap, flips]), ["type2", "type1"])
    assert missed is gap and "an accuracy gap of up to 4.8 points (n = 80 resolvable sentences)" in text
    missed, text = _missed(Measurements([flips]), ["type2", "type1"])
    assert missed is flips and "a bias of flips of up to 20.0 points" in text
    assert _missed(Measurements([]), [""])[0] is None


def test_any_invalid_check_makes_a_run_not_usable(make_run: Callable[..., Path]) -> None:
    (part,) = Run(make_run("decided", by=[])).parts
    listed = checks(part)
    assert verdict_of(part, listed).usable
    broken = Finding("nothing was asked.", topic="validity", state="invalid", name="test")
    verdict = verdict_of(part, [*listed, broken])
    assert (
        verdict.status == "not usable" and verdict.sentence == "Not usable: nothing was asked." and not verdict.findings
    )
