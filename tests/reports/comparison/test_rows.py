"""Runs on a dataset and on its neutral form are compared row by row."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from equipoise.reports.comparison.compare import Choices, compare
from equipoise.reports.comparison.rows import joined_clusters

import equipoise
from equipoise.records import EquipoiseError

QUICK = {"resamples": 50, "limit": 40, "progress": False, "metrics": ["ucerf", "accuracy", "certainty"]}
FEW = {"resamples": 50, "permutations": 50, "metrics": ("ucerf", "accuracy"), "progress": False}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("runs")
    for word, bias in (("", 2), ("person", 0.5), ("someone", 1)):
        engine = f"planted:strength=1,bias={bias}"
        equipoise.audit(engine, out=folder / (word or "named"), neutral=word, **QUICK)
    return [folder / name for name in ("named", "person", "someone")]


def test_a_dataset_and_its_neutral_form_are_compared_row_by_row(folders: list[Path]) -> None:
    comparison = compare(folders[:2], **FEW)
    assert comparison.names[0].endswith("(builtin)") and comparison.names[1].endswith("(builtin-person)")
    (matched,) = comparison.matches
    assert matched.dataset == "builtin" and matched.dropped == 0
    runs = [equipoise.load(folder) for folder in folders[:2]]
    (test,) = [t for t in comparison.tests if t.metric == "ucerf" and "type2" in t.group]
    values = [run.parts[0].measured.get("ucerf", type="type2") for run in runs]
    assert values[0] is not None and values[1] is not None
    assert test.difference.value == pytest.approx(values[0].value - values[1].value)
    assert len(matched.outcomes[0]) == len(runs[0].parts[0].items)


def test_datasets_of_one_run_are_compared_with_each_other(folders: list[Path], tmp_path: Path) -> None:
    run = equipoise.audit("planted:bias=1", ["builtin", "builtin"][:1], out=tmp_path / "one", **QUICK)
    with pytest.raises(EquipoiseError, match="has no dataset 'genderlex'; it has builtin"):
        compare([run], Choices(data=("builtin", "genderlex")))
    with pytest.raises(EquipoiseError, match="at least two runs, or two datasets of one run"):
        compare([run], Choices(data=("builtin",)))


def test_rows_that_share_a_cluster_in_either_run_are_resampled_together() -> None:
    first, second = pd.Series(["a", "a", "b", "c", "d"]), pd.Series(["x", "y", "y", "z", "w"])
    assert joined_clusters([first, second]) == ["0", "0", "0", "3", "4"]
