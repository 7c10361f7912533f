"""Studies of wordings: the spread of every metric, the worst wording, variance components, and orders of runs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from kept_texts import assert_kept

from equipoise.comparing import wordings
from equipoise.comparing.wordings import by_wording, frames, wording_parts
from equipoise.measuring.estimators import Resamples
from equipoise.records import Estimate, Measurement, UndefinedMetric
from equipoise.runs import Run
from equipoise.runs.measurements import Measurements


def test_the_worst_wording_has_the_interval_that_it_has_in_the_table(worded_runs: list[Path]) -> None:
    parts = wording_parts([Run(folder) for folder in worded_runs], Resamples(resamples=40))
    spreads = {(part.part.kind, s.run): s for part in parts for s in part.spreads if s.metric == "ucerf"}
    assert spreads
    for part in parts:
        for robust in part.worded.robust if part.part.metric.name == "ucerf" else ():
            wording, lowest = spreads[part.part.kind, robust.run].lowest
            assert (robust.wording, robust.worst.value, robust.worst.ends) == (wording, lowest.value, lowest.ends)


def test_each_part_has_its_spread_components_worst_wording_and_order(worded_runs: list[Path]) -> None:
    parts = wording_parts([Run(folder) for folder in worded_runs], Resamples(resamples=40))
    assert [(part.part.kind, part.part.metric.name) for part in parts] == [
        ("type2", "ucerf"),
        ("type1", "ucerf"),
        ("type1", "ucerf_signed"),
    ]
    tables = frames(parts)
    assert set(tables) == {"wordings", "wording_ucerf", "wording_differences", "components", "wording_orders"}
    spreads = tables["wordings"]
    assert {"ucerf", "flip_rate", "accuracy"} <= set(spreads["metric"]) and (spreads["wordings"] == 3).all()
    accuracy = spreads[(spreads["metric"] == "accuracy") & (spreads["type"] == "type2")].iloc[0]
    assert accuracy["lowest"] <= accuracy["value"] <= accuracy["highest"]
    components = tables["components"]
    assert set(components["quantity"]) == {"certainty", "D", "U"}
    by_run = components[(components["type"] == "type2") & (components["quantity"] == "certainty")].groupby("model")
    assert all(rows["share"].sum() == pytest.approx(1) for _, rows in by_run)
    ucerf = tables["wording_ucerf"]
    assert ucerf["wording"].str.startswith("worst: ").sum() == 2 * 3, "each run, resolvable, ambiguous and signed"
    assert len(tables["wording_orders"]) == 3


def test_a_spread_has_the_measured_ends_of_the_wordings(worded_runs: list[Path]) -> None:
    run = Run(worded_runs[0])
    measured = run.parts[0].measured
    for part in wording_parts([run], Resamples(resamples=20)):
        for spread in part.spreads:
            labels = measured.values_of("wording", part.part.kind)
            rows = {name: measured.at(spread.metric, label) for name, label in labels.items()}
            values = {name: row.value for name, row in rows.items() if row is not None}
            assert (spread.lowest[0], spread.highest[0]) == (min(values, key=values.get), max(values, key=values.get))
            assert spread.highest[1].value == max(values.values())
            assert spread.deviation == pytest.approx(np.std(list(values.values()), ddof=1))


def test_a_run_with_one_wording_has_no_study(planted_run: Path) -> None:
    assert wording_parts([Run(planted_run)], Resamples(resamples=20)) == []


def test_the_tables_are_as_they_were_kept(worded_runs: list[Path]) -> None:
    runs = [Run(folder) for folder in worded_runs]
    assert_kept("comparing/wordings", frames(wording_parts(runs, Resamples(resamples=40))))


def test_a_wording_is_the_mean_over_its_orders_and_of_its_type_alone() -> None:
    def row(group: str, value: float, metric: str = "ucerf") -> Measurement:
        estimate = Estimate(value, value - 0.1, value + 0.2, 0.9, 30, "m")
        return Measurement(metric, "m", "d", "t", group, estimate, "higher")

    rows = [
        row("seed=1,type=type2,wording=a", 0.4),
        row("seed=2,type=type2,wording=a", 0.6),
        row("type=type2,wording=b", 0.7),
        row("type=type1,wording=b", 0.1),
        row("gender=male,type=type2,wording=b", 0.1),
        row("type=type2", 0.1),
        row("seed=1,type=type2", 0.1),
        row("type=type2,wording=b", 0.1, "accuracy"),
        row("wording=c", 0.2),
    ]
    found = by_wording(Measurements(rows), "ucerf", "type2")
    assert list(found) == ["a", "b"] and found["b"] == rows[2].estimate
    assert (found["a"].value, found["a"].low, found["a"].high) == pytest.approx((0.5, 0.4, 0.7))
    assert (found["a"].level, found["a"].n, found["a"].method) == (0.9, 30, "m")
    assert list(by_wording(Measurements(rows), "ucerf", "")) == ["c"]
    assert by_wording(Measurements(rows), "flip_rate", "type2") == {}


def test_what_is_undefined_for_a_type_has_no_study(worded_runs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    study, made = wordings.wording_study, []

    def sometimes(*given: Any) -> Any:
        made.append(given)
        if len(made) == 1:
            raise UndefinedMetric("nothing to compare")
        return study(*given)

    runs = [Run(folder) for folder in worded_runs]
    every = wording_parts(runs, Resamples(resamples=10))
    monkeypatch.setattr(wordings, "wording_study", sometimes)
    left = wording_parts(runs, Resamples(resamples=10))
    told = [[(part.part.kind, part.part.metric.name) for part in several] for several in (every, left)]
    assert len(made) == len(every) > 1 and told[1] == told[0][1:]


def test_what_was_measured_is_known_over_all_wordings_and_by_each(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(wordings, "known_of", lambda *given: asked.append(given) or {("a", ""): 1})
    monkeypatch.setattr(wordings, "by_wording", lambda measured, metric, kind: {f"{measured} {metric} {kind}": 2})
    runs: Any = [SimpleNamespace(name="a"), SimpleNamespace(name="b")]
    matched: Any = SimpleNamespace(measured=["first", "second"])
    known = wordings._known(runs, matched, "type1", "ucerf")
    assert known == {("a", ""): 1, ("a", "first ucerf type1"): 2, ("b", "second ucerf type1"): 2}
    assert asked == [(runs, matched, "type1", {"": "ucerf", wordings.FLIPS: "flip_rate"})]
