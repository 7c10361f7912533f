"""Studies of estimators on run folders, and what `equipoise study estimators` writes of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from kept_texts import assert_kept
from plug_in import write_plug_in
from typer.testing import CliRunner

from equipoise import compare, remeasure
from equipoise.cli import app
from equipoise.comparing import estimators as module
from equipoise.comparing.estimators import estimator_studies, frames
from equipoise.measuring.estimators import Resamples
from equipoise.metrics import METRICS
from equipoise.records import EquipoiseError, UndefinedMetric
from equipoise.runs import Run


@pytest.fixture(scope="module")
def written(planted_run: Path, mild_run: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    out = tmp_path_factory.mktemp("estimators")
    words = ["study", "estimators", str(planted_run), str(mild_run), "--out", str(out), "--resamples", "60"]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output, out


def test_perplexity_gives_the_runs_own_ucerf(written: tuple[str, Path], planted_run: Path) -> None:
    table = pd.read_csv(written[1] / "estimators.csv")
    run = Run(planted_run)
    (part,) = run.parts
    for kind in part.kinds:
        rows = table[(table["type"] == kind) & (table["metric"] == "ucerf") & (table["estimator"] == "perplexity")]
        measured = part.measured.get("ucerf", type=kind)
        assert measured is not None
        ours = rows[rows["model"].str.contains("strong")].iloc[0]
        assert (ours["value"], ours["n"]) == (pytest.approx(measured.value), measured.n)


def test_all_files_are_there_and_say_the_same(written: tuple[str, Path], planted_run: Path) -> None:
    output, out = written
    printed = " ".join(output.split())  # a terminal folds long lines
    document = json.loads((out / "estimators.json").read_text(encoding="utf-8"))
    assert len(document["answers"]) == 3 and all(answer in printed for answer in document["answers"])
    agreement = pd.read_csv(out / "agreement.csv")
    assert set(agreement["over"]) == {"models", "occupations", "sets"}
    assert agreement["value"].dropna().between(-1, 1).all() and len(document["agreement"]) == len(agreement)
    assert (out / "ucerf-builtin-next-word-type2.png").read_bytes().startswith(b"\x89PNG")
    sides = pd.read_csv(out / "sides.csv")
    assert len(sides) and set(sides["set_id"]) <= set(Run(planted_run).pairs["set_id"])


def test_one_run_compares_its_sets(mild_run: Path) -> None:
    studies = estimator_studies([Run(mild_run)], Resamples(resamples=20))
    assert len(studies.parts) == 3 and not any(part.study.orders for part in studies.parts)
    assert set(frames(studies)) == {"estimators", "agreement", "sides"}, "no orders of one run"


def test_only_the_estimators_that_were_asked_for_are_studied(mild_run: Path) -> None:
    studies = estimator_studies([Run(mild_run)], Resamples(resamples=20), estimators=["perplexity", "entropy"])
    assert all(list(part.study.values.estimators) == ["perplexity", "entropy"] for part in studies.parts)
    assert not studies.covered, "nobody asked about conformal sets"


def test_too_few_sets_are_refused(make_run: Callable[..., Path]) -> None:
    with pytest.raises(EquipoiseError, match="at least 30 counterfactual sets"):
        estimator_studies([Run(make_run("tiny", limit=10))], Resamples(resamples=20))


def test_different_sentences_are_refused(make_run: Callable[..., Path], mild_run: Path) -> None:
    other = make_run("few", limit=10)
    result = CliRunner().invoke(app, ["study", "estimators", str(mild_run), str(other)])
    assert result.exit_code != 0 and "different items" in str(result.exception)


def test_human_labels_are_studied_where_there_are_some(cloze_runs: tuple[Path, Path], tmp_path: Path) -> None:
    words = ["study", "estimators", *map(str, cloze_runs), "--out", str(tmp_path), "--resamples", "60"]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    table = pd.read_csv(tmp_path / "human.csv")
    assert {"agreement", "auroc", "calibration_error", "overconfidence", "ahead"} == set(table["statistic"])
    # The other run agrees with people everywhere: there is nothing that a certainty could tell.
    assert set(table["model"]) == {"planted (far)"} and (table["n"] > 30).all()
    document = json.loads((tmp_path / "estimators.json").read_text(encoding="utf-8"))
    assert len(document["answers"]) == 1 and "AUROC" in document["answers"][0]
    covered = pd.read_csv(tmp_path / "conformal.csv")
    assert (covered["high"] >= 0.9).all() and len(covered) == 2
    assert "conformal sets hold the right answer" in " ".join(result.output.split())


def test_the_tables_are_as_they_were_kept(planted_run: Path, mild_run: Path, cloze_runs: tuple[Path, Path]) -> None:
    pairs = estimator_studies([Run(folder) for folder in cloze_runs], Resamples(resamples=40))
    both = estimator_studies([Run(planted_run), Run(mild_run)], Resamples(resamples=40))
    tables = {name: table.head(60) for name, table in frames(both).items()}
    assert_kept("comparing/estimators", tables, frames(pairs))


def test_estimators_that_are_one_have_the_measurement_of_the_first(worded_runs: list[Path]) -> None:
    run = Run(worded_runs[0])
    names = ["margin", "top-probability"]
    studies = estimator_studies([run], Resamples(resamples=20), estimators=names)
    for part in studies.parts:
        measured = run.parts[0].measured.get(f"{part.metric.name}_margin", type=part.kind)
        (standing,) = part.study.standings
        assert standing.estimator == "margin, top-probability" and measured is not None
        assert standing.ucerf == measured.estimate


def test_ucerf_is_studied_where_all_items_have_a_right_answer_and_both_measures_where_none_has() -> None:
    answerable = np.array([True, True, False, False, True, False])
    rows = {"all": [0, 1], "none": [2, 3], "mixed": [4, 5]}
    matched: Any = SimpleNamespace(
        kinds=[*rows], rows=lambda kind: rows[kind], outcomes=[SimpleNamespace(answerable=answerable)]
    )
    told = [(found is matched, kind, metric.name) for found, kind, metric in module.measures([matched])]
    assert told == [(True, "all", "ucerf"), *((True, "none", name) for name in module.MEASURES)]


def test_thirty_sentences_that_people_labelled_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    labelled, asked = [True], []
    monkeypatch.setattr(module, "Items", lambda outcomes: outcomes)
    monkeypatch.setattr(module, "is_labelled_by_people", lambda items: labelled[0])
    monkeypatch.setattr(module, "usable_estimators", lambda items: ["all of", *items])
    monkeypatch.setattr(module, "label_study", lambda *given: asked.append(given) or "studied")

    def studied(sentences: int, chosen: Any = ()) -> Any:
        outcomes = SimpleNamespace(cluster_id=np.repeat(np.arange(sentences), 2))
        part: Any = SimpleNamespace(outcomes=outcomes)
        return module._label_study(part, chosen, "plan"), outcomes  # type: ignore[arg-type]

    assert studied(29)[0] is None
    told, outcomes = studied(30)
    assert told == "studied" and asked == [(outcomes, ["all of", outcomes], "plan")]
    studied(30, ["some"])
    assert asked[-1][1] == ["some"]

    def undefined(*_: Any) -> None:
        raise UndefinedMetric("nothing to tell")

    monkeypatch.setattr(module, "label_study", undefined)
    assert studied(31)[0] is None
    labelled[0] = False
    monkeypatch.setattr(module, "label_study", lambda *given: "studied")
    assert studied(31)[0] is None


@pytest.mark.parametrize("clusters", [29, 30])
def test_thirty_sets_are_enough_for_a_study(monkeypatch: pytest.MonkeyPatch, clusters: int) -> None:
    values = SimpleNamespace(clusters=np.repeat(np.arange(clusters), 2), estimators=["margin, top-probability"])
    monkeypatch.setattr(module, "items_of", lambda runs, matched: {"run": "items"})
    monkeypatch.setattr(module, "set_values", lambda *given: values)
    monkeypatch.setattr(module, "known_of", lambda runs, matched, kind, names: names)
    monkeypatch.setattr(module, "study", lambda *given: given)
    matched: Any = SimpleNamespace(rows=lambda kind: [0])
    told: Any = module._studied([], matched, "type1", METRICS["ucerf"], ["chosen"], "plan")  # type: ignore[list-item,arg-type]
    names = {"margin, top-probability": "ucerf_margin", module.FLIPS: "flip_rate"}
    assert told == (None if clusters < 30 else (values, "plan", names))


def test_an_estimator_of_another_package_is_studied_shown_and_compared(
    planted_run: Path, mild_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (
        "from equipoise.uncertainty import Estimator\n"
        "def flat(probs):\n    return (1 - (probs**2).sum(axis=1)) * probs.shape[1] / (probs.shape[1] - 1)\n"
        "GINI = Estimator('gini', flat, lambda probs: 1 - flat(probs))\n"
    )
    write_plug_in(tmp_path, "equipoise-gini", "[equipoise.estimators]\ngini = equipoise_gini:GINI\n", code)
    monkeypatch.syspath_prepend(str(tmp_path))
    runs = [tmp_path / "strong", tmp_path / "mild"]
    for source, folder in zip((planted_run, mild_run), runs, strict=True):
        shutil.copytree(source, folder)
        remeasure(folder, estimators=["gini"], resamples=60)
    studies = estimator_studies([Run(runs[0])], Resamples(resamples=60), estimators=["gini", "perplexity"])
    (standing,) = [s for s in studies.parts[0].study.standings if s.estimator == "gini"]
    (part,) = Run(runs[0]).parts
    measured = part.measured.get(part.measured.own("ucerf"), type=studies.parts[0].kind)
    assert measured is not None and measured.metric == "ucerf_gini"
    assert standing.ucerf.value == pytest.approx(measured.value)
    tested = {test.row.metric for test in compare(runs, resamples=60).tests}
    assert "ucerf_gini" in tested and "ucerf" not in tested
