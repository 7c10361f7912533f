"""Multiple choice: the candidates as lettered options, in an order drawn for each base sentence."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..options import AnswerOptions
from ..records import BOTH_OFFERED, EquipoiseError, Example, Outcomes, Prompt, Score
from .outcomes import BOTH_OF_THEM, NONE_OF_THE_ABOVE, examples_of, gather
from .task import Scorer, Writer, ask
from .wording import NO_SHOTS, Question, Shots, Wording, fill, joined_variant, question_settings, wordings_for

INSTRUCTION = "Choose the right option for the question using the context below."
LETTERS = "ABCDEFGHIJ"


@dataclass(frozen=True)
class MultipleChoice:
    """The UCerF paper's multiple-choice task, once a seed and once for each wording of the user's.

    Questions about a pronoun get the option "None of the above"; where a question has its own answers, such as
    "unknown", these are all. The order of the options is drawn from the seed and the `cluster_id`, so all variants of a
    sentence are asked in the same order, unless the example has one of its own (the slot `option_order`: the
    candidates by number, as they are shown). The paper's prompt ends in a space: with `answer_space="joined"` (default)
    the space belongs to the answer (" A"), as in running text; with "apart" it ends the prompt and the answer is "A".

    `both` adds the option "Both of them", which is a possible reading of *they*. Every pronoun gets it: the members of
    a set must have the same options. It is never the right answer (docs/metrics.md).
    """

    seeds: tuple[int, ...] = (0,)
    answer_space: str = AnswerOptions.answer_space
    questions: tuple[Question, ...] = ()
    shots: Shots = NO_SHOTS
    both: bool = False
    name: str = "mcq"

    def __post_init__(self) -> None:
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise EquipoiseError("multiple choice needs at least one seed and no duplicate seed")
        if self.answer_space not in ("joined", "apart"):
            raise EquipoiseError(f"answer_space must be joined or apart, not {self.answer_space!r}")

    @property
    def settings(self) -> Mapping[str, Any]:
        answer = {"joined": " A", "apart": "A"}[self.answer_space]
        return {
            "instruction": INSTRUCTION,
            "options": True,
            "questions": question_settings(self.questions),
            "shots": self.shots.settings,
            "seeds": list(self.seeds),
            "answer_space": self.answer_space,
            "answer_token": answer,
            "both": self.both,
        }

    def run(self, examples: Sequence[Example], *, scorer: Scorer, writer: Writer) -> Outcomes:
        return ask(self, examples, scorer)

    def prompts(self, example: Example) -> list[Prompt]:
        """Return the question once for each seed and wording."""
        wordings = wordings_for(example, self.questions)
        return [
            self._prompt(example, seed, variant, wording)
            for seed in self.seeds
            for variant, wording in wordings.items()
        ]

    def outcomes(self, examples: Sequence[Example], prompts: Sequence[Prompt], scores: Sequence[Score]) -> Outcomes:
        """Return the outcomes; `scores` are parallel to `prompts`."""
        return gather(examples_of(prompts, examples), prompts, [self.flagged(score) for score in scores])

    def flagged(self, score: Score) -> Score:
        """Return the score with a flag that says what its last option is, where it is "Both of them"."""
        return replace(score, flags=(*score.flags, BOTH_OFFERED)) if self.both else score

    def options(self, example: Example, seed: int, wording: Wording) -> tuple[list[str], list[str]]:
        """Return the lines of the options as they are shown, and the letter of each: candidates, "none", "both"."""
        if self.both and len(example.candidates) != 2:
            raise EquipoiseError(
                f'example {example.id}: "{BOTH_OF_THEM}" needs two candidates, it has {len(example.candidates)}'
            )
        further = [NONE_OF_THE_ABOVE] if wording.adds_none else []
        options = (*example.candidates, *further, *([BOTH_OF_THEM] if self.both else []))
        if len(options) > len(LETTERS):
            raise EquipoiseError(f"example {example.id}: multiple choice takes at most {len(LETTERS)} options")
        order = asked_order(example.cluster_id, f"seed={seed}", len(options), example.slots)
        lines = [f" {LETTERS[place]}.{options[option]}" for place, option in enumerate(order)]
        return lines, [LETTERS[order.index(option)] for option in range(len(options))]

    def _prompt(self, example: Example, seed: int, variant: str, wording: Wording) -> Prompt:
        def shown(shot: Example) -> str:
            lines, letters = self.options(shot, seed, wordings_for(shot, self.questions)[variant])
            return f"{self._asked(shot, lines, variant)} {letters[shot.gold or 0]}"

        lines, letters = self.options(example, seed, wording)
        before, after = (" ", "") if self.answer_space == "apart" else ("", " ")
        question = self._asked(example, lines, variant) + before
        context = f"{wording.instruction or INSTRUCTION}\n {self.shots.before(question, example, shown)}"
        answers = tuple(after + letter for letter in letters)
        return Prompt(example.id, self.name, joined_variant(f"seed={seed}", variant), context, answers)

    def _asked(self, example: Example, lines: Sequence[str], variant: str) -> str:
        """Return an example's question with its options, up to the answer."""
        wording = wordings_for(example, self.questions)[variant]
        return "\n".join([fill(wording.choice, example), *lines, " Answer:"])


def asked_order(cluster_id: str, variant: str, options: int, slots: Mapping[str, str]) -> list[int]:
    """Return which option stood at each place of a question: the example's own order, or that of the variant's seed.

    Empty where the variant names no seed.
    """
    given = [int(option) for option in slots.get("option_order", "").split()]
    named = dict(part.partition("=")[::2] for part in variant.split(","))
    return given or (option_order(cluster_id, int(named["seed"]), options) if "seed" in named else [])


def option_order(cluster_id: str, seed: int, options: int) -> list[int]:
    """Return which option is at each place: a permutation that depends on the base sentence and the seed alone."""
    digest = hashlib.sha256(f"{seed}\0{cluster_id}".encode()).digest()
    rng = np.random.default_rng(int.from_bytes(digest[:8], "big"))
    return [int(option) for option in rng.permutation(options)]
