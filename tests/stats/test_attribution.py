"""Planted factors come back as their shares of the variation, noise apart; intervals hold the truth."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from kept_texts import assert_kept

from equipoise.records import Floats, Strings, UndefinedMetric
from equipoise.stats.attribution import NOISE, REST, Stages, attribution, squares

MODELS, TASKS = 4, 3


def names() -> tuple[Strings, Strings]:
    cells = list(product(range(MODELS), range(TASKS)))
    model, task = (np.array([str(cell[place]) for cell in cells]) for place in (0, 1))
    return model, task


def stages() -> Stages:
    model, task = names()
    return [{"model": model, "task": task}]


def truth(model: float, task: float, crossed: float) -> Floats:
    """Return cells with effects whose mean squares over cells are exactly these."""
    rng = np.random.default_rng(3)
    effects = []
    for size, shape in ((model, (MODELS, 1)), (task, (1, TASKS)), (crossed, (MODELS, TASKS))):
        effect = np.broadcast_to(rng.normal(size=shape), (MODELS, TASKS))
        for axis in (0, 1):
            if shape[axis] > 1:
                effect = effect - effect.mean(axis=axis, keepdims=True)
        square = float((effect**2).mean())
        effects.append(effect * np.sqrt(size / square) if size else 0 * effect)
    return np.sum(effects, axis=0).ravel()


def test_without_noise_shares_are_those_of_the_effects() -> None:
    values = truth(0.06, 0.03, 0.01)
    found = attribution(values, np.repeat(values[:, None], 5, axis=1), stages()).values
    assert found["model"] == pytest.approx(0.6) and found["task"] == pytest.approx(0.3)
    assert found[REST] == pytest.approx(0.1) and found[NOISE] == pytest.approx(0, abs=1e-12)
    shifted = attribution(7 + 3 * values, 7 + 3 * np.repeat(values[:, None], 5, axis=1), stages()).values
    assert shifted == pytest.approx(found)


def test_terms_add_up_and_their_order_makes_no_difference() -> None:
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(MODELS * TASKS - 1, 6))  # one cell is missing
    model, task = (column[1:] for column in names())
    first = squares(columns, [{"model": model, "task": task}])
    second = squares(columns, [{"task": task, "model": model}])
    total = ((columns - columns.mean(axis=0)) ** 2).sum(axis=0)
    np.testing.assert_allclose(np.sum(list(first.values()), axis=0), total)
    for name in first:
        np.testing.assert_allclose(first[name], second[name])
    # A term of a later stage gets only what an earlier one leaves.
    staged = squares(columns, [{"task": task}, {"again": task}])
    np.testing.assert_allclose(staged["again"], 0, atol=1e-12)


def drawn(cells: Floats, sentences: int, deviation: float, seed: int) -> tuple[Floats, Floats]:
    """Return the means of sentences whose cells vary, and 200 resamples of the sentences."""
    rng = np.random.default_rng(seed)
    table = cells[:, None] + deviation * rng.normal(size=(len(cells), sentences))
    weights = rng.multinomial(sentences, np.full(sentences, 1 / sentences), size=200).T / sentences
    return table.mean(axis=1), table @ weights


def test_noise_is_taken_off_and_intervals_hold_the_truth() -> None:
    cells = truth(0.06, 0.0, 0.01)
    held: dict[str, list[bool]] = {"model": [], "task": [], REST: []}
    values: dict[str, list[float]] = {**{name: [] for name in held}, NOISE: []}
    for seed in range(120):
        found = attribution(*drawn(cells, 100, 1.0, seed), stages())
        for name, share in (("model", 6 / 8), ("task", 0.0), (REST, 1 / 8)):
            low, high = np.quantile(found.samples[name], [0.025, 0.975])
            values[name].append(found.values[name])
            # Noise has a variance of 0.01 for each cell, beside 0.07 of effects.
            held[name].append(bool(low - 1e-9 <= share <= high + 1e-9))
        values[NOISE].append(found.values[NOISE])
    assert np.mean(values["model"]) == pytest.approx(6 / 8, abs=0.04)
    assert np.mean(values["task"]) < 0.02 and np.mean(values[NOISE]) == pytest.approx(1 / 8, abs=0.04)
    assert all(np.mean(several) > 0.9 for several in held.values()), {n: np.mean(h) for n, h in held.items()}


def test_equal_values_have_nothing_to_divide() -> None:
    with pytest.raises(UndefinedMetric, match="all values are equal"):
        attribution(np.ones(12), np.ones((12, 3)), stages())


def test_shares_of_drawn_values_are_kept() -> None:
    made = {}
    model, task = names()
    both: Stages = [{"model": model, "task": task}]
    apart: Stages = [{"task": task}, {"model": model}]
    for seed in (1, 2):
        values, samples = drawn(truth(0.06, 0.02, 0.01), 40, 0.6, seed)
        for kept, listed in (("both", both), ("task first", apart)):
            for missing in (0, 2):
                rows = slice(missing, None)
                chosen = [{name: term[rows] for name, term in stage.items()} for stage in listed]
                found = attribution(values[rows], samples[rows], chosen)
                quantiles = {name: np.quantile(several, [0.1, 0.5, 0.9]) for name, several in found.samples.items()}
                made[f"{seed}, {kept}, {missing} missing"] = {"values": found.values, "quantiles": quantiles}
    assert_kept("stats/attribution", made)


def test_shares_are_between_0_and_1_and_add_up_without_noise() -> None:
    rng = np.random.default_rng(4)
    for deviation in (0.0, 0.1, 3.0):
        found = attribution(*drawn(truth(0.05, 0.02, 0.0), 30, deviation, int(rng.integers(9))), stages())
        assert all(0 <= share <= 1 for share in found.values.values())
        assert sum(found.values.values()) == pytest.approx(1.0)
        for several in found.samples.values():
            assert (several >= 0).all() and (several <= 1).all()


def test_a_sum_of_squares_that_is_rounding_is_no_variation() -> None:
    half = np.array([-0.5, 0.5])  # its sum of squares is 0.5
    terms = [{"model": np.array(["a", "b"])}]
    for size, divided in ((0.9e-15, False), (1.1e-15, True)):
        values = half * np.sqrt(2 * size)
        if divided:
            assert attribution(values, values[:, None], terms).values["model"] == pytest.approx(1)
        else:
            with pytest.raises(UndefinedMetric) as error:
                attribution(values, values[:, None], terms)
            assert str(error.value) == "all values are equal: there is no variation to divide"
    samples = np.stack([half * np.sqrt(2 * size) for size in (0.5e-15, 1e-15, 3e-15)], axis=1)
    found = attribution(half, samples, terms).samples
    assert found["model"] == pytest.approx([0.5, 1, 1]) and found[NOISE] == pytest.approx([0.5, 0, 0])
