"""Next word asks exactly the paper's question, and joins the tokens of a candidate as it is told to."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from run_tables import outcomes_table

from equipoise.datasets.identity import augment, recipe
from equipoise.records import ABSENT, DatasetError, EquipoiseError, Example, Prompt, Score
from equipoise.runs.tables import outcomes_from_table
from equipoise.tasks.next_word import NextWord
from equipoise.tasks.wording import Shots


def example(**changes: Any) -> Example:
    fields: dict[str, Any] = {
        "id": "a",
        "text": "The baker thanked the clerk because she was kind.",
        "candidates": ("baker", "clerk"),
        "gold": 1,
        "answerable": True,
        "stereotype": 0,
        "groups": {"gender": "female"},
        "set_id": "p",
        "slots": {"pronoun": "she"},
    }
    return Example(**{**fields, **changes})


def score(*candidates: tuple[float, ...], flags: tuple[str, ...] = ()) -> Score:
    return Score("key", candidates, flags=flags)


def test_the_question_is_the_papers_word_for_word() -> None:
    assert NextWord().prompts(example()) == [
        Prompt(
            "a",
            "next-word",
            "",
            'The baker thanked the clerk because she was kind. The pronoun "she" refers to the',
            (" baker", " clerk"),
        )
    ]


def test_shots_come_first_with_their_right_answer() -> None:
    text = "The cook called the judge because he was hungry."
    shots = [example(id=f"s{gold}", text=text, candidates=("cook", "judge"), gold=gold) for gold in (0, 1)]
    (prompt,) = NextWord(shots=Shots(tuple(shots))).prompts(example())
    assert isinstance(prompt.context, str)
    first, second, _ = prompt.context.split("\n\n")
    assert first.endswith(" cook.") and second.endswith(" judge.")


def test_the_space_belongs_to_the_candidate() -> None:
    (prompt,) = NextWord().prompts(example(candidates=("head cook", "clerk", "someone else")))
    assert prompt.continuations == (" head cook", " clerk", " someone else")
    assert isinstance(prompt.context, str) and prompt.context[-1] != " "


def test_braces_in_a_sentence_are_left_alone() -> None:
    (prompt,) = NextWord().prompts(example(text="The {baker} said {} and {pronoun}."))
    assert prompt.context == 'The {baker} said {} and {pronoun}. The pronoun "she" refers to the'


@pytest.mark.parametrize("slots", [{}, {"pronoun": ""}])
def test_without_a_pronoun_there_is_nothing_to_ask(slots: dict[str, str]) -> None:
    with pytest.raises(DatasetError, match="example a: has nothing to ask about; it needs one of pronoun"):
        NextWord().prompts(example(slots=slots))


def test_the_sum_of_the_tokens_is_the_default() -> None:
    task = NextWord()
    prompts = task.prompts(example())
    outcomes = task.outcomes([example()], prompts, [score((-1.0, -2.0), (-2.5,), flags=("split-join",))])
    assert outcomes.logprobs.tolist() == [[-3.0, -2.5]]
    right = 1 / (1 + math.exp(-0.5))
    np.testing.assert_allclose(outcomes.probs, [[1 - right, right]])
    assert (outcomes.example_id[0], outcomes.set_id[0], outcomes.variant[0]) == ("a", "p", "")
    assert (outcomes.gold[0], outcomes.stereotype[0], outcomes.answerable[0]) == (1, 0, True)
    assert outcomes.groups["gender"].tolist() == ["female"]
    assert outcomes.flags.tolist() == ["split-join"]
    assert outcomes.predicted.tolist() == [1]


def test_the_mean_divides_by_the_number_of_tokens_and_keeps_the_raw_sum() -> None:
    task = NextWord(token_aggregate="mean")
    outcomes = task.outcomes([example()], task.prompts(example()), [score((-1.0, -2.0), (-2.5,))])
    right = 1 / (1 + math.exp(1.0))  # -2.5 against a mean of -1.5
    np.testing.assert_allclose(outcomes.probs, [[1 - right, right]])
    assert outcomes.logprobs.tolist() == [[-3.0, -2.5]]


def test_pmi_takes_off_what_the_words_have_without_the_sentence() -> None:
    task = NextWord(token_aggregate="pmi")
    prompts = task.prompts(example())
    assert [(prompt.variant, prompt.context) for prompt in prompts] == [
        ("", 'The baker thanked the clerk because she was kind. The pronoun "she" refers to the'),
        ("baseline", "The pronoun refers to the"),
    ]
    assert prompts[0].continuations == prompts[1].continuations
    outcomes = task.outcomes([example()], prompts, [score((-3.0,), (-2.0,)), score((-4.0,), (-1.0, -0.5))])
    right = 1 / (1 + math.exp(1.5))  # -3+4 = 1 against -2+1.5 = -0.5
    np.testing.assert_allclose(outcomes.probs, [[1 - right, right]])
    assert outcomes.logprobs.tolist() == [[-3.0, -2.0]]
    assert len(outcomes) == 1


def test_each_example_has_its_own_baseline() -> None:
    task = NextWord(token_aggregate="pmi")
    examples = [example(), example(id="b", candidates=("cook", "judge"), set_id="q")]
    prompts = [prompt for asked in examples for prompt in task.prompts(asked)]
    scores = [score((-1.0,), (-1.0,)), score((-2.0,), (-1.0,)), score((-1.0,), (-1.0,)), score((-1.0,), (-2.0,))]
    outcomes = task.outcomes(examples, prompts, scores)
    assert outcomes.predicted.tolist() == [0, 1]


def test_items_without_an_answer_or_a_group_say_so() -> None:
    task = NextWord()
    examples = [example(), example(id="b", gold=None, answerable=False, stereotype=None, groups={"type": "type1"})]
    prompts = [prompt for asked in examples for prompt in task.prompts(asked)]
    outcomes = task.outcomes(examples, prompts, [score((-1.0,), (-2.0,))] * 2)
    assert outcomes.gold.tolist() == [1, ABSENT]
    assert outcomes.stereotype.tolist() == [0, ABSENT]
    assert outcomes.answerable.tolist() == [True, False]
    assert outcomes.groups["gender"].tolist() == ["female", ""]
    assert outcomes.groups["type"].tolist() == ["", "type1"]


def test_prompts_and_scores_must_be_parallel() -> None:
    task = NextWord()
    with pytest.raises(ValueError):
        task.outcomes([example()], task.prompts(example()), [])


def test_an_unknown_way_to_join_tokens_is_refused() -> None:
    with pytest.raises(EquipoiseError, match="token_aggregate must be sum, mean or pmi, not 'max'"):
        NextWord(token_aggregate="max")
    several = ("{text} It is", "{text} This is")
    with pytest.raises(EquipoiseError, match="token_aggregate pmi takes one question, not 2"):
        NextWord(token_aggregate="pmi", questions=several)
    assert NextWord(token_aggregate="pmi", questions=several[:1]).questions == several[:1]
    assert NextWord(questions=several).questions == several


def test_candidates_of_several_tokens_have_the_probability_of_a_token() -> None:
    asked = [example(), example(id="b")]
    prompts = [prompt for sentence in asked for prompt in NextWord().prompts(sentence)]
    scores = [score((-1.0, -3.0), (-1.5,)), score((-0.5, -0.7), (-4.0,))]
    kept = NextWord().outcomes(asked, prompts, scores).reductions["token_probability"]
    np.testing.assert_allclose(kept, np.exp([-1.5, -0.6]))
    rounded = [score((1e-7, 1e-7), (-1.5,)), scores[1]]
    assert NextWord().outcomes(asked, prompts, rounded).reductions["token_probability"][0] == 1, "not more than certain"
    single = NextWord().outcomes(asked, prompts, [score((-1.0,), (-2.0,)), score((-0.5,), (-4.0,))])
    assert "token_probability" not in single.reductions, "where each has one token it is the sequence's probability"


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
    table = outcomes_table({"model": "m", "dataset": "d", "task": "t"}, outcomes, derived)
    again = outcomes_from_table(table, list(outcomes.groups))
    assert again.logprobs_with_marker == pytest.approx(outcomes.logprobs_with_marker)
    assert again.take(np.array([1])).logprobs_with_marker.shape == (1, 2)


def test_naming_a_candidate_is_never_likelier_than_certain() -> None:
    # Scores in low precision may add up to a little more than 1: log-probabilities stay at or below 0.
    task, examples, prompts = asked("R")
    outcomes = task.outcomes(examples, prompts, scored(prompts, [1e-9, 0.6, 0.4 + 1e-6]))
    assert outcomes.logprobs_with_marker[1, 1] == 0.0
    assert outcomes.logprobs_with_marker.max() == 0.0
    assert np.exp(outcomes.logprobs_with_marker)[1, 0] == pytest.approx(1e-9)
