"""Counterfactual sets as tensors, and the log-probability that a model gives each candidate, with gradients.

Sentences of a set share their beginning, and the candidates of a question share all of it. The tensors hold every
shared prefix once (see scoring/packing), so a pass over a set costs little more than one over a single sentence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ..records import ABSENT, Example
from ..scoring.encoding import Encoder
from ..scoring.huggingface.model import ancestor_mask
from ..scoring.packing.prefix_tree import Sequences, pack, stack
from ..tasks.chat import in_chat
from ..tasks.next_word import NextWord, marked_forms
from .objective import TrainingError

if TYPE_CHECKING:
    from .training_sets import TrainingSet  # reads datasets, which a batch of examples does not need

Batch = dict[str, Tensor]
"""Tensors of one batch by name: a plain dictionary, so that every trainer can move it to its device."""

ROW_TOKENS = 512


class Questions:
    """Turns counterfactual sets into batches: the question of the task next-word, with its candidates.

    `chat`: as a conversation in the model's chat template.
    """

    def __init__(self, tokenizer: Any, *, bos: str = "auto", row_tokens: int = ROW_TOKENS, chat: bool = False) -> None:
        self.encoder = Encoder(tokenizer, bos=bos)
        self._task, self._chat = NextWord(), chat
        self._row_tokens = row_tokens

    def batch(self, sets: Sequence[TrainingSet]) -> Batch:
        """Return the batch of some sets; `gold` and `sets` in it are what `ucerf_loss` takes."""
        members = [(number, example) for number, item in enumerate(sets) for example in item.members]
        batch = self.of_examples([example for _, example in members])
        batch["sets"] = torch.tensor([number for number, _ in members], dtype=torch.long)
        return batch

    def of_examples(self, examples: Sequence[Example]) -> Batch:
        """Return the batch of some examples; all must have the same number of candidates."""
        if not examples:
            raise TrainingError("the batch is empty; there is nothing to ask")
        widths = sorted({len(example.candidates) for example in examples})
        if len(widths) > 1:
            raise TrainingError(f"the sentences of a batch have {widths[0]} to {widths[-1]} candidates, not one number")
        prompts = [self._task.prompts(example)[0] for example in examples]
        questions = self.encoder.questions([in_chat(prompt) for prompt in prompts] if self._chat else prompts)
        sequences = [ids for question in questions for ids in question.sequences]
        starts = [start for question in questions for start in question.starts]
        rows = pack(Sequences.of(sequences, starts), row_tokens=self._row_tokens)
        work = stack(rows)
        owners = np.concatenate([np.repeat(row.owners, row.counts) for row in rows])
        cells = [cell for row, example in enumerate(examples) for cell in _cells(row, example)]
        arrays = {
            "tokens": work.tokens,
            "positions": work.depths,
            "ends": work.ends,
            "sources": work.sources,
            "picks": work.picks,
            "targets": work.targets,
            "owners": owners,
            "cells": np.array(cells),
            "gold": np.array([example.gold if example.answerable else ABSENT for example in examples]),
            "stereotype": np.array([ABSENT if e.stereotype is None else e.stereotype for e in examples]),
            "width": np.full(len(examples), widths[0]),
        }
        return {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in arrays.items()}


def _cells(row: int, example: Example) -> list[int]:
    """Return the cell (row x candidates + candidate) that each continuation of a question belongs to.

    "nurse" and "young nurse" both name the nurse, so both continuations belong to one cell.
    """
    width = len(example.candidates)
    return [row * width + candidate for candidate in (*range(width), *marked_forms(example))]


def candidate_logprobs(model: Any, batch: Mapping[str, Tensor]) -> Tensor:
    """Return the raw log-probability of every candidate as (n, k), in float32, with gradients to the model."""
    device = next(model.parameters()).device
    work = {name: tensor.to(device, non_blocking=True) for name, tensor in batch.items()}
    dtype = next(model.parameters()).dtype
    if torch.is_autocast_enabled(device.type):
        dtype = torch.get_autocast_dtype(device.type)
    logits = _logits(
        model,
        work["sources"],
        input_ids=work["tokens"],
        position_ids=work["positions"],
        attention_mask=ancestor_mask(work["ends"], dtype),
        use_cache=False,
    ).float()
    picks, targets, owners = work["picks"], work["targets"], work["owners"]
    values = logits[picks, targets] - torch.logsumexp(logits, dim=1)[picks]
    totals = values.new_zeros(len(work["cells"])).index_add(0, owners, values)
    n = len(work["gold"])
    # The sum of exponentials over the names of a candidate; the largest is taken out first, so nothing underflows.
    cells = work["cells"]
    count = n * int(work["width"][0])
    largest = totals.detach().new_full((count,), -torch.inf).scatter_reduce(0, cells, totals.detach(), "amax")
    shares = totals.new_zeros(count).index_add(0, cells, (totals - largest[cells]).exp())
    return (shares.log() + largest).view(n, -1)


def _logits(model: Any, sources: Tensor, **inputs: Any) -> Tensor:
    """Return the logits at some places only: the head computes no other, which saves most of the memory."""
    head = model.get_output_embeddings()

    def select(_: Any, arguments: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        hidden, *others = arguments
        return (hidden.reshape(-1, hidden.shape[-1])[sources].unsqueeze(0), *others)

    hook = head.register_forward_pre_hook(select)
    try:
        logits: Tensor = model(**inputs).logits.squeeze(0)
        return logits
    finally:
        hook.remove()
