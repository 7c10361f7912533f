"""What is expected of drawn answers: exact, and nothing but what the probabilities say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from kept_texts import assert_kept
from test_kept_measurements import PAIRS, asked, builtin, open_dataset
from typer.testing import CliRunner

import equipoise
from equipoise.cli import app
from equipoise.measuring.drawn_answers import _must_change, at_temperature, drawn_answers
from equipoise.measuring.items import Items
from equipoise.records import EquipoiseError, Outcomes
from equipoise.runs.run import Run
from equipoise.topics.wordings import drawn_answer


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("runs") / "planted"
    return equipoise.audit("planted:strength=1,bias=0.4", limit=60, by=[], out=out, resamples=30, progress=False)


def two_sets(probs: np.ndarray) -> Outcomes:
    names = np.array(["a", "a", "b", "b"], dtype=object)
    genders = np.array(["male", "female"] * 2, dtype=object)
    return Outcomes(
        example_id=np.array([f"e{n}" for n in range(4)], dtype=object),
        variant=np.full(4, "", dtype=object),
        set_id=names,
        probs=probs,
        logprobs=np.log(probs),
        gold=np.full(4, -1),
        stereotype=np.full(4, -1),
        answerable=np.zeros(4, dtype=bool),
        groups={"gender": genders},
        flags=np.full(4, "", dtype=object),
    )


def test_expectations_are_exact_and_single_draws_scatter_as_binomials_do(run: Run) -> None:
    part = run.parts[0]
    greedy, cold, one = (row for row in drawn_answers(part.outcomes, [0.01, 1.0], draws=400) if row.kind == "type2")
    names = ("accuracy", "eo_sum", "flip_rate", "accuracy_sampled", "eo_sum_sampled", "ucerf")
    measured = {name: part.measured.get(name, type="type2").value for name in names}
    assert (greedy.accuracy, greedy.odds, greedy.flips) == pytest.approx([measured[name] for name in names[:3]])
    assert (one.accuracy, one.odds, one.ucerf) == pytest.approx([measured[name] for name in names[3:]])
    # Nearly frozen, draws are the most probable answers.
    assert (cold.accuracy, cold.odds, cold.flips) == pytest.approx([measured[name] for name in names[:3]], abs=0.02)
    outcomes = part.outcomes.take(part.outcomes.labelled & (part.outcomes.group("type") == "type2"))
    right = outcomes.probs[np.arange(len(outcomes)), outcomes.gold]
    deviation = float(np.sqrt((right * (1 - right)).sum()) / len(right))
    assert one.one_accuracy[0] == pytest.approx(one.accuracy, abs=4 * deviation / 20)
    assert one.one_accuracy[1] == pytest.approx(deviation, rel=0.15)


def test_a_model_without_bias_has_none_at_any_temperature(tmp_path: Path) -> None:
    run = equipoise.audit(
        "planted:strength=1.5,bias=0,noise=0", limit=60, by=[], out=tmp_path / "run", resamples=2, progress=False
    )
    rows = [row for row in drawn_answers(run.parts[0].outcomes, [0.5, 1.0, 2.0], draws=20) if row.temperature]
    assert {row.kind for row in rows} == {"type1", "type2"}
    for row in rows:
        assert (row.flips, row.ucerf) == pytest.approx((0, 1), abs=1e-9)
        if row.kind == "type2":
            assert row.odds == pytest.approx(0, abs=1e-9) and row.one_odds[0] > 0.01, "a single draw is noise"
    said = str(drawn_answer(run.parts[0], [row for row in rows if row.kind == "type2"]))
    assert (
        "eo_sum goes from 0.000 to 0.000" in said
        and "-0.000" not in said
        and "UCerF from 1.000 to 1.000" in said
        and "is noise" in said
    )


def test_what_must_change_is_what_no_coupling_of_draws_avoids() -> None:
    probs = np.array([[0.7, 0.3], [0.4, 0.6], [0.5, 0.5], [0.5, 0.5]])
    rows = drawn_answers(two_sets(probs), [1.0], draws=2)
    assert [row.flips for row in rows if row.temperature] == [pytest.approx((0.3 + 0.0) / 2)]


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


def test_what_is_expected_of_drawn_answers_is_kept() -> None:
    made = {}
    several = {
        "sentences": asked(builtin(14)),
        "three pronouns": asked(builtin(6, pronouns=("he", "she", "ze"))),
        "pairs": asked(open_dataset(PAIRS[:6]), "cloze"),
        "orders": asked(builtin(5), "mcq", seeds=(1, 2)),
    }
    untyped = several["sentences"]
    several["untyped"] = replace(untyped, groups={"gender": untyped.group("gender"), "side": untyped.group("side")})
    for name, outcomes in several.items():
        made[name] = list(drawn_answers(outcomes, [0.5, 2.0], draws=7, seed=3))
    assert made["pairs"] == []
    made["usual"] = list(drawn_answers(several["sentences"], [1.0]))[1]
    assert_kept("measured/drawn-answers", made)


def test_draws_and_temperatures_that_say_nothing_are_refused_the_draws_first() -> None:
    outcomes = two_sets(np.full((4, 2), 0.5))
    with pytest.raises(EquipoiseError, match=r"^draws must be at least 2, not 1$"):
        list(drawn_answers(outcomes, [0.0], draws=1))
    for temperature in (0.0, -1.0, float("nan")):
        with pytest.raises(EquipoiseError, match=r"^temperature must be above 0$"):
            list(drawn_answers(outcomes, [1.0, temperature], draws=2))
    greedy, cool = drawn_answers(outcomes, [0.1], draws=2)
    assert (greedy.temperature, greedy.n, cool.temperature, cool.flips) == (0.0, 4, 0.1, 0.0)


def test_probabilities_at_a_temperature_are_powers() -> None:
    probs = np.array([[0.5, 0.3, 0.2], [1.0, 0.0, 0.0]])
    assert at_temperature(probs, 1.0) == pytest.approx(probs)
    squared = probs[0] ** 2 / (probs[0] ** 2).sum()
    assert at_temperature(probs, 0.5) == pytest.approx(np.array([squared, probs[1]]))


def test_outcomes_without_sets_have_no_share_of_sets_that_must_change() -> None:
    probs = np.array([[0.5, 0.5], [0.5, 0.5], [0.25, 0.75], [0.5, 0.5]])
    assert _must_change(Items(two_sets(probs))) == 0.125
    assert np.isnan(_must_change(Items(two_sets(probs).take(np.array([0, 2])))))


def test_types_come_in_the_order_of_their_names(run: Run) -> None:
    outcomes = run.parts[0].outcomes
    names = np.array([f"kind {letter}" for letter in "hbdacgfe"], dtype=object)
    kinds = names[np.arange(len(outcomes)) // 2 % len(names)]
    of_many = replace(outcomes, groups={**outcomes.groups, "type": kinds})
    assert [row.kind for row in drawn_answers(of_many, [])] == sorted(names)
