"""What every task shares: its shape, and how scores of prompts become outcomes of examples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ..records import ABSENT, Example, Floats, Outcomes, Prompt, Score
from ..uncertainty import renormalise


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

    def prompts(self, example: Example) -> list[Prompt]:
        """Return the prompts that ask the example, one a variant or more."""
        ...

    def outcomes(self, examples: Sequence[Example], prompts: Sequence[Prompt], scores: Sequence[Score]) -> Outcomes:
        """Return what the model made of each example, from the scores of the prompts (parallel to them)."""
        ...


def gather(
    examples: Iterable[Example],
    asked: Sequence[tuple[Prompt, Score]],
    *,
    judged: Floats | None = None,
    logprobs: Floats | None = None,
    marked: Floats | None = None,
) -> Outcomes:
    """Return the outcomes of the prompts, one row each.

    `judged` are the values the candidates are compared by, where these are not their log-probabilities, and `logprobs`
    those, where the continuations are not the candidates one by one. `marked`: see `Outcomes`.
    """
    if logprobs is None:
        logprobs = np.array([score.logprobs for _, score in asked])
    known = {example.id: example for example in examples}
    rows = [known[prompt.example_id] for prompt, _ in asked]
    names = list(dict.fromkeys(name for example in rows for name in example.groups))
    return Outcomes(
        example_id=_strings(example.id for example in rows),
        variant=_strings(prompt.variant for prompt, _ in asked),
        pair_id=_strings(example.pair_id for example in rows),
        probs=renormalise(logprobs if judged is None else judged),
        logprobs=logprobs,
        gold=np.array([ABSENT if example.gold is None else example.gold for example in rows], dtype=np.int64),
        stereotype=np.array([ABSENT if e.stereotype is None else e.stereotype for e in rows], dtype=np.int64),
        answerable=np.array([example.answerable for example in rows], dtype=bool),
        groups={name: _strings(example.groups.get(name, "") for example in rows) for name in names},
        flags=_strings(",".join(score.flags) for _, score in asked),
        marked=marked,
        reductions=_reductions([score for _, score in asked]),
    )


def _reductions(scores: Sequence[Score]) -> dict[str, Floats]:
    """Return the summaries over the vocabulary that all the scores have."""
    names = [name for name in scores[0].reductions if all(name in score.reductions for score in scores)]
    return {name: np.array([score.reductions[name] for score in scores]) for name in names}


def _strings(values: Iterable[str]) -> Any:
    return np.array(list(values), dtype=object)
