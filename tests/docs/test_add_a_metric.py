"""The how-to's metric works exactly as printed, and keeps the promises of its row."""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from equipoise.metrics.columns import COLUMNS
from equipoise.records import UndefinedMetric


@pytest.fixture
def page(guide) -> Any:
    return guide("plug-ins.md", "A metric")


@pytest.mark.slow
def test_the_commands_of_the_page_work(page) -> None:
    audit, measure, compare, gate = [shlex.split(command)[1:] for command in page.commands]
    small = ["--limit", "80", "--resamples", "50", "--no-html"]
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
    listed = page.run("list", "metrics").stdout
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


ADDED = """
import numpy as np

from equipoise.metrics import METRICS, Metric, identities
from equipoise.metrics.groups import mean
from sure_and_wrong import SURE_AND_WRONG


def settled_share(u, *, weights=None):
    return mean(np.where(np.isnan(u), np.nan, u >= 0.9), weights=weights)


def pair_overconfidence(y, p, *, weights=None):
    right = np.where(np.isnan(y), np.nan, np.where(p == 0.5, 0.5, (p > 0.5) == (y == 1)))
    return mean(np.maximum(p, 1 - p) - right, weights=weights)


ROWS = (
    SURE_AND_WRONG,
    Metric("settled_share", settled_share, ("u",), "higher", "Settled sets", "share of sets with U of 0.9 or more",
           bounds=(0, 1), unit="sets", estimated=True),
    Metric("pair_overconfidence", pair_overconfidence, ("y", "p"), "lower", "Overconfidence of pairs",
           "mean confidence - share of right predictions", bounds=(-1, 1), applies_to="labelled pairs"),
    Metric("pair_loss", identities.drop, ("confidence_pair", "marked"), "lower", "Pair loss",
           "confidence given one of the two, unmarked - marked", bounds=(-2, 2), unit="identity",
           applies_to="labelled"),
)
METRICS.update({metric.name: metric for metric in ROWS})
"""
"""A plug-in of pytest that adds four rows to the table before the tests are collected."""


@pytest.mark.slow
def test_a_new_row_fails_none_of_our_tests(page, tmp_path: Path) -> None:
    (tmp_path / "added_rows.py").write_text(ADDED, encoding="utf-8")
    root = Path(__file__).resolve().parents[2]
    files = ["test_invariants.py", "reference/test_planted_recovery.py", "reference/test_planted_mixtures.py"]
    files += ["measuring/test_pinned.py"]
    names = ("sure_and_wrong", "settled_share", "pair_overconfidence", "pair_loss")
    chosen = " or ".join((*names, "owns_its_facts", "test_planted", "test_pinned"))
    options = ["-q", "-p", "added_rows", "-p", "no:cacheprovider", "-m", "not slow", "-k", chosen]
    paths = [str(tmp_path), str(page.folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *(str(root / "tests" / file) for file in files)],
        cwd=root,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert tested.returncode == 0, tested.stdout[-3000:] + tested.stderr[-1000:]
    assert int(tested.stdout.rsplit(" passed", 1)[0].split()[-1]) > 150
