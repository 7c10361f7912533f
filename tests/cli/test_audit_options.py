"""Options that are given several times, or to `measure`: none of them loses what was there."""

from __future__ import annotations

from pathlib import Path

from equipoise import load
from equipoise.cli import app

QUICK = ("--no-html", "--quiet", "--resamples", "10")


def test_two_augmentations_are_both_kept_and_measure_adds_a_metric(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    words = ("--data", "winoidentity", "--base", "builtin", "--attributes", "age", "--limit", "2", "--metric", "ucerf")
    ways = ("--augment", "R", "--augment", "C")
    app(["audit", "planted", *words, *ways, "--out", str(folder), *QUICK], standalone_mode=False)
    run = load(folder)
    assert set(run.outcomes["augmentation"]) == {"none", "R", "C"}
    before = set(run.measurements["metric"])
    assert "ucerf" in before and "flip_rate" not in before
    app(["measure", str(folder), "--metric", "flip_rate", *QUICK], standalone_mode=False)
    assert set(load(folder).measurements["metric"]) == {*before, "flip_rate"}
