"""Logits of a model in low precision are summed in float32, at the chosen positions only."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from equipoise.scoring.huggingface import head as heads
from equipoise.scoring.huggingface.head import head_at, is_widened, wide_linear


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("part", [heads.WEIGHT_BYTES, 4 * 16 * 7])
def test_logits_are_those_of_exact_sums(dtype: torch.dtype, part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads, "WEIGHT_BYTES", part)
    torch.manual_seed(0)
    states, weight, bias = (torch.randn(size).to(dtype) for size in ((5, 16), (40, 16), (40,)))
    exact = states.double() @ weight.double().t() + bias.double()
    logits = wide_linear(states, weight, bias)
    assert logits.dtype == torch.float32
    np.testing.assert_allclose(logits.double(), exact, atol=1e-5)
    rounded = torch.nn.functional.linear(states, weight, bias)
    assert float((rounded.double() - exact).abs().max()) > 1e-4, "the test would pass with rounded logits"


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_only_the_chosen_positions_are_computed_and_the_head_is_left_as_it_was(dtype: torch.dtype) -> None:
    head = torch.nn.Linear(8, 20, bias=False).to(dtype).requires_grad_(False)
    hidden = torch.randn(3, 4, 8).to(dtype)
    before = head(hidden)
    with head_at(head, torch.tensor([5, 0, 11])):
        logits = head(hidden)
    assert logits.shape == (1, 3, 20) and logits.dtype == torch.float32
    np.testing.assert_allclose(logits[0].float(), before.reshape(12, 20)[[5, 0, 11]].float(), atol=0.02)
    assert torch.equal(head(hidden), before) and "forward" not in vars(head)
    assert is_widened(head) == (dtype is torch.bfloat16)


@pytest.mark.parametrize("places", [[2], [2, 5], [2, 5, 1]])
def test_a_cpu_computes_a_few_positions_at_once_and_returns_those_asked_for(places: list[int]) -> None:
    head = torch.nn.Linear(8, 20, bias=False).requires_grad_(False)
    hidden, seen = torch.randn(1, 6, 8), []
    forward = head.forward
    head.forward = lambda states: seen.append(states.shape) or forward(states)
    with head_at(head, torch.tensor(places)):
        logits = head(hidden)
    assert seen == [(1, heads.FEWEST, 8)]
    np.testing.assert_allclose(logits[0], forward(hidden)[0, places], atol=1e-6)


def test_a_head_that_is_not_a_plain_layer_computes_its_own_logits() -> None:
    class Doubled(torch.nn.Linear):
        def forward(self, input: torch.Tensor) -> torch.Tensor:
            return 2 * super().forward(input)

    head = Doubled(8, 20).to(torch.bfloat16).requires_grad_(False)
    hidden = torch.randn(1, 4, 8).to(torch.bfloat16)
    with head_at(head, torch.arange(4)):
        assert torch.equal(head(hidden), head.__class__.forward(head, hidden))


class OnGpu:
    """States that say that they are on a GPU, and compute here."""

    device = type("Device", (), {"type": "cuda"})()

    def __init__(self, states: torch.Tensor) -> None:
        self.states, self.dtype = states, states.dtype

    def float(self) -> torch.Tensor:
        return self.states.float()


def test_a_gpu_sums_low_precision_in_float32_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def product(states: OnGpu, weight: torch.Tensor, *, out_dtype: torch.dtype) -> torch.Tensor:
        asked.append(out_dtype)
        return states.states.to(out_dtype) @ weight.to(out_dtype)

    monkeypatch.setattr(torch, "mm", product)
    torch.manual_seed(0)
    states, weight = torch.randn(3, 8).bfloat16(), torch.randn(5, 8).bfloat16()
    expected = states.float() @ weight.float().t()
    assert torch.allclose(wide_linear(OnGpu(states), weight, None), expected)  # type: ignore[arg-type]
    assert asked == [torch.float32]
    other = OnGpu(states.float())
    assert torch.allclose(wide_linear(other, weight, torch.ones(5)), expected + 1, atol=1e-5)  # type: ignore[arg-type]
    assert len(asked) == 1, "of two dtypes, the weight is widened in parts"


@pytest.mark.parametrize("count", [0, 4, 5])
def test_as_many_positions_as_a_cpu_likes_are_left_as_they_are(count: int) -> None:
    head = torch.nn.Linear(8, 20, bias=False).requires_grad_(False)
    seen = []
    forward = head.forward
    head.forward = lambda states: seen.append(states.shape[1]) or forward(states)
    kept = head.forward
    with head_at(head, torch.arange(count)):
        assert head(torch.randn(1, 6, 8)).shape == (1, count, 20)
    assert seen == [count] and head.forward is kept, "what was put into its place stays there"


@pytest.mark.parametrize(("room", "parts"), [(4 * 6 * 3, 4), (4 * 6 * 3 - 1, 5), (4 * 6 * 10, 1), (1, 10)])
def test_a_weight_is_widened_in_parts_of_a_few_bytes(room: int, parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    weight, states, seen = torch.ones(10, 6, dtype=torch.bfloat16), torch.ones(2, 6), []
    joined = torch.cat
    monkeypatch.setattr(heads, "WEIGHT_BYTES", room)
    monkeypatch.setattr(torch, "cat", lambda several, dim: seen.append(len(several)) or joined(several, dim=dim))
    assert wide_linear(states, weight, None).tolist() == [[6.0] * 10] * 2 and seen == [parts]
