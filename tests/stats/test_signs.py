"""Differences tested at once: the family-wise error is kept, and a real difference is found."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from kept_texts import assert_kept

from equipoise.stats import signs
from equipoise.stats.paired import holm
from equipoise.stats.signs import sign_tests


def test_a_corrected_p_is_never_smaller_than_its_own_and_keeps_the_order() -> None:
    rng = np.random.default_rng(1)
    tests = sign_tests(rng.normal(0.1, 1.0, (6, 80)), draws=999)
    assert (tests.corrected >= tests.p - 1e-12).all()
    order = np.argsort(tests.p, kind="stable")
    assert (np.diff(tests.corrected[order]) >= -0.02).all()


def test_copies_of_one_difference_cost_nothing_where_holm_would_multiply() -> None:
    units = np.tile(np.random.default_rng(2).normal(0.3, 1.0, 60), (5, 1))
    tests = sign_tests(units, draws=1999)
    assert tests.corrected == pytest.approx(tests.p) and (holm(tests.p) > 4 * tests.corrected).all()


def test_the_family_wise_error_is_kept() -> None:
    rng = np.random.default_rng(3)
    false = sum(sign_tests(rng.normal(size=(5, 40)), draws=199, seed=n).corrected.min() < 0.05 for n in range(400))
    assert false / 400 < 0.05 + 3 * (0.05 * 0.95 / 400) ** 0.5


def test_a_difference_that_is_nowhere_has_p_one_and_a_sure_one_the_smallest() -> None:
    tests = sign_tests(np.stack([np.zeros(30), np.ones(30)]), draws=999)
    assert tests.p.tolist() == [1.0, 0.001] and tests.corrected.tolist() == [1.0, 0.001]


def test_a_claim_about_several_differences_goes_by_the_largest() -> None:
    rng = np.random.default_rng(4)
    units = rng.normal(0.2, 1.0, (4, 60))
    apart, joined = sign_tests(units, draws=1999), sign_tests([units[:3], units[3]], draws=1999)
    assert joined.p[0] == pytest.approx(sign_tests(units[:3], draws=1999).corrected.min()), "one of three differs"
    assert joined.p[1] == apart.p[3]
    assert joined.corrected.min() == pytest.approx(apart.corrected.min()), "the family has the same differences"


def test_the_error_of_claims_about_several_differences_is_kept() -> None:
    rng, false = np.random.default_rng(5), 0
    for number in range(400):
        units = rng.normal(size=(7, 40))
        false += sign_tests([units[:6], units[6]], draws=199, seed=number).corrected.min() < 0.05
    assert 0.02 < false / 400 < 0.05 + 3 * (0.05 * 0.95 / 400) ** 0.5


def test_p_values_of_drawn_claims_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(9)
    units = rng.normal(0.25, 1.0, (5, 30))
    units[2] = 0.0
    made = {f"seed {seed}": sign_tests(units, draws=300, seed=seed) for seed in (0, 1)}
    made["several"] = sign_tests([units[:2], units[2:4], units[4]], draws=300)
    made["usual"] = sign_tests(units)
    assert_kept("stats/signs", made)
    monkeypatch.setattr(signs, "CHUNK", 30 * 7)
    narrow = sign_tests(units, draws=300)
    assert narrow.p == pytest.approx(made["seed 0"].p, abs=0.1), "drawn seven at a time, all of them"
    monkeypatch.setattr(signs, "CHUNK", 1)
    assert sign_tests(units[:1], draws=9).p >= 0.1


def test_p_is_that_of_all_signs_counted_out() -> None:
    units = np.array([[1.0, 2.0, 3.0, 4.0, 5.0], [1.0, -2.0, 3.0, -1.0, 4.0]])
    every = np.array(list(product((-1, 1), repeat=5)))
    statistics = np.abs(units @ every.T) / np.sqrt((units**2).sum(axis=1))[:, None]
    observed = np.abs(units.sum(axis=1)) / np.sqrt((units**2).sum(axis=1))
    alone = (statistics >= observed[:, None] - 1e-9).mean(axis=1)
    tests = sign_tests(units, draws=20_000)
    assert tests.p == pytest.approx(alone, abs=0.01)
    largest = statistics.max(axis=0)
    assert tests.corrected[0] == pytest.approx((largest >= observed[0] - 1e-9).mean(), abs=0.01)
    assert tests.corrected[1] == pytest.approx(max(alone[1], tests.corrected[0]), abs=0.01)


@pytest.mark.parametrize("width", [1, 3, 50])
def test_signs_are_drawn_in_pieces_and_counted_one_by_one(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    claims = [np.array([0.5, -0.2, 0.9, 0.4]), np.zeros(4), np.array([[1.0, 1.0, -0.3, 0.0], [0.0, 0.3, 0.1, 0.2]])]
    monkeypatch.setattr(signs, "CHUNK", 4 * width + 3)
    found = sign_tests(claims, draws=20, seed=3)
    rng, drawn = np.random.default_rng([3, 4]), []
    for start in range(0, 20, width):
        pieces = rng.integers(0, 2, size=(4, min(width, 20 - start)), dtype=np.int8)
        drawn += [[2 * int(sign) - 1 for sign in column] for column in pieces.T]

    def size(claim: np.ndarray, flips: list[int]) -> float:
        rows = [row for row in np.atleast_2d(claim) if row.any()]
        return max((abs(float(row @ flips)) / float(np.sqrt(row @ row)) for row in rows), default=0.0)

    for claim, p in zip(claims, found.p, strict=True):
        observed = size(claim, [1] * 4)
        more = sum(size(claim, flips) >= observed - 1e-6 for flips in drawn)
        assert p == pytest.approx((more + 1) / 21)
    assert found.p[1] == found.corrected[1] == 1.0
