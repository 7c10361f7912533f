"""The items that runs have in common: the same sentences or none, a dataset and its neutral form, and ranks."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept_texts import assert_kept

import equipoise
from equipoise.comparing import matching
from equipoise.comparing.comparison import Choices, compare
from equipoise.comparing.matching import (
    joined_clusters,
    match,
    matched_parts,
    named_apart,
    opened,
    places,
    shared_estimators,
)
from equipoise.records import DatasetError, EquipoiseError
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
    with pytest.raises(EquipoiseError, match=r"80 of up to 160 are the same sentences.*intersect"):
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


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8))
def test_a_place_counts_those_that_are_better(values: list[int]) -> None:
    assert places([float(v) for v in values], "lower") == [1 + sum(o < v for o in values) for v in values]
    assert places([float(v) for v in values], "higher") == [1 + sum(o > v for o in values) for v in values]


class Listed:
    """A run of which only the settings are asked for."""

    def __init__(self, *estimators: str) -> None:
        self.manifest: Any = type("", (), {"settings": {"estimators": list(estimators)} if estimators else {}})()


def test_runs_are_compared_by_perplexity_or_what_else_all_have() -> None:
    def shared(*runs: Listed) -> list[str]:
        return [estimator.name for estimator in shared_estimators(list(runs))]  # type: ignore[arg-type]

    assert shared(Listed(), Listed()) == ["perplexity"]
    assert shared(Listed("margin", "perplexity"), Listed("perplexity", "margin")) == ["perplexity"]
    assert shared(Listed("margin", "renyi", "entropy"), Listed("entropy", "margin")) == ["margin", "entropy"]
    assert shared(Listed("margin"), Listed("renyi")) == ["perplexity"]
    assert shared(Listed("conformal"), Listed("conformal")) == ["perplexity"], "one over labels is not enough"
    assert shared(Listed("margin"), Listed()) == ["perplexity"]
    assert shared(Listed("mine", "margin"), Listed("mine", "margin")) == ["margin"]


def test_what_runs_do_not_share_is_refused_in_whole_sentences(
    folders: list[Path], make_run: Callable[..., Path], mild_run: Path, tmp_path: Path
) -> None:
    control = equipoise.audit("planted:bias=1", "gendered:control", out=tmp_path / "control", **QUICK)
    runs = named_apart([Run(mild_run), Run(control.path)])
    with pytest.raises(EquipoiseError) as error:
        match(runs, intersect=False)
    other = "which another run has; intersect compares what all have"
    assert str(error.value) == f"{control.path} has no builtin · next-word, {other}"
    with pytest.raises(EquipoiseError) as error:
        match(runs, intersect=True)
    assert str(error.value) == "the runs have no item in common, so there is nothing to compare"
    few = make_run("five", limit=5, by=[])
    with pytest.raises(EquipoiseError) as error:
        match([Run(few), Run(mild_run)], intersect=False)
    asked = (
        "the runs were asked different items of builtin · next-word (10 of up to 160 are the same sentences with the"
    )
    assert str(error.value) == f"{asked} same options); intersect compares those alone"
    ze = equipoise.audit("planted:bias=1", pronouns=["he", "ze"], out=tmp_path / "ze", **QUICK)
    pronouns = "the runs were asked with different pronouns (he, she; he, ze), so no counterfactual set is the same and"
    for intersect in (True, False):
        with pytest.raises(EquipoiseError) as error:
            match([Run(mild_run), Run(ze.path)], intersect=intersect)
        assert str(error.value) == f"{pronouns} nothing can be compared; audit them again with the same ones"
    with pytest.raises(EquipoiseError, match=r"^the same run is named twice; a comparison needs different ones$"):
        named_apart([Run(mild_run), Run(mild_run)])


def test_conditions_choose_whole_sets_and_one_that_nothing_meets_is_refused(planted_run: Path, mild_run: Path) -> None:
    runs = named_apart([Run(planted_run), Run(mild_run)])
    (ambiguous,) = match(runs, intersect=False, where=["type=type1"])
    assert set(ambiguous.outcomes[0].group("type")) == {"type1"} and ambiguous.kinds == ["type1"]
    assert ambiguous.dropped == 160 - len(ambiguous.outcomes[0]) and len(ambiguous.rows("type1")) == len(
        ambiguous.rows("")
    )
    assert not ambiguous.answerable("type1").any() and str(ambiguous) == "builtin · next-word"
    assert ambiguous.title("type1") == "builtin · next-word, ambiguous (type 1)"
    assert ambiguous.about("type1") == {"dataset": "builtin", "task": "next-word", "type": "type1"}
    with pytest.raises(EquipoiseError):
        match(runs, intersect=False, where=["type=type9"])
    with pytest.raises(EquipoiseError, match=r"^the runs have no item in common, so there is nothing to compare$"):
        match(runs, intersect=False, where=["gender=male"])  # half of every set
    rows = [list(measured)[:4] for measured in ambiguous.measured]
    assert_kept("comparing/matched", rows, ambiguous.items[0].members[:3], ambiguous.items[0].clusters[:6])


def test_three_runs_of_a_model_and_neutral_forms_are_named_apart(
    folders: list[Path], mild_run: Path, twin_run: Path
) -> None:
    names = [run.name for run in opened(folders)]
    assert [name.partition(" ")[2] for name in names] == ["(builtin)", "(builtin-person)", "(builtin-someone)"]
    assert [run.only for run in opened(folders)] == ["builtin", "builtin-person", "builtin-someone"]
    assert [run.only for run in opened(folders[:1])] == [""] == [run.only for run in opened([Run(folders[1])])]
    assert [run.name for run in opened([mild_run, twin_run])] == ["planted (mild)", "planted (twin)"]
    both = opened([mild_run, twin_run], ["builtin"])
    assert [run.only for run in both] == ["builtin", "builtin"]
    with pytest.raises(EquipoiseError) as error:
        opened([mild_run], ["winobias"])
    assert str(error.value) == f"the run in {mild_run} has no dataset 'winobias'; it has builtin"
    parts = [part for path in (mild_run, twin_run) for part in Run(path).parts]
    assert matched_parts(parts).dropped == 0 and len(matched_parts(parts).outcomes[1]) == 160


def test_a_dataset_that_meets_no_condition_is_left_out_where_another_does(tmp_path: Path) -> None:
    quick = {"limit": 4, "resamples": 20, "progress": False, "metrics": ["accuracy"]}
    both = [
        Run(equipoise.audit(f"planted:bias={bias}", ["gendered:control", "builtin"], out=tmp_path / bias, **quick).path)
        for bias in ("1", "2")
    ]
    assert [matched.dataset for matched in match(both, intersect=False)] == ["gendered-control", "builtin"]
    (only,) = match(both, intersect=False, where=["type=type1"])
    assert only.dataset == "builtin"
    with pytest.raises(DatasetError) as refused:
        match(both, intersect=False, where=["type=type9"])
    first = f"gendered-control in {both[0].path} has nothing with type=type9; known: type3"
    assert str(refused.value) == first, "the first fault, and of the first run"
    alone = Run(equipoise.audit("planted:bias=3", "builtin", out=tmp_path / "3", **quick).path)
    for intersect in (True, False):
        found = match([both[0], alone], intersect=intersect)
        assert [matched.dataset for matched in found] == ["builtin"], "what follows a control of one run is compared"


def test_parts_without_a_whole_set_in_common_are_refused(planted_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(planted_run)
    monkeypatch.setattr(matching, "_whole_sets", lambda parts, shared, common: np.zeros_like(common))
    with pytest.raises(EquipoiseError, match=f"^{matching.NOTHING_SHARED}$"):
        matching.matched_parts(run.parts[:1])


def test_columns_of_examples_are_compared_however_they_are_stored() -> None:
    lists = [["a", "b"], ["c"]]
    for kind in (pa.list_(pa.string()), pa.large_list(pa.large_string())):
        column = matching._comparable(pa.chunked_array([lists], kind))
        assert column.type == pa.string() and column.to_pylist() == ["a|b", "c"]
    assert matching._comparable(pa.chunked_array([[1, None]])).to_pylist() == [1, matching.ABSENT]
