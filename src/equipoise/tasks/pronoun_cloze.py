"""Cloze: which pronoun does the model put at its place? And the whole sentence: with which pronoun is it likelier?

Both take sentence pairs (`slots` before, more, less), and sentences about a pronoun, of which the one with the male
pronoun stands for its set. Their outcomes have the group `sides`, the names of the candidates in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..records import DatasetError, EquipoiseError, Example, Outcomes, Prompt, Score
from .answers import gather

FORMS: Mapping[str, tuple[str, str, str]] = {
    "he": ("he", "she", "they"),
    "him": ("him", "her", "them"),
    "his": ("his", "her", "their"),
    "himself": ("himself", "herself", "themself"),
}
"""The male pronoun -> the pronouns of its form. A "her" alone does not say which it is, so none starts from it."""

GENDERS = ("male", "female", "neutral")
_GENDER_OF = {word: gender for words in FORMS.values() for word, gender in zip(words, GENDERS, strict=True)}
_JOINS: Mapping[str, Callable[[Sequence[float]], Any]] = {"sum": np.sum, "mean": np.mean, "max": np.max}


@dataclass(frozen=True)
class PronounCloze:
    """The Gender-ECE paper's task: the probability of each side's words given what precedes them.

    `length` joins the tokens of a word: the "sum" of their log-probabilities, their "mean", or the largest alone
    ("max", as the paper's code has it, which makes a word of several tokens look likelier than it is).
    """

    length: str = "sum"
    name: str = "cloze"

    def __post_init__(self) -> None:
        _check_length(self.length)

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"context": "what precedes the pronoun", "length": self.length}

    def prompts(self, example: Example) -> list[Prompt]:
        return [_prompt(pair, self.name, pair.candidates) for pair in sided([example])]

    def outcomes(self, examples: Sequence[Example], prompts: Sequence[Prompt], scores: Sequence[Score]) -> Outcomes:
        return _outcomes(examples, prompts, scores, self.length)


@dataclass(frozen=True)
class WholeSentence:
    """The log-likelihood of each whole sentence: what follows the pronoun speaks too.

    What precedes the first difference is the same in both and cancels out, so it is read, but not counted.
    """

    length: str = "sum"
    name: str = "sentence"

    def __post_init__(self) -> None:
        _check_length(self.length)

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"context": "what both sentences begin with", "length": self.length}

    def prompts(self, example: Example) -> list[Prompt]:
        return [_prompt(pair, self.name, (pair.slots["more"], pair.slots["less"])) for pair in _two_sided([example])]

    def outcomes(self, examples: Sequence[Example], prompts: Sequence[Prompt], scores: Sequence[Score]) -> Outcomes:
        return _outcomes(_two_sided(examples), prompts, scores, self.length)


def sided(examples: Iterable[Example]) -> list[Example]:
    """Return the examples as sentence pairs, with the group `sides`; of a set of sentences only the male one."""
    pairs = []
    for example in examples:
        pair = _as_pair(example)
        if pair is not None:
            genders = [_GENDER_OF.get(word.lower(), "") for word in pair.candidates]
            sides = "|".join(genders) if all(genders) and len(set(genders)) == len(genders) else "more|less"
            pairs.append(replace(pair, groups={**pair.groups, "sides": sides}))
    return pairs


def _as_pair(example: Example) -> Example | None:
    """Return the example as a sentence pair, None for one whose set another example stands for."""
    if "more" in example.slots:
        return example
    word = example.slots.get("pronoun", "")
    if not word:
        raise DatasetError(f"example {example.id}: is no sentence pair and has no pronoun, so it cannot be a cloze")
    if word not in FORMS:
        return None
    place = _place(example.text, word)
    words = FORMS[word][: 3 if example.slots.get("neutral") else 2]
    rest = example.text[place + len(word) :]
    slots = {"before": example.text[:place].rstrip(), "more": words[0] + rest, "less": words[1] + rest}
    groups = {key: value for key, value in example.groups.items() if key not in ("gender", "stereotype")}
    # Whom the pronoun means is known, which pronoun is right is not: there is no label.
    pair = replace(example, gold=None, answerable=False, stereotype=None)
    return replace(pair, candidates=words, groups=groups, slots={**example.slots, **slots})


def _place(text: str, word: str) -> int:
    padded = "".join(character if character.isalnum() else " " for character in f" {text.lower()} ")
    place = padded.find(f" {word} ")
    if place < 0:
        raise DatasetError(f"the pronoun {word!r} is not in the sentence {text!r}")
    return place


def _two_sided(examples: Iterable[Example]) -> list[Example]:
    """Return sentence pairs of two sides only: "they" may need another verb, so a sentence is not just filled in."""
    pairs = []
    for pair in sided(examples):
        sides = "|".join(pair.groups["sides"].split("|")[:2])
        pairs.append(replace(pair, candidates=pair.candidates[:2], groups={**pair.groups, "sides": sides}))
    return pairs


def _prompt(pair: Example, task: str, continuations: Sequence[str]) -> Prompt:
    before = pair.slots["before"]
    # The space belongs to the word, as tokenizers have it in running text; a sentence's first word has none.
    space = " " if before else ""
    return Prompt(pair.id, task, "", before, tuple(f"{space}{text}" for text in continuations))


def _outcomes(examples: Sequence[Example], prompts: Sequence[Prompt], scores: Sequence[Score], length: str) -> Outcomes:
    if not prompts:
        raise DatasetError(
            "no sentence of the dataset has a male pronoun or is a sentence pair, so nothing can be asked"
        )
    judged = np.array([[_JOINS[length](tokens) for tokens in score.token_logprobs] for score in scores])
    return gather(sided(examples), list(zip(prompts, scores, strict=True)), judged=judged)


def _check_length(length: str) -> None:
    if length not in _JOINS:
        raise EquipoiseError(f"length must be {', '.join(_JOINS)} in this task, not {length!r}")
