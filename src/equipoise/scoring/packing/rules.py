"""How the prompts of one model are tokenised and arranged: the same in every process that plans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ...records import ModelError
from ..encoding import Asked, Question, Tokenise, encoded
from ..nesting import Nesting
from .prefix_tree import Row, Sequences, alone, forks, pack

Mode = Literal["packed", "cached", "padded"]

BRANCH_TOKENS = 8
"""Longest continuation, in tokens, for which reusing a prompt's cache is faster than a plain pass."""


class RowPlan(NamedTuple):
    """A batch arranged in rows, and the mode in which the model computes these.

    Question q has the next `counts[q]` sequences, of which some begin others (`nested[q]`), and `flags[q]`.
    Each sequence predicts the next `lengths[s]` tokens; `firsts` are the first ids of these.
    """

    counts: Sequence[int]
    lengths: Sequence[int]
    firsts: Sequence[int]
    flags: Sequence[tuple[str, ...]]
    nested: Sequence[Nesting]
    rows: Sequence[Row]
    mode: Mode


@dataclass(frozen=True)
class Rules:
    """A model's limits, in tokens, and its modes: the first one, and the one for prompts beyond its window."""

    name: str
    mode: Mode
    fallback: Mode
    window: int | None
    longest: int | None
    row_tokens: int

    def plan(self, asked: Sequence[Asked], ids: Tokenise) -> RowPlan:
        """Return the plan of a batch; a prompt too long for the model is an error."""
        questions = encoded(asked, ids)
        lengths = [max(map(len, question.sequences)) - 1 for question in questions]
        longest = max(lengths)
        if self.longest and longest > self.longest:
            example = asked[lengths.index(longest)].example_id
            fault = ModelError(
                f"the prompt of {example} has {longest} tokens; {self.name} takes at most {self.longest}"
            )
            too_long = [
                prompt.example_id for prompt, tokens in zip(asked, lengths, strict=True) if tokens > self.longest
            ]
            fault.example_ids = tuple(dict.fromkeys(too_long))
            raise fault
        mode = self._mode(questions, longest)
        return planned(questions, mode, row_tokens=self.row_tokens)

    def _mode(self, questions: Sequence[Question], longest: int) -> Mode:
        mode = self.mode
        if mode == "packed" and self.window and longest > self.window:
            # Our mask replaces the model's, and with it the window that the model was trained with.
            mode = self.fallback
        # Branches are computed token by token: worth it for two tokens or a few more.
        tails = [len(ids) - start for q in questions for ids, start in zip(q.sequences, q.starts, strict=True)]
        return "padded" if mode == "cached" and not 1 < max(tails) <= BRANCH_TOKENS else mode


def planned(questions: Sequence[Question], mode: Mode, *, row_tokens: int) -> RowPlan:
    """Return the plan of questions for a mode."""
    predicted = [ids[start:] for q in questions for ids, start in zip(q.sequences, q.starts, strict=True)]
    return RowPlan(
        [len(question.sequences) for question in questions],
        [len(ids) for ids in predicted],
        [ids[0] for ids in predicted],
        [question.flags for question in questions],
        [question.nested for question in questions],
        arrange(questions, mode, row_tokens=row_tokens),
        mode,
    )


def arrange(questions: Sequence[Question], mode: Mode, *, row_tokens: int) -> list[Row]:
    """Return the rows that the questions are computed in."""
    sequences = Sequences.of(
        [sequence for question in questions for sequence in question.sequences],
        [start for question in questions for start in question.starts],
    )
    if mode == "packed":
        return pack(sequences, row_tokens=row_tokens)
    return forks(sequences) if mode == "cached" else alone(sequences)
