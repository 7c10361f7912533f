"""Greedy text from a causal model of transformers, for several contexts at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...records import Context
from ..encoding import Encoder

GREEDY = {"do_sample": False, "num_beams": 1, "temperature": None, "top_p": None, "top_k": None}


def write(
    model: Any, encoder: Encoder, tensor: Callable[[Any], Any], contexts: Sequence[Context], max_new_tokens: int
) -> list[str]:
    """Return what the model writes after each context, up to its end-of-text token or `max_new_tokens`.

    `tensor` moves an array to the model's device.
    """
    rows = encoder.contexts(contexts)
    width = max(map(len, rows))
    ids, mask = np.zeros((2, len(rows), width), dtype=np.int64)
    for number, row in enumerate(rows):
        # Padded on the left: the text must follow the context's last token directly.
        ids[number, width - len(row) :], mask[number, width - len(row) :] = row, 1
    inputs = {"input_ids": tensor(ids), "attention_mask": tensor(mask)}
    written = model.generate(**inputs, max_new_tokens=max_new_tokens, pad_token_id=0, **GREEDY)
    stop = model.generation_config.eos_token_id
    return encoder.texts(written[:, width:].tolist(), set(stop) if isinstance(stop, list) else {stop})
