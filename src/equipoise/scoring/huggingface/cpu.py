"""Linear layers of a float32 model on a CPU, with their weights laid out once for oneDNN.

torch multiplies float32 matrices with MKL, which rearranges the weights at every call and is slow on processors of
other makers. oneDNN with weights rearranged once was 1.2 to 1.4 times as fast (docs/decisions/packed-engine.md).
torch's compiler uses the same operations, but needs a C++ compiler.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import suppress
from mmap import PAGESIZE
from typing import Any

import torch

from ..packing.shape import free_memory
from .model import linear_layers

ROWS = 384
"""Number of tokens that the layout is made for; passes of other sizes are correct, but slower."""


PAGE_OUT = 21
"""What Linux calls MADV_PAGEOUT; Python has no name for it."""

TOLERANCE = 1e-3
"""Largest allowed difference of logits; float32 rounding is a hundredth of this."""


class LaidOutLinear(torch.nn.Module):
    """A linear layer whose weight only oneDNN can read."""

    def __init__(self, layer: torch.nn.Linear) -> None:
        super().__init__()
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self.bias = layer.bias
        self._weight = torch.ops.mkldnn._reorder_linear_weight(layer.weight.detach(), ROWS)

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        """Return the layer's output."""
        output: torch.Tensor = torch.ops.mkldnn._linear_pointwise(given, self._weight, self.bias, "none", [], "")
        return output

    def plain_weight(self) -> torch.Tensor:
        """Return the weight as torch lays it out."""
        weight: torch.Tensor = self._weight.to_dense()
        return weight


@torch.inference_mode()
def lay_out(model: Any, sequence: Sequence[int] | None) -> bool:
    """Replace the linear layers of a model and return whether that was done: only where its answers stay the same.

    They are compared for a sequence of token ids; with None they are known to stay the same. The head, and weights that
    two modules share, stay as they are. Each old weight is freed when its layer is laid out, so that no more than one
    of them is in memory twice.
    """
    if not available() or free_memory() < 2 * max(parameter.nbytes for parameter in model.parameters()):
        return False
    if any(parameter.dtype != torch.float32 for parameter in model.parameters()):
        return False

    def answers() -> torch.Tensor:
        logits: torch.Tensor = model(input_ids=torch.tensor([sequence]), use_cache=False).logits
        return logits

    before = None if sequence is None else answers()
    kept = _sharers(model)
    replaced = [
        (parent, name, layer)
        for parent, name, layer in linear_layers(model)
        if layer.weight.device.type == "cpu" and id(layer) not in kept
    ]
    for parent, name, layer in replaced:
        setattr(parent, name, LaidOutLinear(layer))
        _page_out(layer.weight)
        layer.weight = torch.nn.Parameter(torch.empty(0), requires_grad=False)
    try:
        if before is None or float((answers() - before).abs().max()) <= TOLERANCE:
            return bool(replaced)
    except Exception:  # a model that reads its layers' weights directly may raise anything
        pass
    for parent, name, layer in replaced:
        layer.weight = torch.nn.Parameter(getattr(parent, name).plain_weight(), requires_grad=False)
        setattr(parent, name, layer)
    return False


def _page_out(weight: torch.Tensor) -> None:
    """Give back the memory of a weight that is a view of a file, whose other weights are still in use."""
    start, end = (-(-weight.data_ptr() // PAGESIZE), (weight.data_ptr() + weight.nbytes) // PAGESIZE)
    with suppress(OSError, AttributeError):  # other systems than Linux
        # No content is lost: what is read again comes from the file.
        madvise = ctypes.CDLL(None).madvise
        madvise(ctypes.c_void_p(start * PAGESIZE), ctypes.c_size_t(max(0, end - start) * PAGESIZE), PAGE_OUT)


def available() -> bool:
    """Return whether this build of torch has the operations."""
    try:
        layer = LaidOutLinear(torch.nn.Linear(8, 8).requires_grad_(False))
        return bool(torch.isfinite(layer(torch.zeros(1, 8))).all())
    except (AttributeError, RuntimeError, NotImplementedError):
        return False


def _sharers(model: Any) -> set[int]:
    """Return the modules that share a weight with another module."""
    owners: dict[int, list[int]] = {}
    for module in model.modules():
        for weight in module.parameters(recurse=False):
            owners.setdefault(id(weight), []).append(id(module))
    return {module for modules in owners.values() if len(modules) > 1 for module in modules}
