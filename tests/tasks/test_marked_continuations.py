"""A candidate that the sentence marks is scored with and without its marker; the two probabilities add up."""

from __future__ import annotations

import numpy as np
import pytest
from run_tables import outcomes_frame

from equipoise.datasets.identity import augment, recipe
from equipoise.records import Example, Score
from equipoise.runs.tables import outcomes_from_frame
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
    slots={"pronoun": "she"},
)


def asked(how: str, aggregate: str = "sum"):
    task = NextWord(token_aggregate=aggregate)
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
    assert np.exp(outcomes.logprobs_with_marker) == pytest.approx(np.array([[0.2, 0.3], [0.2, 0.55], [0.2, 0.55]]))
    task, examples, prompts = asked("C")
    outcomes = task.outcomes(examples, prompts, scored(prompts, [0.2, 0.3, 0.05, 0.25]))
    assert np.exp(outcomes.logprobs_with_marker)[1] == pytest.approx([0.25, 0.55])


@pytest.mark.parametrize("aggregate", ["mean", "pmi"])
def test_other_ways_to_join_tokens_leave_it_as_it_is(aggregate: str) -> None:
    task, examples, prompts = asked("R", aggregate)
    outcomes = task.outcomes(examples, prompts, scored(prompts, [0.2, 0.3, 0.25]))
    assert outcomes.probs.shape == (3, 2)
    assert np.exp(outcomes.logprobs_with_marker)[1] == pytest.approx([0.2, 0.55])


def test_sentences_without_markers_have_no_such_column() -> None:
    task = NextWord()
    prompts = task.prompts(BAKER)
    assert task.outcomes([BAKER], prompts, scored(prompts, [0.2, 0.3])).logprobs_with_marker is None


def test_it_survives_the_run_folder_and_a_choice_of_rows() -> None:
    task, examples, prompts = asked("R")
    outcomes = task.outcomes(examples, prompts, scored(prompts, [0.2, 0.3, 0.25]))
    derived = {name: np.zeros(len(outcomes)) for name in ("correct", "perplexity", "candidate_mass")}
    table = outcomes_frame({"model": "m", "dataset": "d", "task": "t"}, outcomes, derived)
    again = outcomes_from_frame(table, list(outcomes.groups))
    assert again.logprobs_with_marker == pytest.approx(outcomes.logprobs_with_marker)
    assert again.take(np.array([1])).logprobs_with_marker.shape == (1, 2)


def test_naming_a_candidate_is_never_likelier_than_certain() -> None:
    # Scores in low precision may add up to a little more than 1: log-probabilities stay at or below 0.
    task, examples, prompts = asked("R")
    outcomes = task.outcomes(examples, prompts, scored(prompts, [1e-9, 0.6, 0.4 + 1e-6]))
    assert outcomes.logprobs_with_marker[1, 1] == 0.0
    assert outcomes.logprobs_with_marker.max() == 0.0
    assert np.exp(outcomes.logprobs_with_marker)[1, 0] == pytest.approx(1e-9)
