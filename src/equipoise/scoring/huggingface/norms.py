"""Root-mean-square norms of a model as one kernel each.

transformers computes such a norm in six steps. On a GPU each step writes all states to memory: with a small model this
takes a quarter of the time (docs/decisions/gpu-runs.md).
"""

from __future__ import annotations

from inspect import signature
from typing import Any

import torch

TOLERANCES = {torch.bfloat16: 2**-7, torch.float16: 2**-10}
"""Share of a value by which the two may differ: one step of the number format. Below: for float32."""

TOLERANCE = 1e-5


class FusedNorm(torch.nn.Module):
    """A norm that torch computes in one step, and rounds once."""

    def __init__(self, weight: torch.nn.Parameter, epsilon: float) -> None:
        super().__init__()
        self.weight, self.epsilon = weight, epsilon

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Return the states, divided by their root mean square and multiplied by the weight."""
        return torch.nn.functional.rms_norm(states, self.weight.shape, self.weight, self.epsilon)


@torch.inference_mode()
def fuse_norms(model: Any) -> int:
    """Replace the norms of a model that give the same fused, and return how many that are."""
    replaced = 0
    for parent in list(model.modules()):
        for name, norm in list(parent.named_children()):
            if type(norm).__name__.endswith("RMSNorm") and (fused := _fused(norm)) is not None:
                setattr(parent, name, fused)
                replaced += 1
    return replaced


def _fused(norm: Any) -> FusedNorm | None:
    """Return the norm fused; None where it computes something else, such as with a weight that is counted from 1."""
    epsilon = getattr(norm, "variance_epsilon", None) or getattr(norm, "eps", None)
    if epsilon is None or [name for name, _ in norm.named_parameters()] != ["weight"] or norm.weight.ndim != 1:
        return None
    if len(signature(norm.forward).parameters) != 1:  # it is given more than states, such as a gate
        return None
    fused = FusedNorm(norm.weight, epsilon)
    states = torch.linspace(-9, 9, 5 * norm.weight.numel(), dtype=norm.weight.dtype, device=norm.weight.device)
    states = states.sin().reshape(5, *norm.weight.shape) * states.new_tensor([[0.01], [0.1], [1.0], [10.0], [100.0]])
    wanted = norm(states)
    tolerance = TOLERANCES.get(norm.weight.dtype, TOLERANCE)
    return fused if torch.allclose(fused(states), wanted, rtol=tolerance, atol=0.0) else None
