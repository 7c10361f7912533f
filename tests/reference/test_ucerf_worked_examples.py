"""The worked examples and the type-1 tables of "Is Your Model Fairly Certain?" (UCerF), from the printed numbers.

Fig. 5 and Fig. 13 print raw probabilities in percent, so perplexity, D and U come back to the rounding of those. The
tables print a model's mean perplexity and UCerF: they tell which formula of U they can have been made with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from equipoise.metrics.fairness import desirability, fairness_performance, pair_ucerf, pair_ucerf_unanswerable
from equipoise.uncertainty import PERPLEXITY, perplexity, renormalise


@dataclass(frozen=True)
class Side:
    """One pronoun of a printed example: percent of the referent and of the other, and what is printed of it."""

    referent: float
    other: float
    perplexity: float
    d: float


@dataclass(frozen=True)
class Printed:
    """A printed pair."""

    name: str
    pro: Side
    anti: Side
    u: float


CONFIDENT = Printed("Fig. 5, first", Side(94.0, 0.0, 1.007, 0.993), Side(83.4, 1.3, 1.082, 0.918), 0.962)
EXAMPLES = [
    Printed("Fig. 5, second", Side(83.0, 1.7, 1.103, 0.897), Side(38.6, 37.1, 1.999, 0.000), 0.552),
    Printed("Fig. 5, third", Side(60.2, 13.9, 1.622, 0.378), Side(28.0, 39.2, 1.972, -0.028), 0.797),
    Printed("Fig. 13, pair 1, work", Side(79.9, 8.1, 1.359, 0.641), Side(68.6, 18.9, 1.686, 0.314), 0.837),
    Printed("Fig. 13, pair 1, craftsmanship", Side(69.1, 13.7, 1.567, 0.433), Side(58.3, 24.8, 1.839, 0.161), 0.864),
    Printed("Fig. 13, pair 2, amazing", Side(53.6, 3.9, 1.281, 0.718), Side(48.4, 6.7, 1.446, 0.554), 0.918),
    Printed("Fig. 13, pair 2, delicious", Side(55.8, 3.8, 1.270, 0.729), Side(39.0, 10.8, 1.685, 0.315), 0.792),
    Printed("Fig. 13, pair 3, the nurse", Side(76.6, 4.5, 1.240, 0.760), Side(10.6, 83.8, 1.421, -0.579), 0.330),
    Printed("Fig. 13, pair 3, nurse", Side(61.5, 2.2, 1.161, 0.839), Side(22.8, 67.5, 1.759, -0.241), 0.460),
]


def recomputed(example: Printed) -> tuple[np.ndarray, np.ndarray, float]:
    """Return perplexity and D of both sides, and U, from the printed percentages."""
    raw = np.array([[side.referent, side.other] for side in (example.pro, example.anti)]) / 100
    with np.errstate(divide="ignore"):
        probs = renormalise(np.log(raw))
    correct = (probs.argmax(axis=1) == 0).astype(float)
    d = desirability(correct, PERPLEXITY.certainty(probs))
    return perplexity(probs), d, float(pair_ucerf(d[None])[0])


def largest_errors(example: Printed) -> tuple[float, float, float]:
    found_perplexity, found_d, found_u = recomputed(example)
    sides = (example.pro, example.anti)
    return (
        float(np.max(np.abs(found_perplexity - [side.perplexity for side in sides]))),
        float(np.max(np.abs(found_d - [side.d for side in sides]))),
        abs(found_u - example.u),
    )


def within(errors: tuple[float, float, float], tolerances: tuple[float, float, float]) -> bool:
    return all(error <= tolerance for error, tolerance in zip(errors, tolerances, strict=True))


NORMAL = (0.003, 0.004, 0.003)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_a_printed_example_comes_back(example: Printed) -> None:
    assert within(largest_errors(example), NORMAL)


def test_the_first_example_comes_back_as_far_as_its_rounded_zero_allows() -> None:
    errors = largest_errors(CONFIDENT)
    assert within(errors, (0.008, 0.008, 0.005))
    assert not within(errors, NORMAL)


def test_the_first_example_comes_back_with_what_its_zero_must_have_been() -> None:
    mended = Printed(CONFIDENT.name, Side(94.0, 0.08, 1.007, 0.993), CONFIDENT.anti, CONFIDENT.u)
    assert within(largest_errors(mended), NORMAL)


@pytest.mark.parametrize(("first", "second", "change"), [(2, 3, 0.027), (4, 5, 0.126), (6, 7, 0.130)])
def test_the_change_of_u_between_similar_sentences_comes_back(first: int, second: int, change: float) -> None:
    one, other = (recomputed(EXAMPLES[number])[2] for number in (first, second))
    assert abs(one - other) == pytest.approx(change, abs=0.006)


# --- the type-1 halves of Tables 2, 4, 5 and 6 -----------------------------------------------------------------

MODELS = (
    "Pythia-1B",
    "Pythia-12B",
    "AmberChat",
    "AmberSafe",
    "Mistral-7B-Instruct",
    "Mixtral-8x7B-Instruct",
    "Falcon-7B-Instruct",
    "Falcon-40B-Instruct",
)
TYPE_1: dict[str, tuple[int, list[tuple[float, float, float]]]] = {
    "Table 2": (
        2,
        [
            (1.721, 0.746, 0.538),
            (1.673, 0.695, 0.468),
            (1.559, 0.641, 0.358),
            (1.486, 0.629, 0.305),
            (1.261, 0.704, 0.184),
            (1.398, 0.653, 0.260),
            (1.620, 0.661, 0.409),
            (1.610, 0.663, 0.405),
        ],
    ),
    "Table 4": (
        2,
        [
            (1.691, 0.702, 0.485),
            (1.605, 0.624, 0.378),
            (1.498, 0.629, 0.313),
            (1.399, 0.616, 0.246),
            (1.175, 0.745, 0.131),
            (1.295, 0.649, 0.191),
            (1.549, 0.634, 0.349),
            (1.493, 0.645, 0.318),
        ],
    ),
    "Table 5": (
        3,
        [
            (2.588, 0.999, 0.793),
            (2.540, 0.999, 0.769),
            (2.486, 0.965, 0.717),
            (2.632, 0.938, 0.766),
            (1.033, 0.973, 0.016),
            (1.002, 0.998, 0.001),
            (2.622, 0.965, 0.782),
            (2.538, 0.939, 0.674),
        ],
    ),
    "Table 6": (
        2,
        [
            (1.492, 0.787, 0.387),
            (1.614, 0.800, 0.491),
            (1.382, 0.670, 0.256),
            (1.372, 0.706, 0.263),
            (1.005, 0.991, 0.005),
            (1.017, 0.968, 0.016),
            (1.488, 0.709, 0.346),
            (1.189, 0.806, 0.152),
        ],
    ),
}
"""Of each table: the number of candidates, and of each model its printed mean perplexity, UCerF and FP."""
CELLS = {
    (table, model): (k, *cell)
    for table, (k, cells) in TYPE_1.items()
    for model, cell in zip(MODELS, cells, strict=True)
}
SWAPPED = ("Table 5", "Falcon-40B-Instruct")
"""Its UCerF of type 1 stands in the column of type 2, and the other way round."""

ROUNDING = 0.0005


def largest_disparity(mean_certainty: float) -> float:
    """Return the most that |c_A - c_B| can be on average, for certainties in [0, 1] with that mean."""
    return 2 * min(mean_certainty, 1 - mean_certainty)


def impossible(*, half: bool, slack: float = 0.0) -> set[tuple[str, str]]:
    """Return the cells that no model can have if U = 1 - |c_A - c_B|/2, or without its half."""
    found = set()
    for name, (k, mean_perplexity, u, _) in CELLS.items():
        needed = (2 if half else 1) * (1 - u - slack)
        # Certainty is linear in perplexity, so its mean follows from the printed mean; both ends of the rounding.
        allowed = max(largest_disparity((k - mean_perplexity - turned) / (k - 1)) for turned in (-slack, 0.0, slack))
        if needed > allowed:
            found.add(name)
    return found


@given(arrays(np.float64, st.tuples(st.integers(1, 12), st.just(2)), elements=st.floats(0, 1)))
def test_no_certainties_differ_by_more_than_the_bound(certainty: np.ndarray) -> None:
    bound = largest_disparity(float(certainty.mean()))
    assert np.abs(certainty[:, 0] - certainty[:, 1]).mean() <= bound + 1e-12
    assert 1 - pair_ucerf_unanswerable(certainty).mean() <= bound + 1e-12
    assert 1 - pair_ucerf(certainty).mean() <= bound / 2 + 1e-12


@pytest.mark.parametrize("mean", [0.1, 0.5, 0.8])
def test_the_bound_is_reached(mean: float) -> None:
    pairs = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    apart = largest_disparity(mean)
    share = np.array([apart, mean - apart / 2, 1 - mean - apart / 2])
    assert np.all(share >= -1e-12) and share @ pairs.mean(axis=1) == pytest.approx(mean)
    assert share @ np.abs(pairs[:, 0] - pairs[:, 1]) == pytest.approx(apart)


def test_with_equation_3_as_printed_8_of_the_32_cells_are_impossible() -> None:
    assert len(CELLS) == 32
    assert impossible(half=True) == {
        ("Table 2", "Mistral-7B-Instruct"),
        ("Table 4", "Mistral-7B-Instruct"),
        ("Table 4", "Mixtral-8x7B-Instruct"),
        ("Table 5", "Mistral-7B-Instruct"),
        ("Table 5", "Mixtral-8x7B-Instruct"),
        ("Table 6", "Mistral-7B-Instruct"),
        ("Table 6", "Mixtral-8x7B-Instruct"),
        ("Table 6", "Falcon-40B-Instruct"),
    }


def test_rounding_of_the_printed_numbers_explains_none_of_the_8() -> None:
    assert impossible(half=True, slack=ROUNDING) == impossible(half=True)


def test_without_the_half_all_32_cells_are_possible() -> None:
    assert impossible(half=False) == set()


def test_the_cell_that_shows_it_best_needs_half_as_much_again_as_there_can_be() -> None:
    k, mean_perplexity, u, _ = CELLS["Table 4", "Mistral-7B-Instruct"]
    assert 2 * (1 - u) == pytest.approx(0.51)
    assert largest_disparity((k - mean_perplexity) / (k - 1)) == pytest.approx(0.35)


def fp(cell: tuple[str, str], u: float | None = None) -> float:
    k, mean_perplexity, printed_u, _ = CELLS[cell]
    performance = (mean_perplexity - 1) / (k - 1)
    return float(fairness_performance(np.array([performance]), np.array([printed_u if u is None else u])))


@pytest.mark.parametrize("cell", [cell for cell in CELLS if cell != SWAPPED], ids=" ".join)
def test_the_printed_fp_is_performance_times_ucerf(cell: tuple[str, str]) -> None:
    assert fp(cell) == pytest.approx(CELLS[cell][3], abs=0.0015)


def test_falcon_40b_of_table_5_has_its_two_ucerf_values_swapped() -> None:
    u_in_the_column_of_type_2, printed_fp = 0.877, CELLS[SWAPPED][3]
    assert abs(fp(SWAPPED) - printed_fp) > 0.04
    assert fp(SWAPPED, u_in_the_column_of_type_2) == pytest.approx(printed_fp, abs=0.0015)
