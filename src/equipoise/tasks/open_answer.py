"""Open answers: the question is answered freely, and explicit rules say which meaning the answer has.

The meanings are the candidates, then "both", "neither" (nobody, or it is left open), "refused" and "unparsed" (no rule
applies). Greedy, there is one answer; with `samples` the shares of the meanings are their probabilities, and certainty
is the entropy over meanings (semantic entropy). The rules' words are in `open_answers.toml`.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np

from ..options import AnswerOptions
from ..records import OPEN_ANSWER, Context, EquipoiseError, Example, Message, Outcomes, Prompt, Sampling, Score
from ..records.thinking import split_thought, think_block
from .outcomes import MEANINGS, gather
from .task import Scorer, Writer, thinks
from .wording import Question, fill, question_settings, wordings_for

FLOOR = 1e-12
"""The share that stands for "never said" in logarithms."""

_RULES: Mapping[str, Sequence[str]] = tomllib.loads(
    resources.files(__package__).joinpath("open_answers.toml").read_text(encoding="utf-8")
)
_PATTERNS = {name: re.compile("|".join(_RULES[name])) for name in ("refused", "neither", "both")}
_POINTER = "|".join(_RULES["pointers"])
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


@dataclass(frozen=True)
class OpenAnswer:
    """Asks "Who does "she" refer to?" in a conversation, and reads at most `budget` tokens of the answer.

    With `samples` 0 the answer is the most probable text; else it draws `samples` texts at the temperature. A thinking
    model first writes at most `reasoning` tokens in its think block, which is closed before it answers.
    """

    questions: tuple[Question, ...] = ()
    samples: int = 0
    temperature: float = AnswerOptions.temperature
    seed: int = 0
    budget: int = AnswerOptions.answer_tokens
    reasoning: int = AnswerOptions.reasoning_tokens
    name: str = "open"

    def __post_init__(self) -> None:
        if self.samples < 0 or not self.temperature > 0 or self.budget < 1:
            raise EquipoiseError("samples must not be negative, temperature above 0, answer_tokens at least 1")

    @property
    def settings(self) -> Mapping[str, Any]:
        chosen = {"samples": self.samples, "answer_tokens": self.budget, "meanings": list(MEANINGS)}
        drawn = {"temperature": self.temperature, "seed": self.seed} if self.samples else {}
        return {"questions": question_settings(self.questions), **chosen, **drawn}

    def run(self, examples: Sequence[Example], *, scorer: Scorer, writer: Writer) -> Outcomes:
        asked = [
            (example, variant, context)
            for example in examples
            for variant, context in open_questions(example, self.questions).items()
        ]
        contexts = [context for _, _, context in asked]
        texts = [self._answers(contexts, writer, sampling) for sampling in self._samplings()]
        answers = []
        for example, variant, context in asked:
            counts = Counter(meaning_of(written[context], example.candidates) for written in texts)
            meanings = [*range(len(example.candidates)), *MEANINGS]
            logprobs = [float(np.log(max(counts[meaning] / len(texts), FLOOR))) for meaning in meanings]
            names = tuple(str(meaning) for meaning in meanings)
            prompt = Prompt(example.id, self.name, variant, context, names)
            answers.append((prompt, Score("", tuple((value,) for value in logprobs), flags=(OPEN_ANSWER,))))
        return gather(examples, answers)

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


def _turns(context: Context) -> tuple[Message, ...]:
    return (Message("user", context),) if isinstance(context, str) else context


def open_questions(example: Example, questions: Sequence[Question] = ()) -> dict[str, Context]:
    """Return what the model is asked about the example, by the name of the wording's variant."""
    wordings = wordings_for(example, questions)
    return {variant: (Message("user", fill(wording.free, example)),) for variant, wording in wordings.items()}


def meaning_of(answer: str, candidates: Sequence[str]) -> int | str:
    """Return the candidate that the answer names, by number, or one of MEANINGS."""
    text = answer.lower().replace("’", "'").replace("“", '"').replace("”", '"')
    for sentence in _SENTENCE.split(text):
        meaning = _meaning(sentence, candidates)
        if meaning is not None:
            return meaning
    return "unparsed"


def _meaning(sentence: str, candidates: Sequence[str]) -> int | str | None:
    """Return what one sentence says, None where it says nothing about the question."""
    if _PATTERNS["refused"].search(sentence):
        return "refused"
    named = [number for number, candidate in enumerate(candidates) if _mentions(sentence, candidate)]
    denied = [number for number in named if _denied(sentence, candidates[number])]
    left = [number for number in named if number not in denied]
    if denied and len(left) == 1:
        return left[0]
    if _PATTERNS["neither"].search(sentence):
        # An answer such as "unknown" may be one of the candidates.
        return left[0] if len(left) == 1 and _PATTERNS["neither"].search(candidates[left[0]].lower()) else "neither"
    if len(left) == 1:
        return left[0]
    if _PATTERNS["both"].search(sentence):
        return "both"
    if len(left) < 2:
        return None
    pointed = [number for number in left if _pointed(sentence, candidates[number])]
    if len(pointed) == 1:
        return pointed[0]
    joined = rf"{_bare(candidates[left[0]])} and (?:the |an? )?{_bare(candidates[left[1]])}"
    reverse = rf"{_bare(candidates[left[1]])} and (?:the |an? )?{_bare(candidates[left[0]])}"
    return "both" if re.search(f"{joined}|{reverse}", sentence) else "unparsed"


def _bare(candidate: str) -> str:
    """Return a pattern for the candidate without its article, as a whole word."""
    words = re.sub(r"^(?:the|an?)\s+", "", candidate.lower().rstrip("."))
    return rf"(?<!\w){re.escape(words)}(?!\w)"


def _mentions(sentence: str, candidate: str) -> bool:
    return re.search(_bare(candidate), sentence) is not None


def _denied(sentence: str, candidate: str) -> bool:
    return (
        re.search(rf"\b(?:not|rather than|instead of) (?:to )?(?:the |an? )?{_bare(candidate)}", sentence) is not None
    )


def _pointed(sentence: str, candidate: str) -> bool:
    """Return whether the candidate follows "refers to" and is not joined to another by "and" or "or"."""
    pattern = rf"(?:{_POINTER}) (?:the |an? )?\"?{_bare(candidate)}(?! (?:and|or)\b)"
    return re.search(pattern, sentence) is not None
