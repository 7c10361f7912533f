"""The Gender-ECE poster's numbers, recomputed from the released per-item outputs; each disagreement with its reason."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from equipoise.measuring.measure import Plan, measure, measured_items
from equipoise.measuring.recalibration import Splits, recalibrate
from equipoise.metrics.table.calibration import CALIBRATION
from equipoise.records import Outcomes, RunKey
from equipoise.run import import_results
from equipoise.runs import Run
from equipoise.runs.imported import read_results
from equipoise.runs.imported.per_item import Results

NAMES = ("ece", "macroce", "ice", "brier_published", "gender_ece", "male", "female", "human_alignment")
POSTER = {
    ("genderLex", "GPT-J-6B"): (0.076, 0.453, 0.374, 0.432, 0.076, 0.085, 0.066, 0.715),
    ("genderLex", "Qwen2_5-7B"): (0.106, 0.476, 0.422, 0.385, 0.107, 0.052, 0.162, 0.637),
    ("winobias", "GPT-J-6B"): (0.157, 0.444, 0.356, 0.481, 0.164, 0.150, 0.179, 0.686),
    ("winobias", "Qwen2_5-7B"): (0.234, 0.442, 0.362, 0.510, 0.190, 0.259, 0.121, 0.630),
    ("winogender", "GPT-J-6B"): (0.086, 0.473, 0.400, 0.406),
    ("winogender", "Qwen2_5-7B"): (0.136, 0.461, 0.379, 0.463),
}
"""As printed; the poster shows the first four columns of Winogender only."""

STRICT_BRIER = {
    ("genderLex", "GPT-J-6B"): 0.1828,
    ("genderLex", "Qwen2_5-7B"): 0.2309,
    ("winobias", "GPT-J-6B"): 0.1936,
    ("winobias", "Qwen2_5-7B"): 0.2360,
    ("winogender", "GPT-J-6B"): 0.2074,
    ("winogender", "Qwen2_5-7B"): 0.2231,
}
SUMMARY = {
    "Bias ECE": "ece",
    "Bias MacroCE": "macroce",
    "Bias ICE": "ice",
    "Brier Score": "brier_published",
    "Accuracy of Matching Labels (Normalized)": "human_alignment",
    "Group-ECE (Gender-ECE)": "gender_ece",
    "Calibration Bias Gap": "gender_ece_gap",
    "ECE (Male)": "male",
    "ECE (Female)": "female",
}
every_cell = pytest.mark.parametrize(("data", "model"), list(POSTER))


def results(real_data, data: str, model: str) -> Results:
    (found,) = read_results(real_data("gender-ece") / "outputs" / data / f"{model}.results.csv", format="gender-ece")
    return found


def measured(found: Results) -> dict[str, float]:
    plan = Plan(CALIBRATION, by=["predicted_gender"], resamples=1)
    rows, _ = measure(measured_items(found.outcomes, plan), plan, RunKey(found.model, found.dataset.name, found.task))
    values = {row.metric: row.estimate.value for row in rows if row.group == "all"}
    sides = {row.group.partition("=")[2]: row.estimate for row in rows if row.metric == "ece" and row.group != "all"}
    total = sum(side.n for side in sides.values())
    weighted = math.fsum(side.n * side.value for side in sides.values()) / total
    return {**values, **{name: side.value for name, side in sides.items()}, "weighted": weighted}


def parts(run: Run) -> list[tuple[str, str, Outcomes]]:
    return [(key.dataset, key.task, outcomes) for key, outcomes in run.answers()]


@every_cell
def test_every_cell_of_the_poster_comes_out_by_truncation(real_data, data: str, model: str) -> None:
    found = results(real_data, data, model)
    assert found.model == model
    values = measured(found)
    printed = dict(zip(NAMES, POSTER[data, model], strict=False))
    assert {name: math.floor(1000 * values[name]) / 1000 for name in printed} == printed


@every_cell
def test_the_authors_own_summaries_come_out_in_full(real_data, data: str, model: str) -> None:
    text = (real_data("gender-ece") / "outputs" / data / f"{model}.summary.txt").read_text()
    said = dict(re.findall(r"- ([^:\n]+): ([\d.]+)\n", text.partition("Normalized Probabilities:")[2]))
    values = measured(results(real_data, data, model))
    assert set(said) == set(SUMMARY)
    for words, name in SUMMARY.items():
        assert values[name] == pytest.approx(float(said[words]), abs=1e-9), words


@every_cell
def test_the_published_brier_score_is_of_the_other_column(real_data, data: str, model: str) -> None:
    values = measured(results(real_data, data, model))
    assert values["brier"] == pytest.approx(STRICT_BRIER[data, model], abs=5e-5)
    assert values["brier_published"] > values["brier"] + 0.1


@every_cell
def test_ece_is_the_weighted_mean_of_the_groups(real_data, data: str, model: str) -> None:
    values = measured(results(real_data, data, model))
    assert values["ece"] == pytest.approx(values["weighted"], abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "model", "before", "after"),
    [("genderLex", "GPT-J-6B", 0.080, 0.048), ("winobias", "Qwen2_5-7B", 0.236, 0.059)],
)
def test_beta_calibration_lands_where_it_should(
    real_data, tmp_path: Path, data: str, model: str, before: float, after: float
) -> None:
    file = real_data("gender-ece") / "outputs" / data / f"{model}.results.csv"
    run = import_results(file, format="gender-ece", out=tmp_path, metrics=["ece"], resamples=1)
    table = recalibrate(
        [(key.dataset, key.task, outcomes) for key, outcomes in run.answers()], Splits(methods=("beta",), splits=60)
    ).table
    row = table[(table["metric"] == "ece") & (table["group"] == "all") & (table["maps"] == "pooled")].iloc[0]
    assert row["before"] == pytest.approx(before, abs=0.01)
    assert row["after"] == pytest.approx(after, abs=0.01)


def test_winogender_sits_at_its_noise_floor(real_data, tmp_path: Path) -> None:
    file = real_data("gender-ece") / "outputs/winogender/GPT-J-6B.results.csv"
    run = import_results(file, format="gender-ece", out=tmp_path, metrics=["ece"], resamples=1)
    warnings = recalibrate(
        [(key.dataset, key.task, outcomes) for key, outcomes in run.answers()], Splits(methods=("beta",), splits=10)
    ).warnings
    assert any("all) sits at the noise floor" in warning for warning in warnings)
