"""What a task is: it asks examples, given something that scores and something that writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from ..garbage import uncollected
from ..records import Context, Example, Outcomes, Prompt, Sampling, Score

Scorer = Callable[[Sequence[Prompt]], Sequence[Score]]
"""Returns the score of each prompt, in order."""


class Writer(Protocol):
    """Returns what the model writes after each context, up to a number of tokens: the most probable or a drawn text."""

    def __call__(
        self, contexts: Sequence[Context], max_new_tokens: int, sampling: Sampling | None = None, /
    ) -> Mapping[Context, str]: ...


def thinks(writer: Writer) -> bool:
    """Return whether the model reasons before it answers: not where the writer does not say so."""
    return bool(getattr(writer, "thinks", False))


@runtime_checkable
class Task(Protocol):
    """A way to ask an example."""

    @property
    def name(self) -> str:
        """The task's name in tables and files."""
        ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """What the manifest says of how it asks."""
        ...

    def run(self, examples: Sequence[Example], *, scorer: Scorer, writer: Writer) -> Outcomes:
        """Return what the model made of each example, given something that scores and something that writes."""
        ...


class Questions(Protocol):
    """A task that only needs scores: prompts out, scores in."""

    def prompts(self, example: Example) -> list[Prompt]:
        """Return the prompts that ask the example, at least one for each variant."""
        ...

    def outcomes(self, examples: Sequence[Example], prompts: Sequence[Prompt], scores: Sequence[Score]) -> Outcomes:
        """Return what the model made of each example, from the scores of the prompts (parallel to them)."""
        ...


def ask(task: Questions, examples: Sequence[Example], scorer: Scorer) -> Outcomes:
    """Return the outcomes of a task whose prompts are scored in one go."""
    with uncollected():
        prompts = [prompt for example in examples for prompt in task.prompts(example)]
    scores = scorer(prompts)
    with uncollected():
        return task.outcomes(examples, prompts, scores)
