"""Variance components of tables whose components are known."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from kept_texts import assert_kept

from equipoise.records import UndefinedMetric
from equipoise.stats.components import Table, components

FACTORS = ("wording", "sentence", "group")
PLANTED = {
    ("wording",): 0.5,
    ("sentence",): 1.0,
    ("group",): 0.16,  # fixed effects of +0.4 and -0.4
    ("wording", "sentence"): 0.3,
    ("wording", "group"): 0.2,
    ("sentence", "group"): 0.4,
    ("wording", "sentence", "group"): 0.25,
}
# Of an effect that each of two groups draws anew, half is in the mean over groups.
TRUTH = {
    ("wording",): 0.5 + 0.2 / 2,
    ("sentence",): 1.0 + 0.4 / 2,
    ("group",): 0.16,
    ("wording", "sentence"): 0.3 + 0.25 / 2,
    ("wording", "group"): 0.2 / 2,
    ("sentence", "group"): 0.4 / 2,
    ("wording", "sentence", "group"): 0.25 / 2,
}


def planted(rng: np.random.Generator, shape: tuple[int, int, int] = (8, 60, 2)) -> Table:
    values = np.zeros(shape)
    for subset, variance in PLANTED.items():
        size = [length if name in subset else 1 for name, length in zip(FACTORS, shape, strict=True)]
        if subset == ("group",):
            values = values + np.array([0.4, -0.4]).reshape(size)
        else:
            values = values + rng.normal(0, np.sqrt(variance), size)
    return Table(values, FACTORS, "sentence", "group")


@pytest.fixture(scope="module")
def audits() -> list:
    rng = np.random.default_rng(1)
    return [components(planted(rng), draws=200, seed=number) for number in range(200)]


@pytest.mark.parametrize("place", range(7), ids=[" × ".join(subset) for subset in TRUTH])
def test_planted_components_are_recovered_and_covered(audits: list, place: int) -> None:
    truth = list(TRUTH.values())[place]
    estimates = [rows[place].variance for rows in audits]
    assert audits[0][place].name == " × ".join(list(TRUTH)[place])
    # 200 audits: within four standard errors of the truth. A negative solution is shown as 0, which adds a little.
    values = np.array([estimate.value for estimate in estimates])
    assert abs(values.mean() - truth) < 4 * values.std() / np.sqrt(len(values)) + 0.02 * truth
    covered = np.mean([estimate.low <= truth <= estimate.high for estimate in estimates])
    assert covered >= 0.90  # nominal 0.95; 200 audits are off by 0.03 at most


def test_a_biased_model_has_the_components_that_make_its_variance() -> None:
    # What a sentence does to one group it does to the other with the opposite sign: their mean is noise.
    rng = np.random.default_rng(4)
    signs, noise = np.array([1.0, -1.0]), rng.normal(0, 0.1, (6, 80, 2))
    values = rng.normal(0, 1, (1, 80, 1)) * signs + 0.3 * rng.normal(0, 1, (6, 1, 1)) + noise
    rows = {row.name: row for row in components(Table(values, FACTORS, "sentence", "group"), draws=50)}
    assert sum(row.variance.value for row in rows.values()) == pytest.approx(values.var(), rel=0.1)
    assert rows["sentence × group"].share.value > 0.8 and rows["sentence"].share.value < 0.01
    wordings = values.mean(axis=(1, 2)).var(ddof=1)
    assert rows["wording"].variance.value == pytest.approx(wordings, rel=0.02)


def test_shares_add_up_to_one() -> None:
    rows = components(planted(np.random.default_rng(2)), draws=50)
    assert sum(row.share.value for row in rows) == pytest.approx(1)
    assert all(row.share.low < row.share.high for row in rows if row.share.value > 0)


def test_a_table_that_only_the_wording_changes_has_no_other_component() -> None:
    values = np.arange(6.0)[:, None, None] + np.zeros((6, 10, 2))
    shares = {row.name: row.share.value for row in components(Table(values, FACTORS, "sentence"), draws=20)}
    assert shares.pop("wording") == pytest.approx(1)
    assert max(shares.values()) < 1e-12


def test_two_factors_are_solved_as_well() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(0, 2, (40, 1)) + rng.normal(0, 1, (1, 400)) + rng.normal(0, 0.5, (40, 400))
    rows = components(Table(values, FACTORS[:2], "sentence"), draws=50)
    assert [row.variance.value for row in rows] == pytest.approx([4, 1, 0.25], rel=0.5)


def test_one_wording_is_refused() -> None:
    with pytest.raises(UndefinedMetric, match="at least two of each factor; wording has one"):
        Table(np.zeros((1, 5, 2)), FACTORS, "sentence")


def test_components_of_drawn_tables_are_kept() -> None:
    made = {}
    for seed, fixed, level in product((1, 2), ("", "group"), (0.8, 0.95)):
        rng = np.random.default_rng(seed)
        values = rng.normal(size=(4, 1, 1)) + rng.exponential(size=(1, 9, 1)) + 0.3 * rng.normal(size=(4, 9, 3))
        values[..., 1] += 0.5
        table = Table(values, ("wording", "sentence", "group"), "sentence", fixed)
        made[f"{seed}, {fixed or 'nothing'} fixed, {level}"] = components(table, level=level, draws=300, seed=seed)
    two = Table(values[:, :, 0], ("wording", "sentence"), "sentence")
    made["two factors"] = components(two, draws=200)
    assert_kept("stats/components", made)


def test_sizes_freedom_and_what_is_averaged_are_those_of_the_table() -> None:
    table = Table(np.random.default_rng(0).random((4, 5, 3)), ("a", "b", "c"), "b", "c")
    assert dict(table.sizes) == {"a": 4, "b": 5, "c": 3}
    assert table.subsets == [("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")]
    assert [table.freedom(subset) for subset in table.subsets] == [3, 4, 2, 12, 6, 8, 24]
    assert [table.others(subset) for subset in table.subsets] == [15, 12, 20, 3, 5, 4, 1]
    assert [table.spread_over(subset) for subset in table.subsets] == pytest.approx(
        [1, 1, 2 / 3, 1, 2 / 3, 2 / 3, 2 / 3]
    )
    assert [row.variance.n for row in components(table, draws=20)] == [4, 5, 3, 20, 12, 15, 60]


def test_what_cannot_be_taken_apart_is_refused() -> None:
    with pytest.raises(UndefinedMetric, match=r"^variance components need at least two of each factor; b has one$"):
        Table(np.ones((2, 1)), ("a", "b"), "a")
    with pytest.raises(UndefinedMetric, match=r"^variance components need a value for every combination$"):
        Table(np.array([[1.0, np.nan], [0.0, 1.0]]), ("a", "b"), "a")
    with pytest.raises(UndefinedMetric, match=r"^all values are equal: there is no variance to divide$"):
        components(Table(np.ones((2, 2)), ("a", "b"), "a"))


def test_a_factor_of_one_level_is_told_before_a_missing_value() -> None:
    with pytest.raises(UndefinedMetric, match="b has one"):
        Table(np.full((2, 1), np.nan), ("a", "b"), "a")
