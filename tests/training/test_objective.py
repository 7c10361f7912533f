"""The training loss is the metric at temperature 0, has sound gradients, and refuses what has no loss."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from equipoise.metrics import fairness
from equipoise.records import EquipoiseError
from equipoise.training import objective, ucerf_loss, ucerf_values
from equipoise.training.certainty import CERTAINTIES, certainty
from equipoise.uncertainty import ESTIMATORS, renormalise


def metric_values(logprobs, gold, *, estimator="perplexity", kind="range", parity="certainty"):
    """1 - U of sets from equipoise.metrics; logprobs is (sets, groups, candidates), gold (sets,)."""
    sets, groups, k = logprobs.shape
    probs = renormalise(logprobs.reshape(-1, k))
    sure = ESTIMATORS[estimator].certainty(probs)
    best = probs.argmax(axis=1)
    if gold[0] >= 0:
        values = fairness.desirability(best == np.repeat(gold, groups), sure).reshape(sets, groups)
        return 1 - fairness.pair_ucerf(values, kind=kind)
    if parity == "certainty":
        return 1 - fairness.pair_ucerf_unanswerable(sure.reshape(sets, groups), kind=kind)
    return 1 - fairness.pair_ucerf_signed(best.reshape(sets, groups), sure.reshape(sets, groups), kind=kind)


def batch(logprobs, gold):
    sets, groups, k = logprobs.shape
    rows = torch.tensor(logprobs.reshape(-1, k))
    return rows, torch.tensor(np.repeat(gold, groups)), torch.arange(sets).repeat_interleave(groups)


CASES = [(groups, k, gold) for groups in (2, 3, 5) for k in (2, 3) for gold in ("answerable", "certainty", "signed")]


@pytest.mark.parametrize(("groups", "k", "form"), CASES)
def test_at_temperature_0_the_loss_is_the_metric_on_10_000_sets(groups: int, k: int, form: str) -> None:
    rng = np.random.default_rng(groups * 10 + k)
    logprobs = rng.normal(-4, 3, size=(10_000, groups, k))
    gold = rng.integers(0, k, 10_000) if form == "answerable" else np.full(10_000, -1)
    parity = "certainty" if form == "answerable" else form
    expected = metric_values(logprobs, gold, parity=parity)
    for temperature in (0.0, 1e-9):
        found = ucerf_values(*batch(logprobs, gold), temperature=temperature, parity=parity).numpy()
        assert np.abs(found - expected).max() < 1e-6
    assert 0.05 < expected.mean() < 0.95


@pytest.mark.parametrize("estimator", CERTAINTIES)
@pytest.mark.parametrize("kind", ["range", "pairwise", "deviation"])
def test_every_estimator_and_disparity_agrees_with_the_metric(estimator: str, kind: str) -> None:
    rng = np.random.default_rng(7)
    logprobs = rng.normal(-3, 2, size=(1000, 3, 3))
    logprobs[0], logprobs[1, 0] = -1.0, [-60.0, -0.1, -70.0]
    gold = rng.integers(0, 3, 1000)
    # A tie is a wrong answer, and argmax does not know that: leave the tied set to a test of its own.
    expected = metric_values(logprobs[1:], gold[1:], estimator=estimator, kind=kind)
    found = ucerf_values(*batch(logprobs[1:], gold[1:]), temperature=0.0, estimator=estimator, disparity=kind)
    assert np.abs(found.numpy() - expected).max() < 1e-6


@pytest.mark.parametrize("estimator", CERTAINTIES)
@pytest.mark.parametrize("kind", ["range", "pairwise", "deviation"])
@pytest.mark.parametrize("form", ["answerable", "certainty", "signed", "both"])
def test_gradients_agree_with_finite_differences(estimator: str, kind: str, form: str) -> None:
    torch.manual_seed(3)
    logprobs = (torch.randn(9, 3, dtype=torch.float64) - 3).requires_grad_()
    sets = torch.tensor([4, 4, 7, 7, 7, 1, 1, 1, 1])
    gold = torch.tensor([0, 0, 2, 2, 2, 1, 1, 1, 1]) if form == "answerable" else torch.full((9,), -1)
    parity = "both" if form == "answerable" else form

    def loss(rows: torch.Tensor) -> torch.Tensor:
        return ucerf_loss(rows, gold, sets, temperature=0.7, estimator=estimator, disparity=kind, parity=parity)

    assert torch.autograd.gradcheck(loss, (logprobs,), eps=1e-7, atol=1e-6)
    loss(logprobs).backward()
    assert logprobs.grad is not None and logprobs.grad.abs().max() > 1e-3


@pytest.mark.parametrize("estimator", CERTAINTIES)
@pytest.mark.parametrize("kind", ["range", "pairwise", "deviation"])
def test_gradients_stay_finite_at_ties_and_at_the_ends(estimator: str, kind: str) -> None:
    rows = torch.tensor([[-1.0, -1.0], [-1.0, -1.0], [-90.0, -1e-9], [-1e-9, -90.0]], requires_grad=True)
    for gold in (torch.tensor([0, 0, 1, 1]), torch.full((4,), -1)):
        loss = ucerf_loss(rows, gold, torch.tensor([0, 0, 1, 1]), estimator=estimator, disparity=kind)
        (gradient,) = torch.autograd.grad(loss, rows)
        assert torch.isfinite(gradient).all()


def test_rows_of_a_set_need_not_be_neighbours_and_sets_may_differ_in_size() -> None:
    rows = torch.tensor([[-0.1, -3.0], [-2.0, -0.2], [-0.3, -1.4], [-0.5, -0.9], [-1.0, -0.4]], dtype=torch.float64)
    gold = torch.tensor([0, 1, 0, 1, 0])
    sets = torch.tensor([8, 3, 8, 3, 8])
    mixed = ucerf_values(rows, gold, sets, temperature=0.5)
    apart = [
        ucerf_values(rows[sets == number], gold[sets == number], sets[sets == number], temperature=0.5)
        for number in (3, 8)
    ]
    assert torch.allclose(mixed, torch.cat(apart))


def test_a_flip_on_an_unanswerable_set_costs_only_where_the_sign_counts() -> None:
    rows = torch.tensor([[-0.01, -5.0], [-5.0, -0.01]])
    gold, sets = torch.tensor([-1, -1]), torch.tensor([0, 0])
    costs = {
        parity: ucerf_loss(rows, gold, sets, temperature=0.1, parity=parity).item()
        for parity in ("certainty", "signed", "both")
    }
    assert costs["certainty"] == pytest.approx(0, abs=1e-6)
    assert costs["signed"] > 0.9
    assert costs["both"] == pytest.approx(costs["signed"] / 2)


def test_a_tie_counts_as_wrong_as_it_does_in_the_metric() -> None:
    rows = torch.tensor([[-1.0, -1.0, -9.0], [-9.0, -9.0, -0.001]], dtype=torch.float64)
    loss = ucerf_loss(rows, torch.tensor([0, 0]), torch.tensor([0, 0]), temperature=0.0)
    sure = certainty(rows)
    assert loss.item() == pytest.approx((sure[1] - sure[0]).item() / 2)


def test_half_precision_is_raised_before_anything_is_computed() -> None:
    rows = torch.tensor([[-0.5, -1.5], [-0.75, -1.0]], dtype=torch.bfloat16)
    arguments = torch.tensor([0, 0]), torch.tensor([0, 0])
    assert ucerf_loss(rows, *arguments).item() == pytest.approx(ucerf_loss(rows.double(), *arguments).item(), abs=1e-6)


ROWS = torch.tensor([[-0.5, -1.5], [-0.7, -1.0], [-0.2, -3.0], [-0.9, -0.8]])
FAULTS = [
    ((ROWS[:0], torch.tensor([], dtype=torch.long), torch.tensor([], dtype=torch.long)), {}, "batch is empty"),
    ((ROWS, torch.tensor([0, 0, 1, 1]), torch.tensor([0, 0, 1, 2])), {}, "set 1 has one member"),
    ((ROWS, torch.tensor([0, -1, 1, 1]), torch.tensor([0, 0, 1, 1])), {}, "set 0 mixes rows"),
    ((ROWS, torch.tensor([0, 0, -1, -1]), torch.tensor([0, 0, 1, 1])), {}, "call the loss once for each"),
    ((ROWS * torch.nan, torch.tensor([0, 0, 1, 1]), torch.tensor([0, 0, 1, 1])), {}, r"logprobs\[0, 0\] is nan"),
    ((ROWS.log(), torch.tensor([0, 0, 1, 1]), torch.tensor([0, 0, 1, 1])), {}, "must be finite"),
    ((ROWS[:, :1], torch.tensor([0, 0, 0, 0]), torch.tensor([0, 0, 1, 1])), {}, "at least two candidates"),
    ((ROWS, torch.tensor([0, 0, 1, 2]), torch.tensor([0, 0, 1, 1])), {}, r"gold\[3\] is 2"),
    ((ROWS, torch.tensor([0.0, 0, 1, 1]), torch.tensor([0, 0, 1, 1])), {}, "gold must hold 4 integers"),
    ((ROWS, torch.tensor([0, 0, 1]), torch.tensor([0, 0, 1, 1])), {}, "gold must hold 4 integers"),
    ((ROWS, torch.tensor([0, 0, 1, 1]), torch.tensor([0, 0, 1])), {}, "sets must hold 4 integers"),
    ((ROWS[0], torch.tensor([0, 0]), torch.tensor([0, 0])), {}, "table"),
    ((ROWS, torch.tensor([0, 0, 1, 1]), torch.tensor([0, 0, 1, 1])), {"temperature": -1.0}, "temperature must be"),
    ((ROWS, torch.tensor([0, 0, 1, 1]), torch.tensor([0, 0, 1, 1])), {"estimator": "luck"}, "estimator 'luck'"),
    ((ROWS, torch.tensor([0, 0, 1, 1]), torch.tensor([0, 0, 1, 1])), {"parity": "luck"}, "parity 'luck'"),
    ((ROWS, torch.tensor([0, 0, 1, 1]), torch.tensor([0, 0, 1, 1])), {"disparity": "luck"}, "disparity 'luck'"),
]


@pytest.mark.parametrize(("arguments", "choices", "sentence"), FAULTS)
def test_bad_input_is_one_clear_sentence(arguments, choices, sentence: str) -> None:
    with pytest.raises(EquipoiseError, match=sentence):
        ucerf_loss(*arguments, **choices)


FINE = (torch.zeros(2, 3), torch.tensor([0, -1]), torch.tensor([0, 0]))
INTEGERS = "must hold 2 integers, one for each row of logprobs"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({0: torch.zeros(3)}, "logprobs must be a floating-point table (n, k), not of shape (3,)"),
        ({0: torch.zeros(2, 3).long()}, "logprobs must be a floating-point table (n, k), not of shape (2, 3)"),
        ({0: torch.zeros(0, 1)}, "the batch is empty; the loss of no sets is undefined"),
        ({0: torch.zeros(2, 1)}, "logprobs needs at least two candidates in each row, not 1"),
        ({1: torch.tensor([0]), 2: torch.tensor([0])}, f"gold {INTEGERS}"),
        ({1: torch.tensor([0.0, 1.0])}, f"gold {INTEGERS}"),
        ({1: torch.tensor([True, False])}, f"gold {INTEGERS}"),
        ({2: torch.tensor([[0, 0]])}, f"sets {INTEGERS}"),
        ({1: torch.tensor([2, 3])}, "gold[1] is 3; it must be a candidate from 0 to 2, or -1"),
        ({1: torch.tensor([-2, 3])}, "gold[0] is -2; it must be a candidate from 0 to 2, or -1"),
        (
            {0: torch.full((2, 3), torch.nan), 1: torch.tensor([0, 3])},
            "gold[1] is 3; it must be a candidate from 0 to 2, or -1",
        ),
        ({0: torch.tensor([[0.0, 0, 0], [0, -torch.inf, torch.nan]])}, "logprobs[1, 1] is -inf; it must be finite"),
    ],
)
def test_the_first_fault_of_a_batch_is_told(changes: dict[int, torch.Tensor], sentence: str) -> None:
    given = [changes.get(place, fine) for place, fine in enumerate(FINE)]
    objective._check_batch(*FINE)
    with pytest.raises(objective.TrainingError) as caught:
        objective._check_batch(*given)
    assert str(caught.value) == sentence


def test_choices_that_are_none_are_told_with_those_there_are() -> None:
    parities, disparities = ", ".join(objective.PARITIES), ", ".join(objective.DISPARITIES)
    for choices, sentence in (
        ((-0.1, "x", "x"), "temperature must be a number of at least 0, not -0.1"),
        ((float("inf"), "both", "mean"), "temperature must be a number of at least 0, not inf"),
        ((float("nan"), "both", "mean"), "temperature must be a number of at least 0, not nan"),
        ((0.0, "x", "y"), f"parity 'x' is not one of {parities}"),
        ((0.0, next(iter(objective.PARITIES)), "y"), f"disparity 'y' is not one of {disparities}"),
    ):
        with pytest.raises(objective.TrainingError) as caught:
            objective._check_choices(*choices)
        assert str(caught.value) == sentence
