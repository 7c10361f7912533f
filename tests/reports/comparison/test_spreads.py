"""Histograms of D and U between runs and between datasets, TPR beside TPD, and calibration of several runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from equipoise.reports.comparison.spreads import dataset_spreads, rates, run_spreads, spreads
from equipoise.reports.comparison.topics import calibrations

from equipoise.datasets.builtin import load_builtin
from equipoise.datasets.dataset import Dataset
from equipoise.run import audit
from equipoise.runs.run import Run
from equipoise.scoring.planted.stereotype import PlantedEngine


@pytest.mark.slow
def test_runs_are_spread_as_their_tables_say(planted_run: Path, mild_run: Path) -> None:
    runs = [Run(planted_run), Run(mild_run)]
    views = {(view.quantity, "type 2" in view.title): view for view in run_spreads(runs)}
    assert set(views) == {("D", True), ("U", True), ("certainty", False), ("U", False)}
    items, view = runs[0].outcomes, views["D", True]
    expected = items[items["type"] == "type2"]["desirability"].to_numpy()
    assert sorted(view.series[0][1]) == pytest.approx(sorted(expected))
    shares = view.shares(view.series[0][1])
    assert shares.sum() == pytest.approx(1.0)
    assert shares[-1] == pytest.approx(np.mean(expected >= view.edges[-2]))
    assert list(dataset_spreads(runs)) == [], "one dataset has nothing to be compared with"


def test_datasets_are_spread_against_each_other(tmp_path: Path) -> None:
    resolvable = [example for example in load_builtin().examples if example.answerable]
    # In the second dataset every right answer goes against the stereotype.
    against = [example for example in resolvable if example.groups["stereotype"] == "anti"]
    data = [Dataset("both", tuple(resolvable[:24])), Dataset("against", tuple(against[:12]))]
    audit(PlantedEngine(bias=3.0), data=data, out=tmp_path / "run", resamples=20, by=[])
    run = Run(tmp_path / "run")
    view = next(view for view in dataset_spreads([run]) if view.quantity == "D")
    means = {name: values.mean() for name, values in view.series}
    assert means["against"] < means["both"]
    section = spreads([run])
    assert section is not None and "planted · next-word" in section.body


def test_tpr_and_tpd_are_those_of_a_loop(planted_run: Path) -> None:
    (part,) = Run(planted_run).parts
    items = part.items[part.items["answerable"].astype(bool)]
    pro, anti = rates(part, "planted")
    for rate, side, gender in ((pro, "pro", "male"), (anti, "anti", "female")):
        rows = items[(items["stereotype"] == side) & (items["gender"] == gender)]
        by_sentence = rows.assign(d=(rows["desirability"] + 1) / 2).groupby("cluster_id")
        assert rate.n == len(rows)
        assert rate.right.value == pytest.approx(by_sentence["correct"].mean().mean())
        assert rate.desirability.value == pytest.approx(by_sentence["d"].mean().mean())
        assert rate.right.low < rate.right.value < rate.right.high or rate.right.value in (0.0, 1.0)
    assert pro.right.value > anti.right.value and pro.desirability.value > anti.desirability.value


def test_calibration_of_two_runs_is_drawn_upon_each_other(cloze_runs: tuple[Path, Path]) -> None:
    runs = [Run(path) for path in cloze_runs]
    section = calibrations(runs)
    assert section is not None and section.body.count("<svg") == 1
    for run in runs:
        ece = run.parts[0].measured.get("ece")
        assert f"off by {100 * ece.value:.1f} points" in section.body
    assert calibrations(runs[:1]) is None
