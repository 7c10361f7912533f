"""In: an example.
Out: prompts to score, and the outcomes that follow from their scores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..catalog import find
from .answers import Task as Task
from .chain_of_thought import ChainOfThought
from .multiple_choice import MultipleChoice
from .next_word import NextWord
from .open_answer import OpenAnswer
from .pronoun_cloze import PronounCloze, WholeSentence
from .wording import NO_SHOTS
from .wording import Shots as Shots


@dataclass(frozen=True)
class TaskOptions:
    """What the user may choose about how a question is asked."""

    seeds: tuple[int, ...] = (0,)
    token_aggregate: str = "sum"
    answer_space: str = "joined"
    reasoning_tokens: int = 128
    questions: tuple[str, ...] = ()
    shots: Shots = NO_SHOTS
    samples: int = 0
    temperature: float = 1.0
    answer_tokens: int = 32


TASKS: dict[str, Callable[[TaskOptions], Task]] = {
    "next-word": lambda options: NextWord(options.token_aggregate, options.questions, options.shots),
    "mcq": lambda options: MultipleChoice(options.seeds, options.answer_space, options.questions, options.shots),
    "open": lambda options: OpenAnswer(
        options.questions, options.samples, options.temperature, options.seeds[0], options.answer_tokens
    ),
    "cloze": lambda options: PronounCloze(token_aggregate=options.token_aggregate),
    "sentence": lambda options: WholeSentence(token_aggregate=options.token_aggregate),
    "next-word-cot": lambda options: ChainOfThought(budget=options.reasoning_tokens),
    "mcq-cot": lambda options: ChainOfThought(MultipleChoice(seeds=options.seeds), budget=options.reasoning_tokens),
}


def open_tasks(tasks: str | Task | Sequence[str | Task], options: TaskOptions | None = None) -> list[Task]:
    """Return the tasks that were given: one, or a list of them, by name or as they are."""
    several: Sequence[Any] = tasks if isinstance(tasks, (list, tuple)) else [tasks]
    return [open_task(task, options) if isinstance(task, str) else task for task in several]


def open_task(name: str, options: TaskOptions | None = None) -> Task:
    """Return the task of that name."""
    return find(name, TASKS, kind="task")(options or TaskOptions())
