"""Runs rows of tokens through a causal model of transformers, and returns log-probabilities of the predicted tokens.

There are three modes: packed (a row is a prefix tree with its own mask and positions), cached (a prompt is computed
once, then its continuations from the prompt's cache) and padded (each input is a row).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...cache import cache_folder
from ..packing.prefix_tree import Pass, Row, fork, segments, stack
from ..packing.rules import Mode
from ..packing.shape import DENSE_ROW_TOKENS
from .attention import GROUPED, SEGMENTED, segment_views
from .head import head_at
from .model import BLOCK, ancestor_mask, block_mask, evaluating, shape_for, vocabulary_sums
from .prefixes import Prefixes
from .recorded import Recorder

LOGIT_BYTES = 256 * 2**20
"""Bound on the float32 copies of logits held at once."""

COMPILED = "TORCHINDUCTOR_CACHE_DIR"
"""Where torch keeps what it has compiled; by itself in a folder for temporary files."""

MODES: dict[Mode, str] = {
    "packed": "packed prefix trees",
    "cached": "batches with a shared prompt cache",
    "padded": "padded rows",
}


class Passes:
    """A model and the shape of its passes. `sparse`: whether packed rows use block-sparse attention.

    `prefixes`: the rows computed last, where the next ones are to begin from them. `recorder`: what replays passes of
    one shape.
    """

    def __init__(self, model: Any, *, reduced: bool = False) -> None:
        self.model = model
        self.device = next(model.parameters()).device
        self.dtype = next(model.parameters()).dtype
        self.shape = shape_for(model, self.device)
        self.sparse = False
        self.compiled = False
        self.prefixes: Prefixes | None = None
        self.recorder: Recorder | None = None
        self._reduced = reduced
        self._head = model.get_output_embeddings()
        self._stateful = bool(getattr(model, "_is_stateful", False))
        self._attention = getattr(model.config, "_attn_implementation", "")
        chooses = bool(getattr(model, "_supports_attention_backend", False)) and self._attention == "sdpa"
        self.segmented = chooses and self.device.type == "cpu"
        if self.device.type == "cpu" and not chooses:
            self.attend_densely()

    def attend_densely(self) -> None:
        """Give packed rows one attention mask from now on, and make them short: a CPU computes all of the mask."""
        self.segmented = False
        self.shape = self.shape._replace(row_tokens=DENSE_ROW_TOKENS)

    @property
    def vocabulary(self) -> int:
        """The number of tokens that the head predicts."""
        return len(self._head.weight)

    @property
    def may_be_sparse(self) -> bool:
        """Whether the model has block-sparse attention and rows consist of whole blocks."""
        return bool(getattr(self.model, "_supports_flex_attn", False)) and self.shape.row_tokens % BLOCK == 0

    def compile(self) -> None:
        """Compile the model layer by layer: layers of a kind share one compilation, which takes seconds.

        It is kept for the next process, which then takes a quarter of that.
        """
        os.environ.setdefault(COMPILED, str(cache_folder() / "compiled"))
        for layer in self.layers:
            layer.compile(dynamic=False)
        self.compiled = True

    def decompile(self) -> None:
        """Use the layers as they were before `compile`."""
        for layer in self.layers:
            layer._compiled_call_impl = None
        self.compiled = False

    @property
    def layers(self) -> list[Any]:
        """The layers of the model, from the first to the last."""
        lists = [module for module in self.model.modules() if isinstance(module, torch.nn.ModuleList)]
        return list(max(lists, key=len, default=()))

    def run(self, rows: Sequence[Row], mode: Mode) -> tuple[NDArray[np.int64], torch.Tensor]:
        """Return how many tokens each row predicts, and a row of values for each of them, still on the device.

        The values are the log-probability and, on request, the sums over the vocabulary.
        """
        return self._cached(rows) if mode == "cached" else self._stacked(rows, packed=mode == "packed")

    def tensor(self, array: NDArray[Any]) -> torch.Tensor:
        """Return the array on the device; a GPU copies it while it computes."""
        tensor = torch.from_numpy(array)
        return tensor.pin_memory().to(self.device, non_blocking=True) if self.device.type == "cuda" else tensor

    @torch.inference_mode()
    def _stacked(self, rows: Sequence[Row], *, packed: bool) -> tuple[NDArray[np.int64], torch.Tensor]:
        fixed = packed and self.shape.fixed
        work = stack(rows, height=self.shape.rows if fixed else 0, width=self.shape.row_tokens if fixed else 0)
        in_segments = packed and self.segmented and len(rows) == 1
        sparse = packed and self.sparse and work.tokens.shape[1] == self.shape.row_tokens
        self._attend(SEGMENTED if in_segments else "flex_attention" if sparse else self._attention)
        if in_segments:
            (row,) = rows
            return work.counts, self._in_segments(row, work)
        if packed:
            ends = self.tensor(work.ends)
            inputs: dict[str, Any] = {
                "position_ids": self.tensor(work.depths),
                "attention_mask": block_mask(ends) if sparse else ancestor_mask(ends, self.dtype),
            }
        else:
            mask = np.arange(work.tokens.shape[1]) < work.lengths[:, None]
            inputs = {"attention_mask": self.tensor(mask.astype(np.int64))}
        inputs |= {"input_ids": self.tensor(work.tokens), "use_cache": False}
        with self.recorder.in_use() if self.recorder and fixed and not sparse else nullcontext():
            output = self._forward(self.tensor(work.sources), **inputs)
        return work.counts, self._values(output.logits.squeeze(0), self.tensor(work.picks), self.tensor(work.targets))

    def _in_segments(self, row: Row, work: Pass) -> torch.Tensor:
        """Return the values of one row, of which only the nodes are computed that are not known from rows before."""
        recall = self.prefixes.recall(row) if self.prefixes is not None else None
        fresh = np.arange(len(row)) if recall is None else recall.fresh
        parts = segments(row.depths, row.ends)
        output = self._forward(
            self.tensor(np.searchsorted(fresh, work.sources)),
            input_ids=self.tensor(work.tokens[:, fresh]),
            position_ids=self.tensor(work.depths[:, fresh]),
            segments=segment_views(parts, self.tensor(row.ends), self.tensor(fresh), self.dtype),
            recall=recall,
            use_cache=False,
        )
        if self.prefixes is not None and recall is not None:
            self.prefixes.keep(recall)
        return self._values(output.logits.squeeze(0), self.tensor(work.picks), self.tensor(work.targets))

    @torch.inference_mode()
    def _cached(self, rows: Sequence[Row]) -> tuple[NDArray[np.int64], torch.Tensor]:
        """Run the prompts, then their continuations token by token, without padding: every architecture can do that."""
        work = fork(rows)
        self._attend(self._attention)
        count, stem = work.stems.shape
        ends = torch.arange(1, count + 1, device=self.device) * stem - 1
        output = self._forward(ends, input_ids=self.tensor(work.stems), use_cache=True)
        logits = [output.logits.squeeze(0)]
        if len(work.branches):
            name = "cache_params" if hasattr(output, "cache_params") else "past_key_values"
            cache = output[name]
            cache.reorder_cache(self.tensor(work.roots))
            everyone = torch.arange(len(work.branches), device=self.device)
            steps = []
            for column in work.branches.T:
                tokens = self.tensor(np.ascontiguousarray(column))[:, None]
                steps.append(
                    self._forward(everyone, input_ids=tokens, use_cache=True, **{name: cache}).logits.squeeze(0)
                )
            # By branch, then by depth: as the sources count them.
            logits.append(torch.stack(steps, dim=1).flatten(0, 1)[self.tensor(work.sources)])
        return work.counts, self._values(torch.cat(logits), self.tensor(work.picks), self.tensor(work.targets))

    @property
    def steps(self) -> bool:
        """Whether the model can be run token by token with a cache that rows can be taken out of."""
        return bool(getattr(self.model, "_supports_attention_backend", False)) and not self._stateful

    @torch.inference_mode()
    def step(self, tokens: torch.Tensor, seen: torch.Tensor, places: torch.Tensor, cache: Any) -> tuple[Any, Any]:
        """Return the logits after the last token of each row, and the cache of all tokens so far."""
        self._attend(GROUPED if self._attention == "sdpa" else self._attention)
        rows, width = tokens.shape
        last = torch.arange(1, rows + 1, device=tokens.device) * width - 1
        inputs = {"attention_mask": seen, "position_ids": places, "past_key_values": cache}
        output = self._forward(last, input_ids=tokens, use_cache=True, **inputs)
        return output.logits.squeeze(0), output.past_key_values

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Put the model into evaluation mode; at the end it is as it was, its attention, too."""
        try:
            with evaluating(self.model):
                yield
        finally:
            self._attend(self._attention)

    def _attend(self, implementation: str) -> None:
        """Make the model use that implementation of attention from now on."""
        if implementation != self.model.config._attn_implementation:
            self.model.set_attn_implementation(implementation)

    def _forward(self, sources: torch.Tensor, **inputs: Any) -> Any:
        """Return the model's output with the logits of the sources only: the head computes no other position."""

        with head_at(self._head, sources):
            return self.model(**inputs)

    def _values(self, logits: torch.Tensor, picks: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the values of every target, in float32 whatever the model's dtype."""
        step = max(1, LOGIT_BYTES // (4 * logits.shape[1]))
        parts = [logits[start : start + step] for start in range(0, len(logits), step)]
        totals, sums = [], []
        for part in parts:
            wide = part.float()
            totals.append(wide.logsumexp(dim=1))
            sums += [vocabulary_sums(wide)] if self._reduced else []
        values = (logits[picks, targets].float() - torch.cat(totals)[picks])[:, None]
        return torch.cat([values, torch.cat(sums)[picks]], dim=1) if self._reduced else values
