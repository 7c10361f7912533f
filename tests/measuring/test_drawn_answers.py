"""Accuracy and equalized odds of drawn answers: exact where it can be, and as large as the probabilities say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import equipoise
from equipoise.cli import app
from equipoise.measuring.drawn_answers import at_temperature, drawn_answers
from equipoise.records import EquipoiseError
from equipoise.runs.run import Run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("runs") / "planted"
    return equipoise.audit("planted:strength=1,bias=0.4", limit=60, out=out, resamples=30, progress=False)


def test_expected_accuracy_is_exact_and_seeds_scatter_as_binomials_do(run: Run) -> None:
    part = run.parts[0]
    greedy, cold, one = drawn_answers(part.outcomes, [0.01, 1.0], draws=400)
    measured = {name: part.measured.get(name, type="type2") for name in ("accuracy", "eo_sum", "accuracy_sampled")}
    assert greedy.expected == pytest.approx(measured["accuracy"].value) == pytest.approx(greedy.accuracy[0])
    assert greedy.odds[0] == pytest.approx(measured["eo_sum"].value)
    assert cold.expected == pytest.approx(greedy.expected, abs=0.02)
    assert one.expected == pytest.approx(measured["accuracy_sampled"].value)
    outcomes = part.outcomes.take(part.outcomes.labelled & (part.outcomes.group("type") == "type2"))
    right = outcomes.probs[np.arange(len(outcomes)), outcomes.gold]
    deviation = float(np.sqrt((right * (1 - right)).sum()) / len(right))
    assert one.accuracy[0] == pytest.approx(one.expected, abs=4 * deviation / 20)
    assert one.accuracy[1] == pytest.approx(deviation, rel=0.15)


def test_a_temperature_sharpens_or_flattens() -> None:
    probs = np.array([[0.8, 0.2], [1.0, 0.0]])
    assert at_temperature(probs, 1.0) == pytest.approx(probs)
    assert at_temperature(probs, 0.5)[0] == pytest.approx([0.64 / 0.68, 0.04 / 0.68])
    assert at_temperature(probs, 2.0)[0, 0] < 0.8 and at_temperature(probs, 2.0)[1].tolist() == [1.0, 0.0]


def test_the_command_prints_a_row_for_each_temperature(run: Run, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["study", "temperature", str(run.path), "--temperature", "0.7", "--draws", "5"])
    assert result.exit_code == 0, result.output
    assert "most probable" in result.output and " 0.7 " in result.output and "±" in result.output
    with pytest.raises(EquipoiseError, match="temperature must be above 0"):
        list(drawn_answers(run.parts[0].outcomes, [0.0]))
    with pytest.raises(EquipoiseError, match="draws must be at least 2, not 1"):
        list(drawn_answers(run.parts[0].outcomes, [1.0], draws=1))
