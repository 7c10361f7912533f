"""Two kinds of attention that transformers does not have; both give what its own gives.

Grouped, for one new token at a time: transformers repeats keys and values for all query heads that share them. With
thousands of texts at once, that copy takes most of the time; here the heads that share keys are multiplied with them
together.

Segmented, for packed rows on a CPU: each segment of a row attends to itself and to its ancestors, and to nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from ..packing.prefix_tree import Segment
from .prefixes import Recall

GROUPED = "equipoise_grouped"
SEGMENTED = "equipoise_segmented"
"""The names under which transformers knows them; they stand in for "sdpa"."""


class SegmentView(NamedTuple):
    """The computed nodes from `start` to `stop`, the nodes of the row that any of them sees, and which each sees."""

    start: int
    stop: int
    seen: torch.Tensor
    mask: torch.Tensor


def segment_views(
    segments: Sequence[Segment], ends: torch.Tensor, fresh: torch.Tensor, dtype: torch.dtype
) -> list[SegmentView]:
    """Return what the `fresh` nodes of a row's segments see; `ends` are those of all nodes (see `prefix_tree.Row`)."""
    views = []
    for start, stop, ancestors in segments:
        first, last = torch.searchsorted(fresh, torch.tensor([start, stop])).tolist()
        if first == last:
            continue
        nodes = fresh[first:last]
        seen = torch.cat([torch.from_numpy(ancestors), torch.arange(start, stop)])
        sees = (seen[None, :] <= nodes[:, None]) & (nodes[:, None] < ends[seen][None, :])
        mask = torch.zeros(sees.shape, dtype=dtype).masked_fill(~sees, torch.finfo(dtype).min)
        views.append(SegmentView(first, last, seen, mask[None, None]))
    return views


def segmented_attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    segments: Sequence[SegmentView],
    recall: Recall | None = None,
    **settings: Any,
) -> tuple[torch.Tensor, None]:
    """Return the attention of each query, as (rows, queries, heads, width); the model hands `segments` on to here.

    With `recall`, the queries are those of its fresh nodes, and keys and values those of the whole row.
    """
    if recall is not None:
        key, value = recall.joined(module.layer_idx, key, value)
    outputs = []
    for start, stop, seen, mask in segments:
        keys, values = key.index_select(2, seen), value.index_select(2, seen)
        output, _ = sdpa_attention_forward(module, query[:, :, start:stop], keys, values, mask, **settings)
        outputs.append(output)
    return torch.cat(outputs, dim=1), None


def grouped_attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    **settings: Any,
) -> tuple[torch.Tensor, None]:
    """Return the attention of each query, as (rows, queries, heads, width)."""
    rows, heads, queries, width = query.shape
    unusual = any(settings.get(name) is not None for name in ("softcap", "s_aux", "position_bias"))
    if queries > 1 or unusual or settings.get("dropout"):
        output, _ = sdpa_attention_forward(module, query, key, value, attention_mask, **settings)
        return output, None
    scale = settings.get("scaling") or width**-0.5
    grouped = query.reshape(rows, key.shape[1], heads // key.shape[1], width)
    scores = torch.matmul(grouped * scale, key.transpose(2, 3)).float()
    if attention_mask is not None:
        mask = attention_mask[:, :, :, : key.shape[2]]
        hidden = torch.finfo(scores.dtype).min
        scores = scores.masked_fill(~mask, hidden) if mask.dtype == torch.bool else scores + mask
    shares = scores.softmax(dim=-1).to(value.dtype)
    return torch.matmul(shares, value).reshape(rows, 1, heads, value.shape[3]), None


AttentionInterface.register(GROUPED, grouped_attention)
AttentionMaskInterface.register(GROUPED, sdpa_mask)
# Segments have masks of their own, so transformers makes none: there is no mask function of that name.
AttentionInterface.register(SEGMENTED, segmented_attention)
