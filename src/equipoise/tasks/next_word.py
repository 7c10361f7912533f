"""Next word: which candidate does the model say after `<sentence> The pronoun "<pronoun>" refers to the`?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..records import DatasetError, EquipoiseError, Example, Outcomes, Prompt, Score
from .answers import gather

QUESTION = '{text} The pronoun "{pronoun}" refers to the'
WITHOUT_SENTENCE = "The pronoun refers to the"
BASELINE = "baseline"


@dataclass(frozen=True)
class NextWord:
    """The UCerF paper's intrinsic task.

    `length` says how the tokens of a candidate are joined: "sum" of their log-probabilities (the paper's), "mean"
    over them, or "pmi", the sum less that of the same words without the sentence.
    """

    length: str = "sum"
    name: str = "next-word"

    def __post_init__(self) -> None:
        if self.length not in ("sum", "mean", "pmi"):
            raise EquipoiseError(f"length must be sum, mean or pmi, not {self.length!r}")

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"question": QUESTION, "length": self.length}

    def prompts(self, example: Example) -> list[Prompt]:
        question = QUESTION.format(text=example.text, pronoun=pronoun_of(example))
        continuations = tuple(f" {candidate}" for candidate in example.candidates)
        prompts = [Prompt(example.id, self.name, "", question, continuations)]
        if self.length == "pmi":
            prompts.append(Prompt(example.id, self.name, BASELINE, WITHOUT_SENTENCE, continuations))
        return prompts

    def outcomes(self, examples: Sequence[Example], prompts: Sequence[Prompt], scores: Sequence[Score]) -> Outcomes:
        answers = list(zip(prompts, scores, strict=True))
        asked = [(prompt, score) for prompt, score in answers if prompt.variant != BASELINE]
        if self.length == "mean":
            judged = np.array([[np.mean(tokens) for tokens in score.token_logprobs] for _, score in asked])
            return gather(examples, asked, judged=judged)
        if self.length == "pmi":
            baseline = {prompt.example_id: score.logprobs for prompt, score in answers if prompt.variant == BASELINE}
            judged = np.array([np.subtract(score.logprobs, baseline[prompt.example_id]) for prompt, score in asked])
            return gather(examples, asked, judged=judged)
        return gather(examples, asked)


def pronoun_of(example: Example) -> str:
    """Return the pronoun the question is about."""
    if "more" in example.slots:
        raise DatasetError(f"example {example.id}: is a sentence pair; ask for it with --task cloze or --task sentence")
    pronoun = example.slots.get("pronoun")
    if not pronoun:
        raise DatasetError(f"example {example.id}: has no pronoun to ask about")
    return pronoun
