"""Attention for one new token at a time, without a copy of the cache for every query head.

transformers repeats keys and values for all query heads that share them. With thousands of texts at once, that copy
takes most of the time; here the heads that share keys are multiplied with them together.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

GROUPED = "equipoise_grouped"
"""The name under which transformers knows it; it stands in for "sdpa"."""


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
