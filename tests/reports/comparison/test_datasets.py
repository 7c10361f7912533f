"""One model on two datasets with different sentences: independent differences, and ranks that move."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from equipoise.reports.comparison.datasets import are_apart, between_datasets
from typer.testing import CliRunner

import equipoise
from equipoise.cli import app
from equipoise.records import EquipoiseError, Estimate
from equipoise.stats.independent import independent_difference

QUICK = {"resamples": 60, "progress": False, "metrics": ["ucerf", "accuracy"]}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return runs of two planted models on the built-in sentences and on a table of six of our own."""
    folder = tmp_path_factory.mktemp("runs")
    table = folder / "mine.csv"
    rows = [
        f"The nurse {verb} the pilot because {pronoun} was tired.,nurse,pilot,nurse,{pronoun},{number}"
        for number, verb in enumerate(("called", "met", "thanked"))
        for pronoun in ("he", "she")
    ]
    table.write_text("\n".join(["text,candidate_1,candidate_2,gold,pronoun,pair", *rows, ""]), encoding="utf-8")
    for name, bias in (("weak", 0.2), ("strong", 3)):
        engine = f"planted:strength=1,bias={bias}"
        equipoise.audit(engine, ["builtin", str(table)], out=folder / name, **QUICK)
    return [str(folder / "weak"), str(folder / "strong")]


def test_each_difference_is_of_its_own_run_and_ranks_are_of_each_dataset(folders: list[str]) -> None:
    moved = between_datasets(folders, ("builtin", "mine"), metrics=("ucerf", "accuracy"))
    assert {row.metric for row in moved} == {"accuracy", "ucerf"} and len(moved) >= 2
    for row in moved:
        folder = folders[0] if "weak" in row.run or "0.2" in row.run else folders[1]
        values = [
            part.measured.get(row.metric, type=row.kind)
            for part in equipoise.load(folder).parts
            if part.dataset in ("builtin", "mine")
        ]
        assert [row.values[0].value, row.values[1].value] == [value.value for value in values if value]
        assert row.difference.value == pytest.approx(row.values[0].value - row.values[1].value)
        assert row.difference.low < row.difference.value < row.difference.high
        assert row.ranks is not None and set(row.ranks) <= {1, 2}


def test_the_interval_of_a_difference_comes_from_both_and_covers() -> None:
    first, second = (Estimate(v, v - 0.03, v + 0.04, 0.95, 100, "") for v in (0.8, 0.7))
    difference = independent_difference(first, second)
    assert difference.low == pytest.approx(0.1 - math.hypot(0.03, 0.04))
    assert difference.high == pytest.approx(0.1 + math.hypot(0.04, 0.03))
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(400):
        means = [rng.normal(truth, 0.1, 50) for truth in (0.5, 0.3)]
        ends = [(m.mean(), 1.96 * m.std(ddof=1) / math.sqrt(50)) for m in means]
        estimates = [Estimate(m, m - r, m + r, 0.95, 50, "") for m, r in ends]
        made = independent_difference(*estimates)
        hits += made.low <= 0.2 <= made.high
    assert 0.91 < hits / 400 < 0.98


def test_datasets_are_apart_unless_one_is_the_neutral_form_of_the_other(folders: list[str]) -> None:
    assert are_apart(("winobias", "synthbias")) and not are_apart(("genderlex", "genderlex-someone"))
    with pytest.raises(EquipoiseError, match=r"has no dataset 'synthbias' in .*; there are builtin, mine"):
        between_datasets(folders, ("builtin", "synthbias"))


def test_two_runs_of_a_model_may_have_a_dataset_each(folders: list[str], tmp_path: Path) -> None:
    other = equipoise.audit("planted:strength=1,bias=0.2", "builtin", out=tmp_path / "other", **QUICK)
    with pytest.raises(EquipoiseError, match="has no dataset 'mine'"):
        between_datasets([str(other.path)], ("builtin", "mine"))
    table = Path(folders[0]).parent / "mine.csv"
    equipoise.audit("planted:strength=1,bias=0.2", str(table), out=tmp_path / "mine", **QUICK)
    joined = between_datasets([str(other.path), str(tmp_path / "mine")], ("builtin", "mine"), metrics=("accuracy",))
    whole = between_datasets([folders[0]], ("builtin", "mine"), metrics=("accuracy",))
    assert [row.difference.value for row in joined] == [row.difference.value for row in whole]


def test_the_command_writes_a_page_and_prints_what_holds(folders: list[str], tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    result = CliRunner().invoke(app, ["compare", folders[0], "--data", "builtin", "--data", "mine", "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "differences between the datasets hold after correction" in result.output
    assert "builtin and mine" in out.read_text(encoding="utf-8")
