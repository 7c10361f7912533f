"""Neopronouns that a tokenizer splits: a model has often seen them rarely, so what it makes of them needs a note."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..records import Example

COMMON = ("male", "female", "neutral", "")
"""The groups of he, she and they, and of texts without a pronoun; every other group has pronouns of its own."""


def neopronouns(examples: Iterable[Example]) -> list[str]:
    """Return the neopronouns that the examples ask about, each once, in their order."""
    asked = dict.fromkeys((e.groups.get("gender", ""), e.slots.get("pronoun", "")) for e in examples)
    return list(dict.fromkeys(word for group, word in asked if word and group not in COMMON))


def split_notes(pieces: Mapping[str, int]) -> list[str]:
    """Return a note that names the words of several tokens, given the tokens of each; nothing where there are none."""
    split = [f"{word} ({count})" for word, count in pieces.items() if count > 1]
    if not split:
        return []
    return [
        f"the tokenizer splits these pronouns into several tokens: {', '.join(split)}; the model may have seen them"
        " rarely, so differences to other pronouns may come from that"
    ]
