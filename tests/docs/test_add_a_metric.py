"""The how-to's metric works exactly as printed, and keeps the promises of its row."""

from __future__ import annotations

import importlib.util
import json
import shlex
from typing import Any

import numpy as np
import pandas as pd
import pytest

from equipoise.metrics.columns import COLUMNS
from equipoise.records import UndefinedMetric


@pytest.fixture
def page(guide) -> Any:
    return guide("add-a-metric.md")


@pytest.mark.slow
def test_the_commands_of_the_page_work(page) -> None:
    audit, measure, compare, gate = [shlex.split(command)[1:] for command in page.commands]
    small = ["--limit", "20", "--resamples", "50", "--no-html"]
    # The planted engine stands in for the page's model: the answers are not the point here.
    ran = page.run("audit", "planted:strength=1,noise=2", *audit[2:], *small)
    assert ran.returncode == 0, ran.stderr
    other = page.run("audit", "planted:strength=2", *audit[2:-1], "runs/other", *small)
    assert other.returncode == 0, other.stderr
    measured = page.run(*measure, "--json")
    assert measured.returncode == 0, measured.stderr
    rows = json.loads(measured.stdout)
    rows = rows["measurements"] if isinstance(rows, dict) else rows
    assert {row["metric"] for row in rows} == {"sure_and_wrong", "ucerf"}
    table = pd.read_csv(page.folder / "runs" / "sure" / "measurements.csv")
    table = table.query("group == 'type=type2' and metric == 'sure_and_wrong'")
    outcomes = pd.read_parquet(page.folder / "runs" / "sure" / "outcomes.parquet").query("type == 'type2'")
    share = ((outcomes["correct"] == 0) & (outcomes["certainty"] > 0.5)).mean()
    assert table["value"].item() == pytest.approx(share) and 0 < share < 1
    compared = page.run(*compare)
    assert compared.returncode == 0, compared.stderr
    gated = page.run(*gate)
    low, high = table["low"].item(), table["high"].item()
    assert gated.returncode == (0 if high <= 0.2 else 1 if low > 0.2 else 3), gated.stderr
    listed = page.run("metrics").stdout
    line = next(line for line in listed.splitlines() if line.startswith("sure_and_wrong"))
    assert "share of items answered wrong with certainty above 0.5" in line


def test_the_row_keeps_its_promises(page) -> None:
    spec = importlib.util.spec_from_file_location("sure_and_wrong", page.folder / "sure_and_wrong.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    metric = module.SURE_AND_WRONG
    assert set(metric.inputs) <= set(COLUMNS)
    random = np.random.default_rng(0)
    correct, certainty = random.integers(0, 2, 200).astype(float), random.random(200)
    value, order = metric.function(correct, certainty), random.permutation(200)
    assert metric.bounds[0] <= value <= metric.bounds[1]
    assert metric.function(correct[order], certainty[order]) == pytest.approx(value)
    weights = random.integers(0, 3, (200, 4))
    repeated = [metric.function(np.repeat(correct, w), np.repeat(certainty, w)) for w in weights.T]
    assert metric.function(correct, certainty, weights=weights) == pytest.approx(repeated)
    assert metric.function(np.ones(5), np.ones(5)) == 0 and metric.function(np.zeros(5), np.ones(5)) == 1
    with pytest.raises(UndefinedMetric):
        metric.function(np.array([]), np.array([]))
