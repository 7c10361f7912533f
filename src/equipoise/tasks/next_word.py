"""Next word: which candidate does the model say after `<sentence> The pronoun "<pronoun>" refers to the`?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..records import BASELINE, DatasetError, EquipoiseError, Example, Floats, Outcomes, Prompt, Score, marked_slot
from .answers import gather

QUESTION = '{text} The pronoun "{pronoun}" refers to the'
WITHOUT_SENTENCE = "The pronoun refers to the"


@dataclass(frozen=True)
class NextWord:
    """The UCerF paper's intrinsic task.

    `length` says how the tokens of a candidate are joined: "sum" of their log-probabilities (the paper's), "mean"
    over them, or "pmi", the sum less that of the same words without the sentence. Where the sentence marks a candidate
    ("the young nurse"), the candidate with its marker is scored beside it (see `Outcomes.marked`).
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
        continuations = (*(f" {candidate}" for candidate in example.candidates), *marked_forms(example).values())
        prompts = [Prompt(example.id, self.name, "", question, continuations)]
        if self.length == "pmi":
            prompts.append(Prompt(example.id, self.name, BASELINE, WITHOUT_SENTENCE, continuations))
        return prompts

    def outcomes(self, examples: Sequence[Example], prompts: Sequence[Prompt], scores: Sequence[Score]) -> Outcomes:
        answers = list(zip(prompts, scores, strict=True))
        asked = [(prompt, score) for prompt, score in answers if prompt.variant != BASELINE]
        known = {example.id: example for example in examples}
        sizes = [len(known[prompt.example_id].candidates) for prompt, _ in asked]
        logprobs = np.array([score.logprobs[:k] for (_, score), k in zip(asked, sizes, strict=True)])
        judged = None
        if self.length == "mean":
            judged = np.array(
                [
                    [np.mean(tokens) for tokens in score.token_logprobs[:k]]
                    for (_, score), k in zip(asked, sizes, strict=True)
                ]
            )
        elif self.length == "pmi":
            baseline = {prompt.example_id: score.logprobs for prompt, score in answers if prompt.variant == BASELINE}
            unsaid = [baseline[prompt.example_id][:k] for (prompt, _), k in zip(asked, sizes, strict=True)]
            judged = logprobs - np.array(unsaid)
        marked = _with_markers([known[prompt.example_id] for prompt, _ in asked], logprobs, [s for _, s in asked])
        return gather(examples, asked, judged=judged, logprobs=logprobs, marked=marked)


def marked_forms(example: Example) -> dict[int, str]:
    """Return how each candidate continues the question with the marker its sentence gives it, by the candidate."""
    slots = {index: example.slots.get(marked_slot(index)) for index in range(len(example.candidates))}
    return {index: f" {form}" for index, form in slots.items() if form}


def _with_markers(examples: Sequence[Example], logprobs: Floats, scores: Sequence[Score]) -> Floats | None:
    """Return the log-probability of naming each candidate, with its marker or without; None if there are no markers."""
    forms = [marked_forms(example) for example in examples]
    if not any(forms):
        return None
    marked: Floats = logprobs.copy()
    for row, (example, own, score) in enumerate(zip(examples, forms, scores, strict=True)):
        # "nurse" and "young nurse" exclude each other as what is said next: their probabilities add up.
        for place, index in enumerate(own, start=len(example.candidates)):
            marked[row, index] = np.logaddexp(marked[row, index], score.logprobs[place])
    return np.minimum(marked, 0.0)


def pronoun_of(example: Example) -> str:
    """Return the pronoun the question is about."""
    if "more" in example.slots:
        raise DatasetError(f"example {example.id}: is a sentence pair; ask for it with --task cloze or --task sentence")
    pronoun = example.slots.get("pronoun")
    if not pronoun:
        raise DatasetError(f"example {example.id}: has no pronoun to ask about")
    return pronoun
