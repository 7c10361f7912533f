"""Facts about a transformers model that the engine needs, and the masks of its packed rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.nn.attention.flex_attention import BlockMask
from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

from ...files import sha256
from ..packing.shape import Shape, choose_shape, free_memory

CHECKSUM_BYTES = 2**24
"""Bytes of a tensor that are summed at once."""

BLOCK = 128
"""Side of the blocks of block-sparse attention."""


def ancestor_mask(ends: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return the additive mask (rows, 1, nodes, nodes) that lets a node see its ancestors and itself."""
    node = torch.arange(ends.shape[1], device=ends.device)
    sees = (node[None, None, :] <= node[None, :, None]) & (node[None, :, None] < ends[:, None, :])
    hidden = torch.finfo(dtype).min
    return torch.zeros(sees.shape, dtype=dtype, device=ends.device).masked_fill(~sees, hidden).unsqueeze(1)


def block_mask(ends: torch.Tensor) -> Any:
    """Return the same mask block-sparse: it skips blocks of keys that no query in a block descends from."""
    rows, width = ends.shape
    blocks = width // BLOCK
    reach = ends.view(rows, 1, blocks, BLOCK).amax(dim=-1)
    query = torch.arange(blocks, device=ends.device)[:, None]
    key = torch.arange(blocks, device=ends.device)[None, :]
    active = (key <= query) & (reach > query * BLOCK)
    order = active.to(torch.int8).argsort(dim=-1, descending=True, stable=True).to(torch.int32)
    counts = active.sum(dim=-1, dtype=torch.int32)

    def sees(row: torch.Tensor, head: torch.Tensor, at: torch.Tensor, looked_at: torch.Tensor) -> torch.Tensor:
        return (looked_at <= at) & (at < ends[row, looked_at])

    return BlockMask.from_kv_blocks(
        counts.unsqueeze(1), order.unsqueeze(1), BLOCK_SIZE=BLOCK, mask_mod=sees, seq_lengths=(width, width)
    )


def vocabulary_sums(logits: torch.Tensor) -> torch.Tensor:
    """Return entropy in nats and overlap with the uniform distribution of each row of float32 logits, as (rows, 2)."""
    shares = logits.log_softmax(dim=1)
    entropy = torch.special.entr(shares.exp()).sum(dim=1)
    overlap = (shares / 2).exp().sum(dim=1) / logits.shape[1] ** 0.5
    return torch.stack([entropy, overlap], dim=1)


def shape_for(model: Any, device: torch.device) -> Shape:
    """Return how much of this model to compute at once on that device."""
    config = model.config.get_text_config()
    hidden = int(getattr(config, "hidden_size", 1024))
    inner = getattr(config, "intermediate_size", None) or 4 * hidden
    return choose_shape(
        device.type,
        free=torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else free_memory(),
        hidden=hidden,
        inner=int(max(inner) if isinstance(inner, (list, tuple)) else inner),
        vocabulary=int(model.get_output_embeddings().weight.shape[0]),
        itemsize=next(model.parameters()).element_size(),
    )


def is_on_one_gpu(model: Any) -> bool:
    """Return whether all of a model of transformers is on one GPU."""
    devices = {parameter.device for parameter in model.parameters()}
    return type(model).__module__.startswith("transformers.models.") and [d.type for d in devices] == ["cuda"]


def linear_layers(model: Any) -> list[tuple[Any, str, torch.nn.Linear]]:
    """Return the plain linear layers of a model, but its head: each with its parent and its name there."""
    head = model.get_output_embeddings()
    return [
        (parent, name, layer)
        for parent in list(model.modules())
        for name, layer in list(parent.named_children())
        # Not a subclass of Linear: it may do more.
        if type(layer) is torch.nn.Linear and layer is not head
    ]


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Put the model into evaluation mode, and back at the end."""
    if not any(module.training for module in model.modules()):
        yield
        return
    training = bool(model.training)
    model.eval()
    try:
        yield
    finally:
        model.train(training)


def parameters_sha256(model: Any) -> str:
    """Return a hash of all weights of a model in memory, made of sums that the model's device computes."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        if not isinstance(tensor, torch.Tensor):
            continue
        digest.update(json.dumps([name, str(tensor.dtype), list(tensor.shape), _checksums(tensor)]).encode())
    return digest.hexdigest()


@torch.inference_mode()
def _checksums(tensor: torch.Tensor) -> list[int]:
    """Return two sums over the bytes of a tensor, plain and weighted by place; both wrap around at 64 bits."""
    numbers = tensor.detach().contiguous().reshape(-1).view(torch.uint8)
    sums = [0, 0]
    for start in range(0, len(numbers), CHECKSUM_BYTES):
        part = numbers[start : start + CHECKSUM_BYTES].long()
        places = torch.arange(start, start + len(part), device=part.device)
        weights = places * 0x5851F42D4C957F2D + 0x14057B7EF767814F
        sums = [sums[0] + int(part.sum()), sums[1] + int((part * (weights ^ (weights >> 29))).sum())]
    return [value % 2**64 for value in sums]


def gpus() -> list[str]:
    """Return the names of this machine's GPUs."""
    return [f"cuda:{number}" for number in range(torch.cuda.device_count())]


def is_encoder(config: Any) -> bool:
    """Return whether a model of this configuration sees the whole text, and so predicts masked words only."""
    masked = config.model_type in MODEL_FOR_MASKED_LM_MAPPING_NAMES
    return masked and not any(getattr(config, name, False) for name in ("is_decoder", "causal", "is_encoder_decoder"))


def window(config: Any) -> int | None:
    """Return how many tokens back the model's attention looks, None where it looks back to the beginning."""
    text = config.get_text_config()
    if set(getattr(text, "layer_types", None) or ()) == {"full_attention"}:
        return None
    names = ("sliding_window", "attention_chunk_size", "window_size", "local_attention", "attention_window_size")
    sizes = [getattr(text, name, None) for name in names]
    return min((size for size in sizes if isinstance(size, int) and size > 0), default=None)


def config_sha256(config: Any) -> str:
    """Return a hash of the settings that decide how the weights are used."""
    unused = ("_name_or_path", "transformers_version", "architectures", "dtype", "torch_dtype")
    content = {key: value for key, value in config.to_dict().items() if key not in unused}
    return sha256(json.dumps(content, sort_keys=True, default=str))


def describe_gpus() -> list[str]:
    """Return each GPU that torch can use with its name and memory, such as "cuda:0 (NVIDIA H200, 139 GiB)"."""
    properties = [torch.cuda.get_device_properties(number) for number in range(torch.cuda.device_count())]
    names = [f"cuda:{number} ({item.name}, {item.total_memory >> 30} GiB)" for number, item in enumerate(properties)]
    return [*names, *(["mps (Apple)"] if torch.backends.mps.is_available() else [])]
