"""Small real tokenizers and models with random weights, made on the spot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

from equipoise.scoring.engine import EngineOptions
from equipoise.scoring.huggingface.engine import HuggingFaceEngine

transformers.logging.set_verbosity_error()

WORDS = (
    " nurse",
    " driver",
    " that",
    " the",
    "The",
    " he",
    " she",
    " pronoun",
    " refers",
    " to",
    " told",
    " was",
    " A",
)
CHAT = (
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def make_tokenizer(
    words: Sequence[str] = WORDS,
    *,
    template: str | None = None,
    chat: str | None = None,
    strip: bool = False,
    bos: str | None = "<s>",
) -> PreTrainedTokenizerFast:
    """Return a byte-level BPE tokenizer that has each of the words as one token, and every byte.

    `template` is what it puts round a text, such as "<s> $A </s>".
    """
    specials = ["<s>", "</s>", "<|user|>", "<|assistant|>"]
    vocabulary = {token: i for i, token in enumerate([*specials, *sorted(pre_tokenizers.ByteLevel.alphabet())])}
    merges = []
    for word in words:
        whole = word.replace(" ", "Ġ")
        for end in range(1, len(whole)):
            pair = (whole[:end], whole[end])
            if pair not in merges:
                merges.append(pair)
                vocabulary.setdefault("".join(pair), len(vocabulary))
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    if strip:
        tokenizer.normalizer = normalizers.Strip()
    if template:
        known = [(token, i) for i, token in enumerate(specials)]
        tokenizer.post_processor = processors.TemplateProcessing(single=template, special_tokens=known)
    named = {"bos_token": bos} if bos else {}
    made = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>", **named)
    made.add_special_tokens({"additional_special_tokens": specials[2:]}, replace_extra_special_tokens=True)
    made.chat_template = chat
    return made


def make_model(kind: str, vocabulary: int, *, seed: int = 0, scale: float = 0.5, **settings: Any) -> Any:
    """Return a causal model of that configuration class, with weights so large that a wrong mask shows."""
    usual = {"vocab_size": vocabulary, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = getattr(transformers, kind)(**{**usual, **settings}, initializer_range=scale)
    for name in ("bos_token_id", "eos_token_id", "pad_token_id"):
        setattr(config, name, None)
    torch.manual_seed(seed)
    return AutoModelForCausalLM.from_config(config).float().eval()


LLAMA = {"intermediate_size": 48, "num_key_value_heads": 2, "max_position_embeddings": 512}


def make_engine(kind: str = "LlamaConfig", *, bos: str = "auto", template: str | None = None, **settings: Any) -> Any:
    """Return the engine of a tiny model."""
    tokenizer = make_tokenizer(template=template)
    model = make_model(kind, len(tokenizer), **(settings or LLAMA))
    return HuggingFaceEngine(
        model, tokenizer, name=kind, weights={"sha256": f"{kind} {settings}"}, options=EngineOptions(bos=bos)
    )
