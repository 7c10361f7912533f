"""Rank correlations under resamples against scipy on the copied rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from kept_texts import assert_kept
from scipy.stats import kendalltau, spearmanr

from equipoise.stats import concordance

RNG = np.random.default_rng(5)
FIRST = np.round(RNG.normal(size=25), 1)  # rounded: with ties
SECOND = np.round(0.5 * FIRST + RNG.normal(size=25), 1)
WEIGHTS = RNG.multinomial(25, [1 / 25] * 25, size=6).T.astype(np.float32)


def copies(column: int) -> tuple[np.ndarray, np.ndarray]:
    rows = np.repeat(np.arange(25), WEIGHTS[:, column].astype(int))
    return FIRST[rows], SECOND[rows]


def test_kendall_of_resamples_is_that_of_the_copied_rows() -> None:
    taus = concordance.kendall(concordance.signs(FIRST), concordance.signs(SECOND), WEIGHTS)
    np.testing.assert_allclose(taus, [kendalltau(*copies(column)).statistic for column in range(6)], atol=1e-6)


def test_spearman_of_resamples_is_that_of_the_copied_rows() -> None:
    rhos = concordance.spearman(FIRST, SECOND, WEIGHTS)
    np.testing.assert_allclose(rhos, [spearmanr(*copies(column)).statistic for column in range(6)], atol=1e-9)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(concordance.column_kendall, kendalltau), (concordance.column_spearman, spearmanr)],
)
def test_columns_leave_out_rows_with_a_missing_value(
    ours: Callable[..., np.ndarray], theirs: Callable[..., object]
) -> None:
    first, second = FIRST[:, None].repeat(2, axis=1), SECOND[:, None].repeat(2, axis=1)
    first[3, 1] = np.nan
    kept = np.arange(25) != 3
    expected = [theirs(FIRST, SECOND).statistic, theirs(FIRST[kept], SECOND[kept]).statistic]  # type: ignore[attr-defined]
    np.testing.assert_allclose(ours(first, second), expected, atol=1e-9)


def test_a_constant_list_has_no_correlation() -> None:
    once = np.ones((25, 1), dtype=np.float32)
    assert np.isnan(concordance.kendall(concordance.signs(FIRST), concordance.signs(np.zeros(25)), once)).all()
    assert np.isnan(concordance.spearman(FIRST, np.zeros(25), once)).all()


def test_correlations_of_drawn_lists_are_kept() -> None:
    first, second = np.random.default_rng(1).normal(size=(2, 12, 4))
    first[1, 0] = second[3, 1] = second[4, 1] = np.nan
    first[:, 3] = 1.0
    third = np.array([0.1 + 0.2, 0.3, 1.0, 2.0])  # the first two differ by rounding alone
    tied = np.array([1.0, 2.0, 3.0, 4.0])
    ones = np.array([[1, 2, 0], [1, 0, 2], [1, 1, 0], [1, 0, 0]], dtype=np.float32)
    made = {
        "columns": [concordance.column_kendall(first, second), concordance.column_spearman(first, second)],
        "rounding": [
            concordance.kendall(concordance.signs(third), concordance.signs(tied), ones),
            concordance.spearman(third, tied, ones),
            concordance.column_kendall(third[:, None], tied[:, None]),
            concordance.column_spearman(third[:, None], tied[:, None]),
        ],
        "signs": concordance.signs(third),
    }
    assert_kept("stats/concordance", made)


def test_constant_lists_have_none_and_monotone_ones_are_1_or_minus_1() -> None:
    flat, ones = np.zeros(4), np.ones((4, 1), dtype=np.float32)
    rising = np.arange(4.0)
    assert np.isnan(concordance.kendall(concordance.signs(flat), concordance.signs(rising), ones)).all()
    assert np.isnan(concordance.spearman(rising, flat, ones)).all()
    for function in (concordance.column_kendall, concordance.column_spearman):
        assert np.isnan(function(flat[:, None], rising[:, None])).all()
        assert (
            function(rising[:, None], -rising[:, None]) == -1 and function(rising[:, None], rising[:, None] ** 2) == 1
        )


def test_values_that_are_as_far_apart_as_a_tie_is_wide_are_not_equal() -> None:
    for apart, sign in ((concordance.TIE, 1), (concordance.TIE * 0.99, 0)):
        assert concordance.signs(np.array([0.0, apart])).tolist() == [[0, -sign], [sign, 0]]
        ranks = concordance._weighted_ranks(np.array([0.0, apart]), np.ones((2, 1)))
        assert len(set(ranks[:, 0].tolist())) == 1 + sign
