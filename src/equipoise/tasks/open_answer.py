"""Open answers: the question is answered freely, and explicit rules say which meaning the answer has.

The meanings are the candidates, then "both", "neither" (nobody, or it is left open), "refused" and "unclear" (see
reading.py). Greedy, there is one answer; with `samples` the shares of the meanings are their probabilities, and
certainty is the entropy over meanings (semantic entropy).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..options import AnswerOptions
from ..records import (
    MEANINGS,
    OPEN_ANSWER,
    Context,
    EquipoiseError,
    Example,
    Floats,
    Message,
    Outcomes,
    Prompt,
    Sampling,
    Score,
    listed,
)
from ..records.prompts import SECOND_PROBABILITY, SECOND_READER, SECOND_READING
from ..records.thinking import split_thought, think_block
from ..uncertainty import renormalise
from .outcomes import gather
from .task import Scorer, Writer, thinks
from .wording import Question, fill, question_settings, wordings_for

ASK_READER = "Whom does your answer above name: {names}?"
READER_BEGINS = "My answer names the"
"""What the second reader is asked, and how its answer begins."""

FLOOR = 1e-12
"""The share that stands for "never said" in logarithms."""


@dataclass(frozen=True)
class OpenAnswer:
    """Asks "Who does "she" refer to?" in a conversation, and reads at most `budget` tokens of the answer.

    With `samples` 0 the answer is the most probable text; else it draws `samples` texts at the temperature. A thinking
    model first writes at most `reasoning` tokens in its think block, which is closed before it answers. A
    `second_reader` is the model itself, asked whom its answer names; what it says is kept beside the rules' reading.
    """

    questions: tuple[Question, ...] = ()
    samples: int = 0
    temperature: float = AnswerOptions.temperature
    seed: int = 0
    budget: int = AnswerOptions.answer_tokens
    reasoning: int = AnswerOptions.reasoning_tokens
    second_reader: bool = AnswerOptions.second_reader
    name: str = "open"

    def __post_init__(self) -> None:
        if self.samples < 0 or not self.temperature > 0 or self.budget < 1:
            raise EquipoiseError("samples must not be negative, temperature above 0, answer_tokens at least 1")

    @property
    def settings(self) -> Mapping[str, Any]:
        chosen = {"samples": self.samples, "answer_tokens": self.budget, "meanings": list(MEANINGS)}
        drawn = {"temperature": self.temperature, "seed": self.seed} if self.samples else {}
        second = {"second_reader": [ASK_READER, READER_BEGINS]} if self.second_reader else {}
        return {"questions": question_settings(self.questions), **chosen, **drawn, **second}

    def run(self, examples: Sequence[Example], *, scorer: Scorer, writer: Writer) -> Outcomes:
        from .reading import meaning_of  # its rules take 0.1 s to compile, and only open answers need them

        asked = [
            (example, variant, context)
            for example in examples
            for variant, context in open_questions(example, self.questions).items()
        ]
        contexts = [context for _, _, context in asked]
        texts = [self._answers(contexts, writer, sampling) for sampling in self._samplings()]
        prompts, scores = [], []
        for example, variant, context in asked:
            counts = Counter(meaning_of(written[context], example.candidates, asked_text(context)) for written in texts)
            meanings = [*range(len(example.candidates)), *MEANINGS]
            logprobs = [float(np.log(max(counts[meaning] / len(texts), FLOOR))) for meaning in meanings]
            names = tuple(str(meaning) for meaning in meanings)
            prompts.append(Prompt(example.id, self.name, variant, context, names))
            scores.append(Score("", tuple((value,) for value in logprobs), flags=(OPEN_ANSWER,)))
        outcomes = gather([example for example, _, _ in asked], prompts, scores)
        if not self.second_reader:
            return outcomes
        begun = (think_block("") if thinks(writer) else "") + READER_BEGINS
        second = [self._second_prompt(example, context, texts[0][context], begun) for example, _, context in asked]
        return replace(outcomes, reductions={**outcomes.reductions, **_second_readings(scorer(second))})

    def _second_prompt(self, example: Example, context: Context, answer: str, begun: str) -> Prompt:
        """Return the prompt that asks the model whom its own answer names."""
        names = [candidate.removeprefix("The ").removeprefix("the ") for candidate in example.candidates]
        question = ASK_READER.format(names=listed(names, "or"))
        reply = (Message("assistant", answer or "(no answer)"), Message("user", question))
        turns = (*_turns(context), *reply, Message("assistant", begun))
        return Prompt(example.id, self.name, SECOND_READER, turns, tuple(f" {name}" for name in names))

    def _answers(self, contexts: Sequence[Context], writer: Writer, sampling: Sampling | None) -> Mapping[Context, str]:
        """Return what the model answers; without the reasoning of a thinking model."""
        if not thinks(writer):
            return writer(contexts, self.budget, sampling)
        thoughts = writer(contexts, self.reasoning, sampling)
        turns = {
            context: Message("assistant", think_block(split_thought(text)[0])) for context, text in thoughts.items()
        }
        begun: dict[Context, Context] = {context: (*_turns(context), turn) for context, turn in turns.items()}
        answers = writer(list(begun.values()), self.budget, sampling)
        return {context: answers[after] for context, after in begun.items()}

    def _samplings(self) -> list[Sampling | None]:
        drawn = [Sampling(self.temperature, self.seed + number) for number in range(self.samples)]
        return [*drawn] or [None]


def _second_readings(scores: Sequence[Score]) -> dict[str, Floats]:
    """Return the candidate that the model says its answer names, by number, and its probability among them."""
    probs = [renormalise(np.array([score.logprobs]))[0] for score in scores]
    return {
        SECOND_READING: np.array([float(row.argmax()) for row in probs]),
        SECOND_PROBABILITY: np.array([float(row.max()) for row in probs]),
    }


def _turns(context: Context) -> tuple[Message, ...]:
    return (Message("user", context),) if isinstance(context, str) else context


def open_questions(example: Example, questions: Sequence[Question] = ()) -> dict[str, Context]:
    """Return what the model is asked about the example, by the name of the wording's variant."""
    wordings = wordings_for(example, questions)
    return {variant: (Message("user", fill(wording.free, example)),) for variant, wording in wordings.items()}


def asked_text(context: Context) -> str:
    """Return the question of a context: its last turn that is the user's."""
    return context if isinstance(context, str) else next(m.content for m in reversed(context) if m.role == "user")
