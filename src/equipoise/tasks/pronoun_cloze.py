"""Cloze: which pronoun does the model put at its place? And the whole sentence: with which pronoun is it likelier?

Both take sentence pairs (`Example.pair`) and sentences about a pronoun. Of a set of such sentences the one with the
male pronoun is asked, as a pair with the other pronouns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..options import AnswerOptions
from ..records import DatasetError, EquipoiseError, Example, Outcomes, Prompt, Score, SentencePair
from .outcomes import examples_of, gather
from .task import Scorer, Writer, ask

FORMS: Mapping[str, tuple[str, str, str]] = {
    "he": ("he", "she", "they"),
    "him": ("him", "her", "them"),
    "his": ("his", "her", "their"),
    "himself": ("himself", "herself", "themself"),
}
"""The male pronoun -> the pronouns of its form. "her" has two forms, so no pair starts from it."""

GENDERS = ("male", "female", "neutral")
_AGGREGATES: Mapping[str, Callable[[Sequence[float]], Any]] = {"sum": np.sum, "mean": np.mean, "max": np.max}


@dataclass(frozen=True)
class PronounCloze:
    """The Gender-ECE paper's task: the probability of each side's words given what precedes them.

    `whole` asks for the whole sentence: what follows the pronoun counts, too. What precedes the first difference is the
    same in both sentences and cancels out, so it is read but not counted.
    `token_aggregate` joins the tokens of a word: the "sum" of their log-probabilities, their "mean", or the largest
    alone ("max", as the paper's code does, which makes a word of several tokens look likelier than it is).
    """

    token_aggregate: str = AnswerOptions.token_aggregate
    whole: bool = False

    def __post_init__(self) -> None:
        if self.token_aggregate not in _AGGREGATES:
            known = ", ".join(_AGGREGATES)
            raise EquipoiseError(f"token_aggregate must be {known} in this task, not {self.token_aggregate!r}")

    @property
    def name(self) -> str:
        return "sentence" if self.whole else "cloze"

    @property
    def settings(self) -> Mapping[str, Any]:
        context = "what both sentences begin with" if self.whole else "the text before the pronoun"
        return {"context": context, "token_aggregate": self.token_aggregate}

    def run(self, examples: Sequence[Example], *, scorer: Scorer, writer: Writer) -> Outcomes:
        return ask(self, examples, scorer)

    def prompts(self, example: Example) -> list[Prompt]:
        """Return the words of each side after what precedes them; nothing for an example whose set is asked already."""
        return [
            _prompt(pair, self.name, pair.pair.rests if self.whole and pair.pair else pair.candidates)
            for pair in self._pairs([example])
        ]

    def outcomes(self, examples: Sequence[Example], prompts: Sequence[Prompt], scores: Sequence[Score]) -> Outcomes:
        """Return the outcomes; `scores` are parallel to `prompts`."""
        if not prompts:
            raise DatasetError("the dataset has no sentence pair and no sentence with a male pronoun to ask about")
        join = _AGGREGATES[self.token_aggregate]
        preferences = np.array([_joined(join, score) for score in scores])
        asked = examples_of(prompts, self._pairs(examples))
        return gather(asked, prompts, scores, preferences=preferences)

    def _pairs(self, examples: Iterable[Example]) -> list[Example]:
        pairs = sentence_pairs(examples)
        return [_two_sided(pair) for pair in pairs] if self.whole else pairs


def _joined(join: Callable[[Sequence[float]], Any], score: Score) -> list[float]:
    """Return the joined tokens of each side's words; words that begin the other side's count without going on."""
    values = [float(join(tokens)) for tokens in score.token_logprobs]
    return [value + stop for value, stop in zip(values, score.stops, strict=True)] if score.stops else values


def sentence_pairs(examples: Iterable[Example]) -> list[Example]:
    """Return the examples as sentence pairs; of a set of sentences about a pronoun only the male one."""
    pairs = (_as_pair(example) for example in examples)
    return [pair for pair in pairs if pair is not None]


def _as_pair(example: Example) -> Example | None:
    """Return the example as a sentence pair; None where another example of its set is asked instead."""
    if example.pair is not None:
        return example
    word = example.slots.get("pronoun", "")
    if not word:
        raise DatasetError(f"example {example.id}: is not a sentence pair and has no pronoun, so it cannot be a cloze")
    if word not in FORMS:
        return None
    place = _place(example.text, word)
    words = FORMS[word][: 3 if example.slots.get("neutral") else 2]
    rest = example.text[place + len(word) :]
    pair = SentencePair(
        example.text[:place].rstrip(), tuple(pronoun + rest for pronoun in words), GENDERS[: len(words)]
    )
    groups = {key: value for key, value in example.groups.items() if key not in ("gender", "stereotype")}
    # Whom the pronoun means is known, which pronoun is right is not: there is no label.
    unlabelled = replace(example, gold=None, answerable=False, stereotype=None)
    return replace(unlabelled, candidates=words, groups=groups, pair=pair)


def _place(text: str, word: str) -> int:
    padded = "".join(character if character.isalnum() else " " for character in f" {text.lower()} ")
    place = padded.find(f" {word} ")
    if place < 0:
        raise DatasetError(f"the pronoun {word!r} is not in the sentence {text!r}")
    return place


def _two_sided(example: Example) -> Example:
    """Return a sentence pair with two sides only: "they" may need another verb, so it cannot simply be filled in."""
    assert example.pair is not None
    pair = replace(example.pair, rests=example.pair.rests[:2], sides=example.pair.sides[:2])
    return replace(example, candidates=example.candidates[:2], pair=pair)


def _prompt(example: Example, task: str, continuations: Sequence[str]) -> Prompt:
    before = example.pair.before if example.pair else ""
    # The space belongs to the word, as in running text; the first word of a sentence has none.
    space = " " if before else ""
    return Prompt(example.id, task, "", before, tuple(f"{space}{text}" for text in continuations))
