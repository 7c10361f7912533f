"""Text from a causal model of transformers, the most probable or drawn, for many contexts at once.

As many texts are written together as memory allows. Finished ones leave the batch, so that nothing is computed for
them any more. What is written for a context depends on the others only by rounding: padding is on the left, masked,
and not counted in the positions.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ...records import Context, ModelError, Sampling
from ..encoding import Encoder
from .passes import Passes

GREEDY = {"do_sample": False, "num_beams": 1, "temperature": None, "top_p": None, "top_k": None}

CHECK_EVERY = 8
"""Steps between two looks at which texts are finished: each look waits for the device."""

MEMORY_SHARE = 0.6
CACHE_COPIES = 2.0
"""A layer's cache is copied when it grows, and memory is left in pieces."""

CPU_TEXTS = 16
GPU_TEXTS = 2048


def texts_at_once(device: torch.device) -> int:
    """Return how many texts to ask for together: what a crash can lose."""
    return GPU_TEXTS if device.type == "cuda" else CPU_TEXTS


def write(
    passes: Passes,
    encoder: Encoder,
    contexts: Sequence[Context],
    max_new_tokens: int,
    sampling: Sampling | None = None,
    longest: int | None = None,
) -> list[str]:
    """Return what the model writes after each context, up to its end-of-text token or `max_new_tokens`.

    `longest` is the number of tokens that the model takes at most, those that it writes included.
    """
    if not contexts:
        return []
    rows = encoder.contexts(contexts)
    asked = max(map(len, rows))
    if longest and asked + max_new_tokens > longest:
        needed = f"a question of {asked:,} tokens and an answer of {max_new_tokens:,}"
        raise ModelError(f"{needed} are more than the model takes ({longest:,}); allow it fewer tokens to write")
    end = passes.model.generation_config.eos_token_id
    stops = set(end) if isinstance(end, list) else {end} - {None}
    # Neighbours in length share a batch, so that little of it is padding.
    order = sorted(range(len(rows)), key=lambda number: len(rows[number]))
    written: dict[int, list[int]] = {}
    size = _rows_at_once(passes, len(rows[order[-1]]) + max_new_tokens)
    while order:
        batch = order[:size]
        try:
            texts = _batch(passes, [rows[number] for number in batch], max_new_tokens, stops, sampling)
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
            if size == 1:
                raise ModelError(f"one text of {max_new_tokens} tokens does not fit into memory") from None
            size = max(1, min(size, len(batch)) // 2)
            continue
        written.update(zip(batch, texts, strict=True))
        order = order[len(batch) :]
    return encoder.texts([written[number] for number in range(len(rows))], stops)


def _rows_at_once(passes: Passes, tokens: int) -> int:
    """Return how many rows of that many tokens fit into memory with their caches."""
    if passes.device.type != "cuda":
        return CPU_TEXTS
    config = passes.model.config.get_text_config()
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    row = 2 * config.num_hidden_layers * heads * width * tokens * passes.dtype.itemsize * CACHE_COPIES
    free = torch.cuda.mem_get_info(passes.device)[0] + torch.cuda.memory_reserved(passes.device)
    free -= torch.cuda.memory_allocated(passes.device)
    return max(1, min(GPU_TEXTS, int(free * MEMORY_SHARE / row)))


@torch.inference_mode()
def _batch(
    passes: Passes, rows: Sequence[Sequence[int]], max_new_tokens: int, stops: set[int], sampling: Sampling | None
) -> list[list[int]]:
    """Return the ids that the model writes after each row."""
    width = max(map(len, rows))
    ids, mask = np.zeros((2, len(rows), width + max_new_tokens), dtype=np.int64)
    for number, row in enumerate(rows):
        ids[number, width - len(row) : width], mask[number, width - len(row) :] = row, 1
    given, seen = passes.tensor(ids[:, :width]), passes.tensor(mask)
    if not passes.steps:
        limits = {"max_new_tokens": max_new_tokens, "pad_token_id": 0}
        chosen: dict[str, Any] = dict(GREEDY)
        if sampling:
            torch.manual_seed(sampling.seed)
            chosen = {"do_sample": True, "temperature": sampling.temperature, "top_k": 0, "top_p": 1.0}
        texts = passes.model.generate(input_ids=given, attention_mask=seen[:, :width], **limits, **chosen)
        return [list(text) for text in texts[:, width:].tolist()]
    return _step_by_step(passes, given, seen, stops, _Choice(rows, max_new_tokens, sampling, passes.device))


class _Choice:
    """Chooses the next token of each row: the most probable, or drawn by numbers that depend on row and seed alone."""

    def __init__(
        self, rows: Sequence[Sequence[int]], steps: int, sampling: Sampling | None, device: torch.device
    ) -> None:
        self._sampling = sampling
        if sampling:
            seeds = [[sampling.seed, zlib.crc32(np.asarray(row, dtype=np.int64).tobytes())] for row in rows]
            numbers = np.stack([np.random.default_rng(seed).random(steps) for seed in seeds])
            self._numbers = torch.tensor(numbers, dtype=torch.float64, device=device)

    def __call__(self, logits: torch.Tensor, active: torch.Tensor, step: int) -> torch.Tensor:
        if not self._sampling:
            return logits.argmax(dim=-1)
        shares = torch.softmax(logits.double() / self._sampling.temperature, dim=-1).cumsum(dim=-1)
        number = self._numbers[active, step, None] * shares[:, -1:]
        return torch.searchsorted(shares, number).flatten().clamp(max=logits.shape[-1] - 1)


def _step_by_step(
    passes: Passes, given: torch.Tensor, seen: torch.Tensor, stops: set[int], choice: _Choice
) -> list[list[int]]:
    """Return the chosen ids step by step; `seen` masks the padding, and has a place for every new token."""
    width, steps = given.shape[1], seen.shape[1] - given.shape[1]
    texts = torch.zeros((len(given), steps), dtype=torch.int64, device=given.device)
    active = torch.arange(len(given), device=given.device)
    ends = torch.tensor(sorted(stops), dtype=torch.int64, device=given.device)
    done = torch.zeros(len(given), dtype=torch.bool, device=given.device)
    positions = (seen.cumsum(dim=1) - 1).clamp(min=0)
    tokens, places, cache = given, positions[:, :width], None
    for step in range(steps):
        logits, cache = passes.step(tokens, seen[active, : width + step], places, cache)
        chosen = choice(logits, active, step)
        texts[active, step] = chosen
        done = done | torch.isin(chosen, ends)
        if step % CHECK_EVERY == CHECK_EVERY - 1 and len(ends):
            left = (~done).nonzero().flatten()
            if not len(left):
                break
            if len(left) <= 0.75 * len(done):
                cache.batch_select_indices(left)
                active, chosen, done = active[left], chosen[left], done[left]
        tokens, places = chosen[:, None], positions[active, width + step : width + step + 1]
    return [list(text) for text in texts.tolist()]
