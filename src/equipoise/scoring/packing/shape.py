"""How much to compute at once on a device."""

from __future__ import annotations

import os
from typing import NamedTuple

CPU_ROW_TOKENS = 2560
"""Tokens of a row with attention in segments: most batches fit into one row (docs/decisions/packed-engine.md)."""

DENSE_ROW_TOKENS = 384
"""The same for a model that needs one attention mask for the row."""

GPU_ROW_TOKENS = 1024
GPU_PASS_TOKENS = 8192
"""More tokens a pass than this gain nothing on an H200 with a model of 8B (docs/decisions/packed-engine.md)."""

SMALL_LAYER = 1.8e7
"""Weights of a layer below which a GPU waits for its kernels to be started, unless a pass has more tokens."""

SMALL_ROW_TOKENS = 512
SMALL_PASS_TOKENS = 32768


class Shape(NamedTuple):
    """How much is computed at once. Only `rows`, `padded_rows` and `predictions` depend on free memory.

    Prompts in a batch, tokens in a packed row, packed rows and padded rows in a pass, positions predicted in a pass,
    passes that may run before one is fetched, and whether all passes have the same shape.
    """

    prompts: int
    row_tokens: int
    rows: int
    padded_rows: int
    predictions: int
    in_flight: int
    fixed: bool

    def halved(self) -> Shape:
        """Return the shape with half the rows in a pass, to try after running out of memory."""
        return self._replace(
            rows=max(1, self.rows // 2),
            padded_rows=max(1, self.padded_rows // 2),
            predictions=max(1, self.predictions // 2),
        )


def choose_shape(device: str, *, free: int, hidden: int, inner: int, vocabulary: int, itemsize: int) -> Shape:
    """Return the shape for a model of these widths, with `itemsize` bytes a number, on a device with `free` bytes."""
    # A token's activations: some dozen vectors of the hidden width and half a dozen of the inner one live at once.
    token = (16 * hidden + 6 * inner) * itemsize
    # Logits live as the model gives them, and once more in float32.
    predictions = max(64, int(free * 0.25) // (vocabulary * (itemsize + 4)))
    if device != "cuda":
        return Shape(128, CPU_ROW_TOKENS, 1, 8, predictions, 0, False)
    small = 4 * hidden**2 + 3 * hidden * inner < SMALL_LAYER
    row, useful = (SMALL_ROW_TOKENS, SMALL_PASS_TOKENS) if small else (GPU_ROW_TOKENS, GPU_PASS_TOKENS)
    tokens = min(useful, max(row, int(free * 0.5) // token))
    # Batches of a small model are planned sooner than they are computed only where they are small, too.
    return Shape(512 if small else 4096, row, max(1, tokens // row), 128, predictions, 2, True)


def free_memory() -> int:
    """Return the bytes of main memory that are available."""
    try:
        with open("/proc/meminfo") as lines:
            fields = dict(line.split(":", 1) for line in lines)
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
