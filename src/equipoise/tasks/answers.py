"""What every task shares: its shape, and how scores of prompts become outcomes of examples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ..records import ABSENT, Context, Example, Floats, Limits, Outcomes, Prompt, Sampling, Score
from ..uncertainty import TOKEN_PROBABILITY, renormalise
from .known_limits import outcome_limits

Scorer = Callable[[Sequence[Prompt]], Sequence[Score]]
"""Returns the score of each prompt, in order."""


class Writer(Protocol):
    """Returns what the model writes after each context, up to a number of tokens: the most probable or a drawn text."""

    def __call__(
        self, contexts: Sequence[Context], max_new_tokens: int, sampling: Sampling | None = None, /
    ) -> Mapping[Context, str]: ...


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
    prompts = [prompt for example in examples for prompt in task.prompts(example)]
    return task.outcomes(examples, prompts, scorer(prompts))


def gather(
    examples: Iterable[Example],
    answers: Sequence[tuple[Prompt, Score]],
    *,
    preferences: Floats | None = None,
    logprobs: Floats | None = None,
    logprobs_with_marker: Floats | None = None,
    limits: Limits | None = None,
) -> Outcomes:
    """Return the outcomes of the prompts, one row each.

    `preferences` are the values that candidates are compared by, where these are not their log-probabilities.
    `logprobs`, and their `limits`, are given where the continuations are not the candidates one by one.
    """
    scores = [score for _, score in answers]
    if logprobs is None:
        logprobs = np.array([score.logprobs for score in scores])
        limits = outcome_limits(scores, logprobs.shape[1])
    examples_by_id = {example.id: example for example in examples}
    rows = [examples_by_id[prompt.example_id] for prompt, _ in answers]
    names = list(dict.fromkeys(name for example in rows for name in example.groups))
    return Outcomes(
        example_id=_strings(example.id for example in rows),
        variant=_strings(prompt.variant for prompt, _ in answers),
        set_id=_strings(example.set_id for example in rows),
        cluster_id=_strings(example.cluster_id for example in rows),
        sides=_strings(example.pair.label if example.pair else "" for example in rows),
        probs=renormalise(logprobs if preferences is None else preferences),
        logprobs=logprobs,
        gold=np.array([ABSENT if example.gold is None else example.gold for example in rows], dtype=np.int64),
        stereotype=np.array([ABSENT if e.stereotype is None else e.stereotype for e in rows], dtype=np.int64),
        answerable=np.array([example.answerable for example in rows], dtype=bool),
        groups={name: _strings(example.groups.get(name, "") for example in rows) for name in names},
        flags=_strings(",".join(score.flags) for score in scores),
        logprobs_with_marker=logprobs_with_marker,
        reductions={**_reductions(scores), **_token_probabilities(scores, logprobs.shape[1])},
        limits=limits,
    )


def _reductions(scores: Sequence[Score]) -> dict[str, Floats]:
    """Return the summaries over the vocabulary that all the scores have."""
    names = [name for name in scores[0].reductions if all(name in score.reductions for score in scores)]
    return {name: np.array([score.reductions[name] for score in scores]) for name in names}


def _token_probabilities(scores: Sequence[Score], candidates: int) -> dict[str, Floats]:
    """Return the geometric mean of the token probabilities of the candidate where it is highest, if any has several."""
    tokens = [score.token_logprobs[:candidates] for score in scores]
    if all(len(candidate) == 1 for row in tokens for candidate in row):
        return {}
    means = [max((sum(candidate) / len(candidate) for candidate in row if candidate), default=np.nan) for row in tokens]
    return {TOKEN_PROBABILITY: np.minimum(np.exp(means), 1.0)}


def _strings(values: Iterable[str]) -> Any:
    return np.array(list(values), dtype=object)
