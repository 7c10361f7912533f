"""The head of a model, at chosen positions only, with logits in float32 whatever the model's dtype.

A bfloat16 number near 16 can only be a multiple of 1/8: logits rounded so tie, and log-probabilities come in steps.
The products are those of the model's own weights; only their sums are kept in float32.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

LOW_PRECISION = (torch.bfloat16, torch.float16)

WEIGHT_BYTES = 512 * 2**20
"""Bound on the float32 copy of a part of the head's weight, where the device cannot do without one."""

FEWEST = 4
"""Positions that a CPU computes at least: MKL reads the whole weight for each of two or three, for four only once."""


@contextmanager
def head_at(head: Any, sources: torch.Tensor) -> Iterator[None]:
    """Make the head compute only the positions of `sources` (row x width + place), as one row."""
    forward = head.forward
    replaced = "forward" in vars(head)
    count = len(sources)
    if sources.device.type == "cpu" and 0 < count < FEWEST:
        sources = sources[torch.arange(FEWEST) % count]

    def chosen(hidden: torch.Tensor, *rest: Any, **named: Any) -> torch.Tensor:
        states = hidden.reshape(-1, hidden.shape[-1])[sources.to(hidden.device)]
        if is_widened(head):
            return wide_linear(states.to(head.weight.device), head.weight, head.bias).unsqueeze(0)[:, :count]
        output: torch.Tensor = forward(states.unsqueeze(0), *rest, **named)
        return output[:, :count]

    head.forward = chosen
    try:
        yield
    finally:
        if replaced:
            head.forward = forward
        else:
            del head.forward


def is_widened(head: Any) -> bool:
    """Return whether the logits of this head are summed in float32: a plain linear layer in low precision."""
    return type(head) is torch.nn.Linear and head.weight.dtype in LOW_PRECISION and head.weight.device.type != "meta"


def wide_linear(states: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """Return the float32 product of states and a weight in low precision."""
    if states.device.type == "cuda" and states.dtype == weight.dtype:
        logits = torch.mm(states, weight.t(), out_dtype=torch.float32)
    else:
        step = max(1, WEIGHT_BYTES // (4 * weight.shape[1]))
        starts = range(0, len(weight), step)
        parts = [states.float() @ weight[start : start + step].float().t() for start in starts]
        logits = torch.cat(parts, dim=1)
    return logits if bias is None else logits + bias.float()
