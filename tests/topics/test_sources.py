"""`equipoise study suite` says what the results of a suite depend on, and draws it."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from kept_texts import assert_kept
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.comparing.sources import Agreement, Carried, Sources, Variation
from equipoise.metrics import METRICS
from equipoise.records import Estimate
from equipoise.records.showing import Finding
from equipoise.stats.attribution import NOISE
from equipoise.topics.sources import agreement_section, sections, variation_section

SUITE = """
out = "{out}"
models = ["planted:bias=0.2,noise=0.5", "planted:bias=0.8,noise=0.5", "planted:bias=1.4,noise=0.5"]
data = ["builtin"]
task = ["next-word", "mcq"]

[settings]
limit = 70
resamples = 20
by = []
metrics = ["ucerf", "flip_rate", "accuracy"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("suite")
    (folder / "suite.toml").write_text(SUITE.format(out=folder / "out"))
    assert CliRunner().invoke(app, ["suite", str(folder / "suite.toml"), "--quiet"]).exit_code == 0
    return folder


@pytest.mark.slow
def test_the_command_names_models_as_the_suite_does_and_writes_tables_and_figures(folder: Path) -> None:
    command = ["study", "suite", str(folder / "out" / "cells"), "--out", str(folder / "sources"), "--resamples", "60"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "of the variation is the model" in result.output
    assert "UCerF and Flip rate order the 3 models alike: Kendall's tau 1.00" in result.output
    names = {path.name for path in (folder / "sources").iterdir()}
    assert {"variation.csv", "agreement.csv", "carried.csv"} <= names
    assert {"sources-ucerf-type2.png", "sources-metrics-type2.png"} <= names
    carried = pd.read_csv(folder / "sources" / "carried.csv")
    assert set(carried["first"]) == {"planted:bias=0.2,noise=0.5", "planted:bias=0.8,noise=0.5"}
    shares = pd.read_csv(folder / "sources" / "variation.csv")
    assert shares[(shares["type"] == "type2") & (shares["source"] != "order of models (tau)")]["value"].sum() == (
        pytest.approx(1)
    )


@pytest.mark.slow
def test_runs_that_are_not_usable_are_left_out_with_the_reason(folder: Path, tmp_path: Path) -> None:
    command = [
        "audit",
        "planted:strength=0,bias=0,noise=0.1",
        "--data",
        "builtin",
        "--limit",
        "70",
        "--resamples",
        "20",
    ]
    assert CliRunner().invoke(app, [*command, "--out", str(tmp_path / "blind"), "--quiet"]).exit_code == 0
    command = ["study", "suite", str(folder / "out" / "cells"), str(tmp_path / "blind"), "--no-figures"]
    result = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "out"), "--resamples", "20"])
    assert result.exit_code == 0 and "left out: planted" in result.output


def share(value: float, reach: float = 0.1) -> Estimate:
    return Estimate(value, value - reach, value + reach, 0.95, 40, "m")


def variation(**changes: Any) -> Variation:
    shares = {"model": share(0.5), "task": share(0.2), "model × task": share(0.05), "model × wording": share(0.15)}
    given = {"levels": {"model": 3, "task": 2, "wording": 1}, "shares": shares | {NOISE: share(0.1)}}
    facts = {"kind": "type2", "metric": METRICS["ucerf"], "deviation": 0.1234, "order": share(0.75), "conditions": 12}
    return Variation(**{**facts, **given, **changes})


def agreement(first: str, second: str, tau: Estimate, conditions: int = 2) -> Agreement:
    return Agreement("type2", METRICS[first], METRICS[second], tau, conditions)


def test_what_is_described_is_as_it_was_kept() -> None:
    """Every branch: a type or none, an order or none, chance as the largest source, and every relation of metrics."""
    chance = variation(
        kind="", order=None, shares={"model": share(0.1), NOISE: share(0.9)}, metric=METRICS["ucerf_signed"]
    )
    unknown = Estimate(0.5, math.nan, math.nan, 0.95, 3, "m")
    agreements = [
        agreement("ucerf", "flip_rate", share(0.8)),
        agreement("ucerf", "eo_sum", share(-0.8), 1),
        agreement("ucerf_signed", "flip_rate", share(0.05)),
        agreement("ucerf_signed", "eo_sum", unknown),
        agreement("flip_rate", "eo_sum", share(0.4)),
    ]
    every = [*agreements, replace(agreements[0], kind="")]
    carried = [Carried(kind, "builtin", "mcq", "a", "b", share(0.3), 4) for kind in ("type2", "type2", "")]
    assert_kept("topics/sources", list(sections(Sources([variation(), chance], every, carried))))


@pytest.mark.parametrize(
    ("low", "value", "high", "words"),
    [
        (0.1, 0.5, 0.9, "alike"),
        (-0.9, -0.5, -0.1, "the other way round"),
        (0.0, 0.5, 0.9, "in no settled relation"),
        (-0.9, -0.5, 0.0, "in no settled relation"),
    ],
)
def test_a_relation_is_settled_where_its_interval_leaves_zero_out(
    low: float, value: float, high: float, words: str
) -> None:
    section = agreement_section([agreement("ucerf", "flip_rate", Estimate(value, low, high, 0.95, 3, "m"), 1)])
    text = f"UCerF and Flip rate order the 3 models {words}: Kendall's tau {value:.2f} [{low:.2f}, {high:.2f}]"
    assert [str(finding) for finding in section.every(Finding)] == [f"{text}, over 1 way to ask."]


def test_nothing_is_said_of_an_order_where_no_model_is_crossed() -> None:
    alone = variation(shares={"model": share(0.9), NOISE: share(0.1)}, order=None)
    assert len(list(variation_section(alone).every(Finding))) == 1
    no_model = variation(shares={"task": share(0.9), "model × task": share(0.1)}, levels={"task": 2}, order=None)
    assert len(list(variation_section(no_model).every(Finding))) == 1
