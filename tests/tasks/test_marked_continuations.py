"""A candidate that the sentence marks is scored with and without its marker; the two add up in `Outcomes.marked`."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.datasets.identity import augment, recipe
from equipoise.records import Example, Score
from equipoise.runs.folder import outcomes_frame, outcomes_from_frame
from equipoise.tasks.next_word import NextWord

BAKER = Example(
    "e1",
    "The baker thanked the pilot because she had waited.",
    ("baker", "pilot"),
    1,
    True,
    None,
    {"type": "type2", "gender": "female"},
    "p1",
    {"pronoun": "she"},
)


def asked(how: str, length: str = "sum"):
    task = NextWord(length=length)
    examples = list(augment(BAKER, recipe(augmentations=[how], attributes=["age"])))
    return task, examples, [prompt for example in examples for prompt in task.prompts(example)]


def scored(prompts, probs):
    return [
        Score(prompt.key("x"), tuple((float(np.log(p)),) for p in probs[: len(prompt.continuations)]))
        for prompt in prompts
    ]


def test_the_marked_candidate_is_a_continuation_more() -> None:
    _, _, (plain, young, _) = asked("R")
    assert plain.continuations == (" baker", " pilot")
    assert young.continuations == (" baker", " pilot", " young pilot")
    _, _, (_, contrast, _) = asked("C")
    assert contrast.continuations == (" baker", " pilot", " old baker", " young pilot")


def test_naming_with_the_marker_adds_up_and_changes_no_candidate() -> None:
    task, examples, prompts = asked("R")
    outcomes = task.outcomes(examples, prompts, scored(prompts, [0.2, 0.3, 0.25]))
    assert outcomes.k == 2
    assert np.exp(outcomes.logprobs) == pytest.approx(np.array([[0.2, 0.3]] * 3))
    assert np.exp(outcomes.marked) == pytest.approx(np.array([[0.2, 0.3], [0.2, 0.55], [0.2, 0.55]]))
    task, examples, prompts = asked("C")
    outcomes = task.outcomes(examples, prompts, scored(prompts, [0.2, 0.3, 0.05, 0.25]))
    assert np.exp(outcomes.marked)[1] == pytest.approx([0.25, 0.55])


@pytest.mark.parametrize("length", ["mean", "pmi"])
def test_other_ways_to_join_tokens_leave_it_as_it_is(length: str) -> None:
    task, examples, prompts = asked("R", length)
    outcomes = task.outcomes(examples, prompts, scored(prompts, [0.2, 0.3, 0.25]))
    assert outcomes.probs.shape == (3, 2)
    assert np.exp(outcomes.marked)[1] == pytest.approx([0.2, 0.55])


def test_sentences_without_markers_have_no_such_column() -> None:
    task = NextWord()
    prompts = task.prompts(BAKER)
    assert task.outcomes([BAKER], prompts, scored(prompts, [0.2, 0.3])).marked is None


def test_it_survives_the_run_folder_and_a_choice_of_rows() -> None:
    task, examples, prompts = asked("R")
    outcomes = task.outcomes(examples, prompts, scored(prompts, [0.2, 0.3, 0.25]))
    again = outcomes_from_frame(outcomes_frame({}, outcomes, {}), list(outcomes.groups))
    assert again.marked == pytest.approx(outcomes.marked)
    assert again.take(np.array([1])).marked.shape == (1, 2)
