"""Next word: which candidate does the model say after `<sentence> The pronoun "<pronoun>" refers to the`?

An example that is not about a pronoun is asked in its own words, or in the user's (tasks/wording.py).
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..options import AnswerOptions
from ..records import (
    BASELINE,
    EquipoiseError,
    Example,
    Floats,
    Limits,
    ModelError,
    Outcomes,
    Prompt,
    Score,
    marked_names,
)
from ..records.scripts import space_before
from .outcomes import check_counts, examples_of, gather, outcome_limits
from .task import Scorer, Writer, ask
from .wording import NO_SHOTS, WORDINGS, Question, Shots, Wording, fill, question_settings, wordings_for


@dataclass(frozen=True)
class NextWord:
    """The UCerF paper's intrinsic task.

    `token_aggregate` says how the tokens of a candidate are joined: "sum" of their log-probabilities (the paper's),
    "mean" over them, or "pmi", the sum minus that of the same words without the sentence. Where the sentence marks a
    candidate ("the young nurse"), the candidate with its marker is scored too (see `Outcomes.logprobs_with_marker`).
    """

    token_aggregate: str = AnswerOptions.token_aggregate
    questions: tuple[Question, ...] = ()
    shots: Shots = NO_SHOTS
    name: str = "next-word"

    def __post_init__(self) -> None:
        if self.token_aggregate not in ("sum", "mean", "pmi"):
            raise EquipoiseError(f"token_aggregate must be sum, mean or pmi, not {self.token_aggregate!r}")
        if self.token_aggregate == "pmi" and len(self.questions) > 1:
            raise EquipoiseError(f"token_aggregate pmi takes one question, not {len(self.questions)}")

    @property
    def settings(self) -> Mapping[str, Any]:
        questions = question_settings(self.questions) or [wording.beginning for wording in WORDINGS.values()]
        return {"questions": questions, "token_aggregate": self.token_aggregate, "shots": self.shots.settings}

    def run(self, examples: Sequence[Example], *, scorer: Scorer, writer: Writer) -> Outcomes:
        return ask(self, examples, scorer)

    def prompts(self, example: Example) -> list[Prompt]:
        """Return the question in each wording and, for pmi, the same continuations without the sentence."""
        quote = example.slots.get("quote", "")  # answers in quotation marks, as discrim-eval asks for
        continuations = _named(example.candidates, quote)
        if marked := marked_forms(example):
            continuations = (*continuations, *marked.values())
        wordings = wordings_for(example, self.questions)
        prompts = [
            Prompt(example.id, self.name, variant, self._context(example, variant, wording), continuations)
            for variant, wording in wordings.items()
        ]
        if self.token_aggregate == "pmi":
            (wording,) = wordings.values()
            prompts.append(Prompt(example.id, self.name, BASELINE, fill(wording.alone, example), continuations))
        return prompts

    def _context(self, example: Example, variant: str, wording: Wording) -> str:
        def shown(shot: Example) -> str:
            beginning = wordings_for(shot, self.questions)[variant].beginning
            answer = shot.candidates[shot.gold or 0]
            return f"{fill(beginning, shot)}{space_before(answer)}{answer}."

        return self.shots.before(fill(wording.beginning, example), example, shown)

    def outcomes(self, examples: Sequence[Example], prompts: Sequence[Prompt], scores: Sequence[Score]) -> Outcomes:
        """Return the outcomes; `scores` are parallel to `prompts`."""
        alone: dict[str, Score] = {}
        if self.token_aggregate == "pmi":
            prompts, scores, alone = _without_baseline(prompts, scores)
        asked = examples_of(prompts, examples)
        logprobs, with_marker = _logprobs(asked, scores)
        k = logprobs.shape[1]
        preferences = None
        if self.token_aggregate == "mean":
            preferences = logprobs / np.array([[len(tokens) for tokens in s.token_logprobs[:k]] for s in scores])
        elif self.token_aggregate == "pmi":
            preferences = logprobs - np.array([alone[example.id].logprobs[:k] for example in asked])
        return gather(
            asked,
            prompts,
            scores,
            preferences=preferences,
            logprobs=logprobs,
            logprobs_with_marker=with_marker,
            limits=_limits(asked, scores, k, marked=with_marker is not None),
        )


@lru_cache(maxsize=4096)
def _named(candidates: tuple[str, ...], quote: str) -> tuple[str, ...]:
    """Return how each candidate continues the question; equal ones are one object, which a million prompts share."""
    return tuple([f"{space_before(candidate)}{quote}{candidate}" for candidate in candidates])


def marked_forms(example: Example) -> dict[int, str]:
    """Return how each candidate continues the question with the marker its sentence gives it, by the candidate."""
    names = marked_names(example)
    return {index: f"{space_before(name)}{name}" for index, name in names.items()} if names else {}


def _without_baseline(
    prompts: Sequence[Prompt], scores: Sequence[Score]
) -> tuple[list[Prompt], list[Score], dict[str, Score]]:
    """Return the questions and their scores, and the scores of the same words without the sentence, by example."""
    both = list(zip(prompts, scores, strict=True))
    questions = [(prompt, score) for prompt, score in both if prompt.variant != BASELINE]
    alone = {prompt.example_id: score for prompt, score in both if prompt.variant == BASELINE}
    if any(score.limits is not None for score in alone.values()):
        raise ModelError(
            "token_aggregate pmi divides by the probabilities of words without their sentence, which this model's "
            "engine only knows within limits; use sum"
        )
    return [prompt for prompt, _ in questions], [score for _, score in questions], alone


def _limits(examples: Sequence[Example], scores: Sequence[Score], k: int, *, marked: bool) -> Limits | None:
    """Return how far the probabilities of the candidates are known, alone and with or without their markers."""
    if all(score.limits is None for score in scores):
        return None
    alone = [[[index] for index in range(k)] for _ in examples]
    if not marked:
        return outcome_limits(scores, k, alone)
    either = [[[*places] for places in row] for row in alone]
    for row, example in zip(either, examples, strict=True):
        for place, index in enumerate(marked_forms(example), start=k):
            row[index].append(place)
    return outcome_limits(scores, k, alone, either)


def _logprobs(examples: Sequence[Example], scores: Sequence[Score]) -> tuple[Floats, Floats | None]:
    """Return the log-probability of each candidate, and that of naming it with its marker or without.

    Continuations with a marker come after the candidates. The second table is None where there are none.
    """
    check_counts((len(example.candidates), example.id) for example in examples)
    k = len(examples[0].candidates)
    alone, further = array("d"), array("d")
    rows: list[int] = []
    places: list[int] = []
    for row, (example, score) in enumerate(zip(examples, scores, strict=True)):
        values = score.logprobs
        alone.extend(values[:k])
        if len(values) > k:
            marked = marked_names(example)
            rows += [row] * len(marked)
            places += marked
            further.extend(values[k:])
    logprobs = np.array(alone).reshape(-1, k)
    if not rows:
        return logprobs, None
    total = logprobs.copy()
    # "nurse" and "young nurse" exclude each other as the next words: their probabilities add up.
    total[rows, places] = np.logaddexp(total[rows, places], further)
    return logprobs, np.minimum(total, 0.0)
