"""Linear layers with weights in 8 or 4 bits, on every device: somewhat over a quarter or an eighth of float32's memory.

Weights are rounded to steps between the smallest and the largest weight of each group of 32. They are multiplied out
again for each pass, in the model's dtype.
"""

from __future__ import annotations

from typing import Any

import torch

from ...records import ModelError
from .model import linear_layers

KINDS = {"int8": 255, "int4": 15}
"""Kinds of rounding, and the largest step of each."""

GROUP = 32
"""Weights that share a scale."""


class RoundedLinear(torch.nn.Module):
    """A linear layer whose weights are whole numbers of steps above the smallest of their group."""

    def __init__(self, layer: torch.nn.Linear, kind: str) -> None:
        super().__init__()
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self.bias = layer.bias
        self._packed = kind == "int4"
        weight = layer.weight.detach()
        groups = weight.reshape(-1, GROUP).float()
        low, high = groups.amin(dim=1, keepdim=True), groups.amax(dim=1, keepdim=True)
        scale = (high - low).clamp(min=1e-12) / KINDS[kind]
        steps = ((groups - low) / scale).round().to(torch.uint8)
        if self._packed:
            steps = steps[..., ::2] | (steps[..., 1::2] << 4)
        self.register_buffer("_steps", steps)
        self.register_buffer("_scale", scale.to(weight.dtype))
        self.register_buffer("_low", low.to(weight.dtype))

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        """Return the layer's output."""
        steps: Any = self._steps
        if self._packed:
            steps = torch.stack([steps & 15, steps >> 4], dim=-1).flatten(1)
        weight = (steps.to(given.dtype) * self._scale + self._low).reshape(self.out_features, self.in_features)
        return torch.nn.functional.linear(given, weight, self.bias)


def round_weights(model: Any, kind: str) -> None:
    """Replace all linear layers but the head by rounded ones, where their width is a multiple of 32."""
    replaced = [place for place in linear_layers(model) if place[2].in_features % GROUP == 0]
    if not replaced:
        raise ModelError(f"the model has no linear layers that can be rounded to {kind}")
    for parent, name, layer in replaced:
        setattr(parent, name, RoundedLinear(layer, kind))
