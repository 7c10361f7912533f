"""Studies of estimators on run folders, and what `equipoise study estimators` writes of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from kept_texts import assert_kept
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.comparing.estimators import estimator_studies, frames
from equipoise.measuring.estimators import Resamples
from equipoise.records import EquipoiseError
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
