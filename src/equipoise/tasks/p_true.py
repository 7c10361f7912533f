"""P(True): how probable the model calls its own answer true, asked after the answer (Kadavath et al. 2022)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..records import EquipoiseError, Example, Floats, Outcomes, Prompt
from ..uncertainty import P_TRUE, renormalise
from .outcomes import further_options
from .task import Scorer, Task, Writer
from .wording import fill, wording_of

QUESTION = (
    "Question: {question}\nProposed Answer: {answer}\n"
    "Is the proposed answer:\n (A) True\n (B) False\nThe proposed answer is:"
)
TRUE, FALSE = " (A)", " (B)"


@dataclass(frozen=True)
class SelfChecked:
    """Asks another task, then whether the most probable answer is true; the first one where several are tied.

    P(True) is the probability of "(A)" given that "(A)" or "(B)" is said. It is kept as a column of the outcomes, which
    the estimator `p-true` reads. Kadavath et al. draw the answer; here it is the one that the task itself counts.
    """

    task: Task

    @property
    def name(self) -> str:
        return self.task.name

    @property
    def settings(self) -> Mapping[str, Any]:
        return {**self.task.settings, P_TRUE: QUESTION}

    def run(self, examples: Sequence[Example], *, scorer: Scorer, writer: Writer) -> Outcomes:
        outcomes = self.task.run(examples, scorer=scorer, writer=writer)
        examples_by_id = {example.id: example for example in examples}
        rows = [examples_by_id[example_id] for example_id in outcomes.example_id]
        prompts = [self._prompt(example, outcomes, row) for row, example in enumerate(rows)]
        logprobs: Floats = np.array([score.logprobs for score in scorer(prompts)]).reshape(-1, 2)
        return replace(outcomes, reductions={**outcomes.reductions, P_TRUE: renormalise(logprobs)[:, 0]})

    def _prompt(self, example: Example, outcomes: Outcomes, row: int) -> Prompt:
        if example.pair is not None:
            raise EquipoiseError(f"estimator p-true needs a question with an answer; task {self.name} has none")
        answers = (
            *example.candidates,
            *further_options(str(outcomes.flags[row]), outcomes.k - len(example.candidates)),
        )
        proposed = int(outcomes.probs[row].argmax())
        question = fill(wording_of(example).free, example)
        context = QUESTION.format(question=question, answer=answers[proposed])
        return Prompt(example.id, self.name, f"{P_TRUE}={proposed}", context, (TRUE, FALSE))
