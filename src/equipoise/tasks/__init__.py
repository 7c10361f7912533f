"""In: an example.
Out: prompts to score, and the outcomes that follow from their scores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..catalog import made
from ..options import AnswerOptions
from ..records import EquipoiseError
from .chain_of_thought import ChainOfThought
from .chat import Chat
from .multiple_choice import MultipleChoice
from .next_word import NextWord
from .open_answer import OpenAnswer
from .outcomes import flag_notes as flag_notes
from .p_true import SelfChecked
from .pronoun_cloze import PronounCloze
from .task import Task as Task
from .wording import NO_SHOTS as NO_SHOTS
from .wording import Question, Wording
from .wording import Shots as Shots
from .wording import read_wordings as read_wordings


@dataclass(frozen=True, kw_only=True)
class TaskOptions(AnswerOptions):
    """What the user chose about how a question is asked, with what the choices name: wordings, shots, seeds."""

    seeds: tuple[int, ...] = (0,)
    questions: tuple[Question, ...] = ()
    shots: Shots = NO_SHOTS
    drawn_reasonings: int = 0
    p_true: bool = False


def _next_word(options: TaskOptions) -> Task:
    """Which candidate comes next after `<sentence> The pronoun "she" refers to the`?"""
    return NextWord(options.token_aggregate, options.questions, options.shots)


def _mcq(options: TaskOptions) -> Task:
    """Multiple choice: the candidates and "None of the above", in an order drawn for each sentence and seed."""
    return MultipleChoice(options.seeds, options.answer_space, options.questions, options.shots, options.both)


def _open(options: TaskOptions) -> Task:
    """`Who does "she" refer to?`, answered freely and read by explicit rules."""
    drawn = (options.samples, options.temperature, options.seeds[0])
    tokens = (options.answer_tokens, options.reasoning_tokens)
    return OpenAnswer(options.questions, *drawn, *tokens, second_reader=options.second_reader)


def _cloze(options: TaskOptions) -> Task:
    """How likely is each pronoun at its place, given what comes before it? For sentence pairs."""
    return PronounCloze(options.token_aggregate)


def _sentence(options: TaskOptions) -> Task:
    """How likely is each whole sentence? For sentence pairs."""
    return PronounCloze(options.token_aggregate, whole=True)


def _next_word_cot(options: TaskOptions) -> Task:
    """Next word after a reasoning turn that the model writes."""
    return ChainOfThought(None, *_reasoning(options))


def _mcq_cot(options: TaskOptions) -> Task:
    """Multiple choice after a reasoning turn that the model writes."""
    choices = MultipleChoice(seeds=options.seeds, both=options.both)
    return ChainOfThought(choices, *_reasoning(options))


def _reasoning(options: TaskOptions) -> tuple[int, str, int, float, int]:
    drawn = (options.drawn_reasonings, options.temperature, options.seeds[0])
    return options.reasoning_tokens, options.answer_turn, *drawn


TASKS: dict[str, Callable[[TaskOptions], Task]] = {
    "next-word": _next_word,
    "mcq": _mcq,
    "open": _open,
    "cloze": _cloze,
    "sentence": _sentence,
    "next-word-cot": _next_word_cot,
    "mcq-cot": _mcq_cot,
}


WORDED = ("next-word", "mcq", "open")
"""The tasks that can be asked in the wordings of a file."""


def open_tasks(tasks: str | Task | Sequence[str | Task], options: TaskOptions | None = None) -> list[Task]:
    """Return the tasks that were given: one, or a list of them, by name or as they are."""
    several: Sequence[Any] = tasks if isinstance(tasks, (list, tuple)) else [tasks]
    if not several:
        raise EquipoiseError(f"name at least one task: {', '.join(TASKS)}")
    return [open_task(task, options) if isinstance(task, str) else task for task in several]


def open_task(name: str, options: TaskOptions | None = None) -> Task:
    """Return the task of that name, through the model's chat template where the options say so."""
    options = options or TaskOptions()
    if name in TASKS and name not in WORDED and any(isinstance(question, Wording) for question in options.questions):
        raise EquipoiseError(f"task {name!r} has one wording; wordings are for: {', '.join(WORDED)}")
    task = made(name, TASKS, options, kind="task")
    if options.p_true:
        task = SelfChecked(task)
    return Chat(task, options.system, options.reasoning_tokens) if options.chat else task
