"""The items that runs have in common: the same sentences or none, a dataset and its neutral form, and ranks."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import equipoise
from equipoise.comparing.comparison import Choices, compare
from equipoise.comparing.matching import joined_clusters, match, named_apart
from equipoise.records import EquipoiseError
from equipoise.report import comparison_page
from equipoise.runs.run import Run

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
    (test,) = [t for t in comparison.tests if t.row.metric == "ucerf" and "type2" in t.row.group]
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


def test_runs_on_other_sentences_are_refused_unless_intersected(make_run: Callable[..., Path], mild_run: Path) -> None:
    fewer = make_run("fewer", limit=40, by=[], strength=1.0, bias=1.2)
    with pytest.raises(EquipoiseError, match=r"80 of up to 160 are the same sentences.*--intersect"):
        compare([fewer, mild_run])
    both = compare([fewer, mild_run], Choices(permutations=50, resamples=50, intersect=True))
    (matched,) = both.matches
    assert len(matched.outcomes[0]) == len(matched.outcomes[1]) == 80 and matched.dropped == 80
    sets = Run(mild_run).pairs
    common = sets[sets["set_id"].isin(set(matched.outcomes[0].set_id)) & (sets["type"] == "type2")]
    assert matched.measured[1].get("ucerf", type="type2").value == pytest.approx(common["u"].mean())
    assert "80 items of builtin" in comparison_page(both)


def test_the_same_id_with_another_text_is_another_item(mild_run: Path, tmp_path: Path) -> None:
    changed = shutil.copytree(mild_run, tmp_path / "changed")
    examples = Run(changed).examples
    examples.loc[0, "text"] = "Quite another sentence."
    Run(changed).folder.add({"examples.parquet": examples})
    with pytest.raises(EquipoiseError, match="159 of up to 160"):
        compare([changed, mild_run])
    matched = compare([changed, mild_run], Choices(permutations=20, resamples=20, intersect=True)).matches[0]
    assert len(matched.outcomes[0]) == 158  # half a pair compares nobody


def test_ranks_follow_each_metric_and_ties_share_one(planted_run: Path, mild_run: Path) -> None:
    (matched,) = match([Run(planted_run), Run(mild_run)], intersect=False)
    assert matched.ranks("ucerf", "type2") == [2, 1]
    assert matched.ranks("eo_sum", "type2") == [2, 1]
    assert matched.ranks("perplexity", "type2") == [None, None]
    # Where nothing is right, a model that hesitates is better.
    hesitates = [measured.get("perplexity", type="type1").value for measured in matched.measured]
    assert matched.ranks("perplexity", "type1") == ([1, 2] if hesitates[0] > hesitates[1] else [2, 1])
    assert matched.ranks("nonsense", "type2") == [None, None]
    twice = replace(matched, measured=[matched.measured[0]] * 2)
    assert twice.ranks("ucerf", "type2") == [1, 1]


def test_runs_of_one_model_are_named_by_their_folders(planted_run: Path, mild_run: Path) -> None:
    assert [run.name for run in named_apart([Run(planted_run)])] == ["planted"]
    assert [run.name for run in named_apart([Run(planted_run), Run(mild_run)])] == [
        "planted (strong)",
        "planted (mild)",
    ]
