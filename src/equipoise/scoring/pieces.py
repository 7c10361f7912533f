"""Tokenises texts piece by piece: each different piece once, however many texts share it.

A piece ends before a space between two letters or digits. A tokenizer takes part if no token of it can reach over such
a place, and neither side changes with the other; any other one is given whole texts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from typing import Any

BORDER = re.compile(r"(?<=\w)(?= \w)")
OVER_BORDER = re.compile(r"\w[ ▁](\w|$)")
"""What a token may not hold: it could reach over a border."""

MOST_PIECES = 2**16
"""Pieces that are remembered at once."""

FEW = 100
"""Texts that are tokenised whole sooner than it is found out whether they can be divided."""

GPT_2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA_3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN_2 = LLAMA_3.replace("{1,3}", "")
WORDS = (GPT_2, LLAMA_3, QWEN_2)
"""What divides texts into words for most models: all take a space between two words as the beginning of the second."""

SPACES = {"String": " "}
"""What Gemma's tokenizer replaces by "▁"."""


class Tokeniser:
    """A tokenizer of the tokenizers library, which is called with texts."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend
        self._known: dict[str, list[int]] = {}

    def __call__(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text, without special tokens."""
        if len(texts) < FEW or not self._divides:
            return self._whole(texts)
        # Another thread may tokenise at the same time, so what it looks up is never removed.
        known = self._known = self._known if len(self._known) <= MOST_PIECES else {}
        rows = [BORDER.split(text) for text in texts]
        new = list(set(chain.from_iterable(rows)).difference(known))
        known.update(zip(new, self._whole(new), strict=True))
        return [list(chain.from_iterable(map(known.__getitem__, row))) for row in rows]

    @cached_property
    def _divides(self) -> bool:
        return is_divisible(self._backend)

    def _whole(self, texts: Sequence[str]) -> list[list[int]]:
        # Directly by the tokenizers library: the wrapper in transformers takes three times as long as tokenising.
        return [encoding.ids for encoding in self._backend.encode_batch_fast(list(texts), add_special_tokens=False)]


def is_divisible(backend: Any) -> bool:
    """Return whether the ids of every text are known to be those of its pieces, one after the other."""
    model = backend.model
    if type(model).__name__ != "BPE" or model.dropout:
        return False
    # A token that was added is found in the text before all else: it must neither hold a border nor take its space.
    added = backend.get_added_tokens_decoder().values()
    if any(token.rstrip or OVER_BORDER.search(token.content) for token in added):
        return False
    normalizer, words = _parts(backend.normalizer, "normalizers"), _parts(backend.pre_tokenizer, "pretokenizers")
    if [part.get("pattern") for part in normalizer] == [SPACES]:
        # Only merges make tokens here, and what they make is in the vocabulary.
        odd = model.ignore_merges or model.continuing_subword_prefix or model.end_of_word_suffix
        plain = not odd and all(part.get("pattern") == SPACES for part in words)
        return plain and not any(map(OVER_BORDER.search, backend.get_vocab()))
    return normalizer in ([], [{"type": "NFC"}]) and any(map(_divides, words)) and all(map(_keeps_borders, words))


def _parts(part: Any, inner: str) -> list[dict[str, Any]]:
    """Return what a part of a tokenizer says of itself, or of the parts that it is a sequence of."""
    described = {} if part is None else json.loads(part.__getstate__())
    return list(described.get(inner, [described] if described else []))


def _divides(words: dict[str, Any]) -> bool:
    """Return whether this divides texts before the space of a border, and looks at nothing beyond it."""
    if words["type"] == "ByteLevel":
        return bool(words["use_regex"]) and not words["add_prefix_space"]
    is_plain = words.get("behavior") == "Isolated" and not words["invert"]
    return is_plain and words["pattern"].get("Regex") in WORDS


def _keeps_borders(words: dict[str, Any]) -> bool:
    """Return whether this changes nothing at a border, or divides there."""
    bytewise = words["type"] == "ByteLevel" and not words["add_prefix_space"]
    return bytewise or words["type"] == "Digits" or _divides(words)
