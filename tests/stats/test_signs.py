"""Differences tested at once: the family-wise error is kept, and a real difference is found."""

from __future__ import annotations

import numpy as np
import pytest

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
