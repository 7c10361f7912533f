"""A rehearsal: a task asks its questions of nobody, so that what does not fit shows before a model is loaded."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..datasets import Dataset
from ..records import Context, Prompt, Sampling, Score
from ..tasks import Task

MOST_EXAMPLES = 2000
"""A larger dataset is rehearsed with this many examples, spread over it, and counted up."""


@dataclass(frozen=True)
class Rehearsal:
    """How many different prompts a task scores of a dataset, their characters, and the texts that the model writes."""

    prompts: int
    texts: int
    characters: int = 0


def rehearse(task: Task, dataset: Dataset, *, thinks: bool = False) -> Rehearsal:
    """Return what the task asks of the dataset; an example that the task cannot ask is an error.

    `thinks`: the model writes its reasoning before its chat answers.
    """
    examples = dataset.examples
    share = max(1.0, len(examples) / MOST_EXAMPLES)
    if share > 1:
        # Whole clusters: a task may need both sentences of a pair.
        clusters = len({example.cluster_id for example in examples})
        examples = dataset.limited(max(1, round(clusters / share))).examples
        share = len(dataset.examples) / len(examples)
    questions: set[tuple[Context, tuple[str, ...]]] = set()
    writer = _Writer(thinks)

    def scorer(prompts: Sequence[Prompt]) -> list[Score]:
        questions.update((prompt.context, prompt.continuations) for prompt in prompts)
        return [_nobody(prompt) for prompt in prompts]

    task.run(examples, scorer=scorer, writer=writer)
    characters = sum(len(str(context)) + sum(map(len, answers)) for context, answers in questions)
    return Rehearsal(round(share * len(questions)), round(share * len(writer.texts)), round(share * characters))


@dataclass
class _Writer:
    """Writes next to nothing, and notes after what it is asked to write; texts that are drawn differ by their seed."""

    thinks: bool
    texts: set[tuple[Context, Sampling | None]] = field(default_factory=set)

    def __call__(
        self, contexts: Sequence[Context], _: int, sampling: Sampling | None = None, /
    ) -> Mapping[Context, str]:
        self.texts.update((context, sampling) for context in contexts)
        return dict.fromkeys(contexts, f"draw {sampling.seed}" if sampling else "")


def _nobody(prompt: Prompt) -> Score:
    even = -math.log(len(prompt.continuations))
    return Score("", tuple((even,) for _ in prompt.continuations))
