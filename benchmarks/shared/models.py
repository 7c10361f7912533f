"""Models with random weights: in the shape of real ones, where only time counts, or tiny, where only running counts."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from tiny import LLAMA, make_model, make_tokenizer
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.utils import logging

NAMES = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads")
SHAPES = {
    "tiny": dict(zip(NAMES, (32, 64, 2, 4, 2), strict=True)),
    "smollm2": dict(zip(NAMES, (576, 1536, 30, 9, 3), strict=True)),
    "8b": dict(zip(NAMES, (4096, 14_336, 32, 32, 8), strict=True)),
}


def device() -> str:
    """Return where models are: on the GPU, where there is one."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def wait() -> None:
    """Wait until the GPU has done what it was given."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def peak_gib() -> float:
    """Return the most memory of the GPU that was held since the last call."""
    if not torch.cuda.is_available():
        return 0.0
    peak = torch.cuda.max_memory_allocated() / 2**30
    torch.cuda.reset_peak_memory_stats()
    return peak


def llama(shape: str, vocabulary: int, **settings: object) -> LlamaForCausalLM:
    """Return a model of that shape with random weights, bfloat16 on a GPU and float32 on a CPU."""
    config = LlamaConfig(vocab_size=vocabulary, tie_word_embeddings=False, **SHAPES[shape], **settings)
    torch.manual_seed(0)
    with torch.device(device()):
        torch.set_default_dtype(torch.bfloat16 if torch.cuda.is_available() else torch.float32)
        model = LlamaForCausalLM(config)
        torch.set_default_dtype(torch.float32)
    return model.eval()


def tiny_folder(folder: Path) -> Path:
    """Return a folder with a tiny model and its tokenizer, such as `audit` takes."""
    logging.disable_progress_bar()
    tokenizer = make_tokenizer()
    make_model("LlamaConfig", len(tokenizer), **LLAMA).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def first_layers(source: Path, folder: Path, layers: int) -> Path:
    """Return a folder with the first layers of a model: it loads in a moment."""
    folder.mkdir()
    for file in source.iterdir():
        (folder / file.name).symlink_to(file)
    config = json.loads((source / "config.json").read_text()) | {"num_hidden_layers": layers}
    (folder / "config.json").unlink()
    (folder / "config.json").write_text(json.dumps(config))
    return folder
