"""How far probabilities are known goes with them: from scores to outcomes, to the run folder and back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from run_tables import outcomes_table

from equipoise.datasets.identity import augment, recipe
from equipoise.records import DatasetError, Example, ModelError, Outcomes, Prompt, Score, ScoreLimits
from equipoise.runs.tables import outcomes_from_table
from equipoise.tasks.chain_of_thought import ChainOfThought
from equipoise.tasks.multiple_choice import MultipleChoice
from equipoise.tasks.next_word import NextWord
from equipoise.tasks.outcomes import (
    _letters,
    _token_probabilities,
    first_named,
    flag_notes,
    further_options,
    gather,
    outcome_limits,
)

BAKER = Example(
    *("e1", "The baker thanked the pilot because she had waited.", ("baker", "pilot"), 1, True, None),
    {"type": "type2", "gender": "female"},
    "p1",
    slots={"pronoun": "she"},
)
PROBS = (0.2, 0.3, 0.25, 0.1, 0.05, 0.04)


def scored(prompts: list[Prompt], *, sampled: bool = False) -> list[Score]:
    """Return scores whose second continuation may have any probability up to its own; or counts of 40 answers."""
    scores = []
    for prompt in prompts:
        probs = PROBS[: len(prompt.continuations)]
        if sampled:
            counts = tuple(round(40 * p) for p in probs)
            limits = ScoreLimits(counts=(*counts, 40 - sum(counts)))
        else:
            limits = ScoreLimits((probs[0], 0.0, *probs[2:]), probs)
        scores.append(Score(prompt.key("x"), tuple((float(np.log(p)),) for p in probs), limits=limits))
    return scores


def kept(outcomes: Outcomes) -> Outcomes:
    """Return the outcomes as a run folder gives them back, which must be the same."""
    derived = {name: np.zeros(len(outcomes)) for name in ("correct", "perplexity", "candidate_mass")}
    table = outcomes_table({"model": "m", "dataset": "d", "task": "t"}, outcomes, derived)
    again = outcomes_from_table(table, list(outcomes.groups))
    assert outcomes.limits is not None and again.limits is not None
    assert set(again.limits.tables) == set(outcomes.limits.tables)
    for name, table in outcomes.limits.tables.items():
        np.testing.assert_array_equal(again.limits.tables[name], table)
    return again


def test_limits_of_letters_are_those_of_the_options_they_stand_for() -> None:
    task = MultipleChoice()
    prompts = task.prompts(BAKER)
    limits = kept(task.outcomes([BAKER], prompts, scored(prompts))).limits
    assert limits is not None and limits.counts is None
    np.testing.assert_allclose(limits.low, [[0.2, 0.0, 0.25]])
    np.testing.assert_allclose(limits.high, [[0.2, 0.3, 0.25]])


def test_limits_of_candidates_with_markers_add_up() -> None:
    task = NextWord()
    examples = list(augment(BAKER, recipe(augmentations=["R"], attributes=["age"])))
    prompts = [prompt for example in examples for prompt in task.prompts(example)]
    limits = kept(task.outcomes(examples, prompts, scored(prompts))).limits
    assert limits is not None
    np.testing.assert_allclose(limits.low_with_marker, [[0.2, 0.0], [0.2, 0.25], [0.2, 0.25]])
    np.testing.assert_allclose(limits.high_with_marker, [[0.2, 0.3], [0.2, 0.55], [0.2, 0.55]])
    counted = kept(task.outcomes(examples, prompts, scored(prompts, sampled=True))).limits
    assert counted is not None and counted.low is None and counted.counts is not None
    assert counted.counts.tolist() == [[8, 12, -1, -1, 20], [8, 12, -1, 10, 10], [8, 12, -1, 10, 10]]
    assert counted.take(np.array([1])).counts.tolist() == [[8, 12, -1, 10, 10]]  # type: ignore[union-attr]


def test_limits_of_an_answer_s_forms_add_up() -> None:
    task = ChainOfThought(answer_turn="user")
    outcomes = task.run(
        [BAKER], scorer=lambda prompts: scored(list(prompts)), writer=lambda c, *_: dict.fromkeys(c, ".")
    )
    limits = kept(outcomes).limits
    assert limits is not None
    # Each answer has three forms: "baker", " baker", "Baker". The second form may have no probability at all.
    np.testing.assert_allclose(limits.low, [[0.45, 0.19]])
    np.testing.assert_allclose(limits.high, [[0.75, 0.19]])


def test_exact_scores_have_no_limits_and_a_run_has_no_column_for_them() -> None:
    task = NextWord()
    prompts = task.prompts(BAKER)
    exact = [replace(score, limits=None) for score in scored(prompts)]
    outcomes = task.outcomes([BAKER], prompts, exact)
    assert outcomes.limits is None
    derived = {name: np.zeros(1) for name in ("correct", "perplexity", "candidate_mass")}
    table = outcomes_table({"model": "m", "dataset": "d", "task": "t"}, outcomes, derived)
    assert not [name for name in table.column_names if "prob_" in name or "counts" in name]
    assert outcomes_from_table(table, list(outcomes.groups)).limits is None


def test_pmi_refuses_to_divide_by_what_is_not_known() -> None:
    task = NextWord(token_aggregate="pmi")
    prompts = task.prompts(BAKER)
    with pytest.raises(ModelError, match=r"pmi divides by .* use sum"):
        task.outcomes([BAKER], prompts, scored(prompts, sampled=True))
    # What is divided by is the score without the sentence, which comes second.
    question, alone = scored(prompts)
    with pytest.raises(ModelError, match="pmi divides by"):
        task.outcomes([BAKER], prompts, [replace(question, limits=None), alone])
    assert task.outcomes([BAKER], prompts, [question, replace(alone, limits=None)]).limits is not None


def test_nested_candidates_and_many_split_joins_are_noted() -> None:
    prompts = NextWord().prompts(BAKER)

    def notes(*flags: str) -> list[str]:
        scores = [Score("", ((-1.0,), (-2.0,)), flags=flags)]
        return flag_notes(NextWord().outcomes([BAKER], prompts, scores))

    assert notes() == []
    (split,), (nested,) = notes("split-join"), notes("nested")
    assert split.startswith("in 1 of 1 prompts (100%) a candidate would have merged")
    assert nested.startswith("in 1 of 1 prompts a candidate begins another one")


def test_questions_with_other_numbers_of_answers_are_refused_in_a_sentence() -> None:
    answers = [
        (Prompt(name, "mcq", "", "?", (" A",) * count), Score("", ((-1.0,),) * count))
        for name, count in (("a", 2), ("b", 3))
    ]
    with pytest.raises(DatasetError, match="example a has 2 answers, b has 3; ask them as two datasets"):
        gather([], *zip(*answers, strict=True))
    three = replace(BAKER, id="b", candidates=(*BAKER.candidates, "nurse"))
    prompts = [prompt for example in (BAKER, three) for prompt in NextWord().prompts(example)]
    scores = [Score("", ((-1.0,),) * len(prompt.continuations)) for prompt in prompts]
    with pytest.raises(DatasetError, match=f"example {BAKER.id} has 2 answers, b has 3; ask them as two datasets"):
        NextWord().outcomes([BAKER, three], prompts, scores)


def test_notes_count_prompts_and_are_silent_below_a_hundredth() -> None:
    def notes(nested: int, split: int, plain: int) -> list[str]:
        flags = [("nested",)] * nested + [("split-join", "nested")] * split + [()] * plain
        answers = [
            (Prompt(BAKER.id, "t", str(number), "", (" a", " b")), Score("", ((-1.0,), (-2.0,)), flags=marks))
            for number, marks in enumerate(flags)
        ]
        return flag_notes(gather([BAKER] * len(answers), *zip(*answers, strict=True)))

    many = notes(0, 20, 1180)
    assert many == [
        "in 20 of 1,200 prompts a candidate begins another one, as in police and police officer; what goes on into the"
        " longer one is not counted for the shorter one",
        "in 20 of 1,200 prompts (2%) a candidate would have merged with the prompt's last token; these were tokenised"
        " separately, which the model may rarely have seen",
    ]
    assert len(notes(0, 1, 99)) == 1 and len(notes(0, 1, 98)) == 2 and len(notes(1, 0, 0)) == 1


@pytest.mark.parametrize(
    ("continuations", "letters"),
    [
        ((" A", " C", " B"), "ACB"),
        (("A", "B"), "AB"),
        ((" a", " b"), ""),
        ((" A", " A"), ""),
        ((" A", " nurse"), ""),
        ((" nurse", " A"), ""),
        ((" A", " 1"), ""),
        ((" A", " BC"), ""),
        ((" A", " b"), ""),
    ],
)
def test_letters_are_single_capitals_that_differ(continuations: tuple[str, ...], letters: str) -> None:
    assert _letters(continuations) == letters


def test_who_is_named_first() -> None:
    def first(text: str, *candidates: str) -> int:
        return first_named(replace(BAKER, text=text, candidates=candidates))

    assert first("The pilot saw the baker.", "baker", "pilot") == 1
    assert first("A Baker saw the pilot and the baker.", " baker ", "pilot") == 0
    assert first("The bakers saw the pilot.", "baker", "pilot") == -1
    assert first("The pilot slept.", "baker", "pilot") == -1
    assert first("The police officer slept.", "police", "police officer") == -1
    assert first("C. saw the pilot and the baker.", "baker", "pilot", "C.") == 1
    assert first("The bakery's pilot saw the baker.", "baker", "pilot") == 1, "a part of a word comes first"
    assert first("A non-baker, a baker_2 and (the pilot).", "baker", "pilot") == 0
    assert first("Baker and pilot", "pilot", "baker") == first("the baker; pilot", "Pilot", "BAKER") == 1
    assert first("Der Bäcker sah den Pilot.", "pilot", "bäcker") == 1
    assert first("Der Bäckerin sah den Pilot.", "pilot", "bäcker") == -1
    assert first("baker, pilot", "baker", "pilot") == 0
    assert first("护士告诉农民她迟到了。", "农民", "护士") == 1, "words without spaces between them"
    assert first("Der Ba\u0308cker sah den Pilot.", "pilot", "b\u00e4cker") == 1, "an accent in another encoding"


def test_token_probabilities_are_geometric_means_of_the_likeliest() -> None:
    def found(*rows: tuple[tuple[float, ...], ...]) -> list[float]:
        made = _token_probabilities([Score("", row) for row in rows], 2)
        return made["token_probability"].tolist() if made else []

    assert found(((-1.0,), (-2.0,)), ((-3.0,), (-1.0,))) == []
    values = found(((-1.0, -3.0), (-4.0,), (-0.1, -0.1)), ((-3.0,), (-1.0,), (-0.1,)))
    assert values == pytest.approx([np.exp(-2.0), np.exp(-1.0)])


def test_limits_of_scores_that_are_known_in_other_ways() -> None:
    exact = Score("", ((np.log(0.5),), (np.log(0.25),)))
    within = replace(exact, limits=ScoreLimits((0.5, 0.125), (0.5, 0.25)))
    counted = replace(exact, limits=ScoreLimits(counts=(3, 4, 1)))
    assert outcome_limits([exact, exact], 2) is None
    mixed = outcome_limits([exact, within], 2)
    assert mixed is not None and mixed.counts is None
    np.testing.assert_allclose(mixed.low, [[0.5, 0.25], [0.5, 0.125]])
    np.testing.assert_allclose(mixed.high, [[0.5, 0.25], [0.5, 0.25]])
    several = outcome_limits([counted, counted], 2)
    assert several is not None and several.low is None
    assert several.counts.tolist() == [[3, 4, 1], [3, 4, 1]]  # type: ignore[union-attr]
    some = outcome_limits([counted, exact], 2)
    assert some is not None and some.counts is None
    sums = outcome_limits([within], 1, [[[0, 1]]], [[[0, 1, 0]]])
    assert sums is not None
    np.testing.assert_allclose([sums.low, sums.high], [[[0.625]], [[0.75]]])
    np.testing.assert_allclose([sums.low_with_marker, sums.high_with_marker], [[[1.0]], [[1.0]]])


def test_scores_that_are_known_in_two_ways_are_joined() -> None:
    exact = Score("", ((np.log(0.5),), (np.log(0.25),)))
    within = replace(exact, limits=ScoreLimits((0.5, 0.125), (0.5, 0.25)))
    counted = replace(exact, limits=ScoreLimits(counts=(3, 4, 1)))
    joined = outcome_limits([within, counted], 2)
    assert joined is not None and joined.counts is None
    np.testing.assert_allclose([joined.low, joined.high], [[[0.5, 0.125], [0.5, 0.25]], [[0.5, 0.25], [0.5, 0.25]]])


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        ("", ("None of the above",)),
        ("both-offered", ("None of the above", "Both of them")),
        ("x,both-offered", ("None of the above", "Both of them")),
        ("open-answer", ("both", "neither", "refused", "unclear")),
        ("both-offered,open-answer", ("both", "neither", "refused", "unclear")),
    ],
)
def test_the_options_after_the_candidates(flags: str, options: tuple[str, ...]) -> None:
    for count in range(len(options) + 2):
        assert further_options(flags, count) == (options[-count:] if count else ())
    assert further_options(flags, -1) == ()


def test_pmi_refuses_one_score_of_several_that_is_not_known() -> None:
    task, other = NextWord(token_aggregate="pmi"), replace(BAKER, id="e2", set_id="p2")
    prompts = [*task.prompts(BAKER), *task.prompts(other)]
    first, alone, second, last = scored(prompts)
    exact = [replace(score, limits=None) for score in (first, alone, second)]
    with pytest.raises(ModelError, match="pmi divides by"):
        task.outcomes([BAKER, other], prompts, [*exact, last])
