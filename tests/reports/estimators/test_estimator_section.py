"""The page's section on estimators and wordings, and what `equipoise sensitivity` says of wordings."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from equipoise.reports.estimators.section import estimators
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.run import audit
from equipoise.runs import Run
from equipoise.scoring.planted.stereotype import PlantedEngine

WORDINGS = """
[[wording]]
name = "one"
beginning = '{text} Here "{pronoun}" is the'
choice = '{text} Here "{pronoun}" is'
[[wording]]
name = "two"
beginning = '{text} Who is "{pronoun}"? It is the'
choice = '{text} Who is "{pronoun}"?'
[[wording]]
name = "three"
beginning = '{text} The pronoun "{pronoun}" means the'
choice = '{text} The pronoun "{pronoun}" means'
"""


@pytest.fixture(scope="module")
def worded(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("worded")
    (folder / "three.toml").write_text(WORDINGS, encoding="utf-8")
    choices = {"wordings": str(folder / "three.toml"), "by": [], "limit": 80, "resamples": 40}
    choices |= {"metrics": ["ucerf", "ucerf_signed", "flip_rate", "accuracy"]}
    for name, engine in (
        ("even", PlantedEngine(strength=2, bias=0.2, noise=0.5, wording=1.0)),
        ("biased", PlantedEngine(strength=1, bias=2.0, noise=0.5, wording=1.0)),
    ):
        audit(engine, out=folder / name, estimators=["perplexity", "margin", "prompt-ensemble"], **choices)
    return [folder / "even", folder / "biased"]


def test_the_section_has_a_chart_for_estimators_and_one_for_wordings(worded: list[Path]) -> None:
    section = estimators(Run(worded[0]))
    assert section is not None
    for name in ("margin", "prompt-ensemble", "one", "two", "three"):
        assert f">{name}</text>" in section.body
    measured = Run(worded[0]).parts[0].measured.get("ucerf_margin", type="type2")
    assert measured is not None and f"{measured.value:.3f}" in section.body


def test_a_run_with_one_estimator_and_one_wording_has_no_section(planted_run: Path) -> None:
    assert estimators(Run(planted_run)) is None


def test_sensitivity_shows_spread_components_worst_wording_and_order(worded: list[Path], tmp_path: Path) -> None:
    words = ["sensitivity", *map(str, worded), "--out", str(tmp_path), "--resamples", "40"]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    printed = " ".join(result.output.split())
    assert "in the worst (" in printed and "is the wording" in printed and "for all wordings together" in printed
    spreads = pd.read_csv(tmp_path / "wordings.csv")
    assert {"ucerf", "flip_rate", "accuracy"} <= set(spreads["metric"]) and (spreads["wordings"] == 3).all()
    accuracy = spreads[(spreads["metric"] == "accuracy") & (spreads["type"] == "type2")].iloc[0]
    assert accuracy["lowest"] <= accuracy["value"] <= accuracy["highest"]
    components = pd.read_csv(tmp_path / "components.csv")
    assert set(components["quantity"]) == {"certainty", "D", "U"}
    by_run = components[(components["type"] == "type2") & (components["quantity"] == "certainty")].groupby("model")
    assert all(rows["share"].sum() == pytest.approx(1) for _, rows in by_run)
    ucerf = pd.read_csv(tmp_path / "wording_ucerf.csv")
    assert ucerf["wording"].str.startswith("worst: ").sum() == 2 * 3, "each run, resolvable, ambiguous and signed"
    assert len(pd.read_csv(tmp_path / "wording_orders.csv")) == 3
