"""Multiple choice asks in the paper's words, in an order that the counterfactual set and the seed alone decide."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.datasets import open_dataset
from equipoise.measuring.measure import Plan, measure, measured_items
from equipoise.metrics import METRICS
from equipoise.records import EquipoiseError, Example, Prompt, RunKey, Score
from equipoise.tasks import TaskOptions, open_task
from equipoise.tasks.multiple_choice import MultipleChoice, option_order
from equipoise.tasks.outcomes import further_options
from equipoise.tasks.wording import Shots


def example(**changes: Any) -> Example:
    fields: dict[str, Any] = {
        "id": "a",
        "text": "The baker thanked the clerk because she was kind.",
        "candidates": ("baker", "clerk"),
        "gold": 1,
        "answerable": True,
        "stereotype": 0,
        "groups": {},
        "set_id": "p",
        "slots": {"pronoun": "she"},
    }
    return Example(**{**fields, **changes})


def options_of(prompt: Prompt) -> list[str]:
    assert isinstance(prompt.context, str)
    return re.findall(r"\n [A-Z]\.(.*)", prompt.context)


def test_shots_come_first_with_the_letter_of_their_right_answer() -> None:
    text = "The cook called the judge because he was hungry."
    shots = [example(id=f"s{gold}", text=text, candidates=("cook", "judge"), gold=gold, set_id="s") for gold in (0, 1)]
    (prompt,) = MultipleChoice(shots=Shots(tuple(shots))).prompts(example())
    assert isinstance(prompt.context, str)
    first, second, asked = prompt.context.split("\n\n")
    place = option_order("s", 0, 3).index
    assert (first[-1], second[-1]) == ("ABC"[place(0)], "ABC"[place(1)])
    assert asked.startswith("The baker") and asked.endswith("Answer:") and first.count("Answer: ") == 1
    with pytest.raises(EquipoiseError, match="shot s9 has no right answer to show"):
        Shots((example(id="s9", gold=None, answerable=False),))


def test_the_prompt_is_the_papers_word_for_word() -> None:
    names = ("baker", "clerk", "None of the above")
    first, second, third = (names[option] for option in option_order("p", 0, 3))
    (prompt,) = MultipleChoice().prompts(example())
    assert prompt.context == (
        "Choose the right option for the question using the context below.\n"
        " The baker thanked the clerk because she was kind. The pronoun she refers to\n"
        f" A.{first}\n B.{second}\n C.{third}\n Answer:"
    )
    assert (prompt.example_id, prompt.task, prompt.variant) == ("a", "mcq", "seed=0")


def test_each_answer_is_the_letter_before_its_option() -> None:
    for seed in range(20):
        (prompt,) = MultipleChoice(seeds=(seed,)).prompts(example())
        shown = options_of(prompt)
        for option, letter in zip(("baker", "clerk", "None of the above"), prompt.continuations, strict=True):
            assert shown["ABC".index(letter.strip())] == option


def test_the_space_stands_in_the_answer_or_at_the_end_of_the_prompt() -> None:
    (joined,) = MultipleChoice(answer_space="joined").prompts(example())
    (apart,) = MultipleChoice(answer_space="apart").prompts(example())
    assert isinstance(joined.context, str) and joined.context.endswith("\n Answer:")
    assert sorted(joined.continuations) == [" A", " B", " C"]
    assert apart.context == joined.context + " "
    assert apart.continuations == tuple(letter.strip() for letter in joined.continuations)
    assert MultipleChoice(answer_space="joined").settings["answer_token"] == " A"
    assert MultipleChoice(answer_space="apart").settings["answer_token"] == "A"


def test_the_pronouns_of_a_pair_are_asked_in_the_same_order() -> None:
    task = MultipleChoice(seeds=tuple(range(30)))
    he = example(id="b", text="The baker thanked the clerk because he was kind.", slots={"pronoun": "he"})
    for one, other in zip(task.prompts(example()), task.prompts(he), strict=True):
        assert options_of(one) == options_of(other)
        assert one.continuations == other.continuations
        assert one.context != other.context


def test_all_six_orders_occur_about_equally_often() -> None:
    for orders in (
        [tuple(option_order(f"pair {number}", 0, 3)) for number in range(1200)],
        [tuple(option_order("one pair", seed, 3)) for seed in range(1200)],
    ):
        counts = Counter(orders)
        assert set(counts) == set(permutations(range(3)))
        assert min(counts.values()) > 140 and max(counts.values()) < 260


@given(st.text(min_size=1), st.integers(-(2**40), 2**40), st.integers(2, 10))
def test_an_order_is_a_permutation_and_always_the_same(pair: str, seed: int, options: int) -> None:
    order = option_order(pair, seed, options)
    assert sorted(order) == list(range(options))
    assert option_order(pair, seed, options) == order


def test_orders_are_those_of_earlier_releases() -> None:
    assert [option_order("p", seed, 3) for seed in range(5)] == [[1, 2, 0], [0, 2, 1], [0, 2, 1], [0, 1, 2], [2, 1, 0]]


def test_a_seed_is_a_variant_and_a_row_of_its_own() -> None:
    task = MultipleChoice(seeds=(4, 7))
    prompts = task.prompts(example())
    assert [prompt.variant for prompt in prompts] == ["seed=4", "seed=7"]
    scores = [Score("k", ((-1.0,), (-2.0,), (-3.0,))), Score("l", ((-3.0,), (-2.0,), (-1.0,)))]
    outcomes = task.outcomes([example()], prompts, scores)
    assert outcomes.k == 3
    assert outcomes.variant.tolist() == ["seed=4", "seed=7"]
    assert outcomes.predicted.tolist() == [0, 2]
    np.testing.assert_allclose(outcomes.probs[0], np.exp([-1, -2, -3]) / np.exp([-1, -2, -3]).sum())
    assert outcomes.gold.tolist() == [1, 1]


def test_nine_candidates_are_the_most_it_takes() -> None:
    names = [f"worker {number}" for number in range(10)]
    (prompt,) = MultipleChoice().prompts(example(candidates=tuple(names[:9])))
    assert len(options_of(prompt)) == len(set(prompt.continuations)) == 10
    with pytest.raises(EquipoiseError, match="example a: multiple choice takes at most 10 options"):
        MultipleChoice().prompts(example(candidates=tuple(names)))


@pytest.mark.parametrize("seeds", [(), (1, 1), (0, 2, 0)])
def test_seeds_must_be_there_and_differ(seeds: tuple[int, ...]) -> None:
    with pytest.raises(EquipoiseError, match="at least one seed and no duplicate seed"):
        MultipleChoice(seeds=seeds)


def test_an_unknown_answer_space_is_refused() -> None:
    with pytest.raises(EquipoiseError, match="answer_space must be joined or apart, not 'near'"):
        MultipleChoice(answer_space="near")


def test_both_of_them_is_offered_on_request_to_every_pronoun_in_the_same_place() -> None:
    task = MultipleChoice(seeds=tuple(range(30)), both=True)
    they = example(id="b", text="The baker thanked the clerk because they were kind.", slots={"pronoun": "they"})
    names = ("baker", "clerk", "None of the above", "Both of them")
    places = set()
    for one, other in zip(task.prompts(example()), task.prompts(they), strict=True):
        shown = options_of(one)
        assert shown == options_of(other) and one.continuations == other.continuations
        assert [shown["ABCD".index(letter.strip())] for letter in one.continuations] == list(names)
        places.add(shown.index("Both of them"))
    assert places == {0, 1, 2, 3}
    (asked,) = MultipleChoice(both=True, questions=("{text} Who is meant?",)).prompts(example())
    assert set(options_of(asked)) == {"baker", "clerk", "Both of them"}
    with pytest.raises(EquipoiseError, match=r'example a: "Both of them" needs two candidates, it has 3'):
        MultipleChoice(both=True).prompts(example(candidates=("baker", "clerk", "unknown")))


@pytest.mark.parametrize("name", ["mcq", "mcq-cot"])
def test_the_share_that_chooses_both_is_the_planted_one(name: str) -> None:
    """Of 40 ambiguous and 40 resolvable sentences with he and they, "both" is chosen for 30% of those with they."""
    examples = []
    for number in range(80):
        for gender, pronoun in (("male", "he"), ("neutral", "they")):
            kind = {"gold": None, "answerable": False} if number % 2 else {"gold": 1}
            groups = {"gender": gender, "type": "type1" if number % 2 else "type2"}
            fields = {"id": f"{number}-{pronoun}", "set_id": str(number), "groups": groups, **kind}
            examples.append(example(**fields, slots={"pronoun": pronoun}))

    def chosen(prompt: Prompt) -> int:
        number, pronoun = prompt.example_id.split("-")
        return 3 if pronoun == "they" and int(number) // 2 % 10 < 3 else 1

    def scorer(prompts: Sequence[Prompt]) -> list[Score]:
        return [Score("", tuple((-0.01,) if n == chosen(p) else (-9.0,) for n in range(4))) for p in prompts]

    task = open_task(name, TaskOptions(both=True))
    outcomes = task.run(examples, scorer=scorer, writer=lambda contexts, tokens: dict.fromkeys(contexts, "Hm."))
    names = ("both_chosen", "desirability", "flip_rate", "flip_toward", "ucerf", "ucerf_signed")
    plan = Plan([METRICS[name] for name in names], resamples=50)
    rows, _ = measure(measured_items(outcomes, plan), plan, RunKey("m", "d", name))
    values = {(row.metric, row.group): row for row in rows}
    share = values["both_chosen", "gender=neutral,type=type1"]
    assert (share.value, share.n) == (0.3, 40) and 0.1 < share.low < 0.3 < share.high < 0.55
    assert values["both_chosen", "gender=male,type=type1"].value == 0
    # On a resolvable sentence "both" is wrong, D = -c; on an ambiguous one D = c, whatever is chosen.
    certainty = values["desirability", "gender=male,type=type2"].value
    assert certainty > 0.95
    assert values["desirability", "gender=neutral,type=type2"].value == pytest.approx(0.4 * certainty)
    assert values["ucerf", "type=type2"].value == pytest.approx(1 - 0.3 * certainty)
    assert values["ucerf", "type=type1"].value == pytest.approx(1)
    assert values["ucerf_signed", "type=type1"].value == pytest.approx(1 - 0.3 * certainty)
    assert values["flip_rate", "type=type1"].value == pytest.approx(0.3)


def test_without_the_option_there_is_no_share_of_both() -> None:
    task = MultipleChoice()
    prompts = task.prompts(example())
    outcomes = task.outcomes([example()], prompts, [Score("k", ((-1.0,), (-2.0,), (-0.5,)))])
    plan = Plan([METRICS["both_chosen"]], resamples=10)
    assert measure(measured_items(outcomes, plan), plan, RunKey("m", "d", "mcq")) == ([], [])
    assert further_options("", 1) == ("None of the above",) and further_options("", 0) == ()
    assert further_options("split-join,both-offered", 2) == ("None of the above", "Both of them")
    assert further_options("both-offered", 1) == ("Both of them",)
    assert further_options("open-answer", 4)[0] == "both"


@pytest.mark.parametrize("name", ["builtin", "gendered", "gendered:control", "decisions"])
def test_all_questions_of_a_dataset_of_ours_have_as_many_options(name: str) -> None:
    counts = {len(prompt.continuations) for e in open_dataset(name).examples for prompt in MultipleChoice().prompts(e)}
    assert len(counts) == 1


def test_the_first_of_two_faults_is_told() -> None:
    with pytest.raises(EquipoiseError, match="at least one seed"):
        MultipleChoice(seeds=(), answer_space="near")
    three = example(candidates=tuple(f"worker {number}" for number in range(12)))
    with pytest.raises(EquipoiseError, match="needs two candidates, it has 12"):
        MultipleChoice(both=True).prompts(three)
