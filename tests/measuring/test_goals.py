"""What an audit is to settle: what cannot be is refused before anything is asked."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from kept_texts import assert_kept
from test_kept_measurements import asked, builtin

from equipoise.datasets import open_dataset
from equipoise.measuring.goals import goals
from equipoise.measuring.measure import Plan
from equipoise.metrics import METRICS
from equipoise.metrics.requirement import Duel, parse_requirement
from equipoise.records import EquipoiseError

DATA = open_dataset("builtin")
PLAN = Plan(list(METRICS.values()), by=["gender"])


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("perplexity <= 1.5", "cannot be followed: the values that it averages have no bounds"),
        ("ece <= 0.1", "cannot be followed: it is not made of means"),
        ("ucerf_renyi[type=type2] >= 0.8", "the estimator renyi is not measured"),
        ("accuracy[stereotype=pro] >= 0.8", "not broken down by stereotype"),
        ("accuracy[type=type9] >= 0.8", "names nothing in builtin; type can be type1, type2$"),
        ("ucerf >= 0.8", r"^'ucerf >= 0.8': ucerf is taken of each type .* apart; name one: ucerf\[type=type2\]$"),
        ("accuracy[dataset=winobias] >= 0.8", "names nothing in builtin"),
        ("accuracy[type=type1] >= 0.8", "names nothing in builtin"),
    ],
)
def test_what_cannot_be_settled_is_refused_with_a_reason(text: str, match: str) -> None:
    with pytest.raises(EquipoiseError, match=match):
        goals([(DATA, "next-word")], [parse_requirement(text)], PLAN)


def test_all_datasets_and_tasks_share_the_error() -> None:
    requirement = parse_requirement("flip_rate[type=type2] <= 0.10")
    several = goals([(DATA, "next-word"), (DATA, "mcq")], [requirement], PLAN)
    assert [goal.level for asked in several for goal in asked] == [pytest.approx(0.975)] * 2


def test_only_examples_that_count_are_asked_and_their_number_in_a_sentence_is_known() -> None:
    texts = ["accuracy >= 0.6", "flip_rate <= 0.1", "accuracy[gender=female] >= 0.6"]
    (asked,) = goals([(DATA, "next-word")], [parse_requirement(text) for text in texts], PLAN)
    labelled, sets, female = asked
    assert {example.groups["type"] for example in labelled.examples} == {"type2"}
    assert labelled.followed.most == 2 and sets.followed.most == 1 and female.followed.most == 1
    assert labelled.followed.horizon == 266 and sets.followed.horizon == 510


def test_examples_that_count_for_every_kind_of_metric_are_kept() -> None:
    small = builtin(8)
    control = open_dataset("gendered:control").limited(6)
    made = {}
    followed = [metric for metric in METRICS.values() if not metric.unsettled]
    for metric in {(metric.unit, metric.applies_to): metric for metric in followed}.values():
        for name, data in (("builtin", small), ("control", control)):
            for group in ("", "[type=type2]", "[gender=female]"):
                try:
                    ((goal,),) = goals([(data, "next-word")], [parse_requirement(f"{metric.name}{group} >= 0.5")], PLAN)
                    made[f"{metric.name}{group} in {name}"] = [len(goal.examples), *goal.followed]
                except EquipoiseError as error:
                    made[f"{metric.name}{group} in {name}"] = str(error)
    assert_kept("measured/goals", "\n".join(f"{name}: {what}" for name, what in made.items()))


def test_sets_are_counted_within_sentences() -> None:
    small = builtin(8)
    ((goal,),) = goals([(small, "next-word")], [parse_requirement("flip_rate <= 0.1")], PLAN)
    first = small.examples[0].cluster_id
    inside = {example.set_id for example in small.examples if example.cluster_id == first}
    assert goal.sentences == {example.cluster_id for example in small.examples}
    assert goal.sets_in(frozenset({first})) == len(inside) and goal.sets_in(frozenset()) == 0


def test_a_comparison_may_be_wrong_in_two_ways_and_needs_what_was_asked_before() -> None:
    small = builtin(8)
    text = "accuracy >= 0"
    base = parse_requirement(text)
    facts = [getattr(base, field.name) for field in fields(base)]
    two, one = (Duel(*facts, one_sided=side) for side in (False, True))
    earlier = {("builtin", "next-word"): asked(builtin(3))}
    ((goal,),) = goals([(small, "next-word")], [two], PLAN, earlier)
    known = set(earlier["builtin", "next-word"].example_id.tolist())
    assert goal.level == pytest.approx(1 - 0.05 / 2) and {example.id for example in goal.examples} <= known
    assert goal.earlier is earlier["builtin", "next-word"]
    ((other,),) = goals([(small, "next-word")], [one], PLAN, earlier)
    assert other.level == pytest.approx(0.95)
    for nothing in (None, {}, {("builtin", "mcq"): earlier["builtin", "next-word"]}):
        with pytest.raises(EquipoiseError, match=r"^until 'accuracy >= 0' names nothing in builtin$"):
            goals([(small, "next-word")], [two], PLAN, nothing)


def test_refusals_are_whole_sentences() -> None:
    from equipoise.datasets.identity import identity_dataset, recipe

    marked = identity_dataset(builtin(3), recipe(attributes=["age"]))
    with pytest.raises(EquipoiseError, match=r"^until does not follow marked sentences, as in .*; use until_width$"):
        goals([(marked, "next-word")], [parse_requirement("accuracy >= 0")], PLAN)
    assert goals([(marked, "next-word")], [], PLAN) == [[]]
    few = Plan([METRICS["accuracy"]], by=None)
    with pytest.raises(EquipoiseError, match=r"^until 'ucerf >= 0': ucerf is not measured; add it to the metrics$"):
        goals([(DATA, "next-word")], [parse_requirement("ucerf >= 0")], few)
    assert goals([(DATA, "next-word")], [parse_requirement("accuracy[stereotype=pro] >= 0")], few)[0]


def test_of_several_reasons_the_first_is_told() -> None:
    nothing = Plan([], by=())
    for text, reason in {
        "perplexity <= 1.5": "perplexity cannot be followed: the values that it averages have no bounds",
        "ucerf_renyi >= 0.8": "ucerf is not measured; add it to the metrics",
    }.items():
        with pytest.raises(EquipoiseError) as error:
            goals([(DATA, "next-word")], [parse_requirement(text)], nothing)
        assert str(error.value) == f"until {text!r}: {reason}"
    only = Plan([METRICS["ucerf"]], by=["gender"])
    for text, reason in {
        "ucerf_renyi[stereotype=pro] >= 0.8": "the estimator renyi is not measured; add it to the estimators",
        "ucerf[stereotype=pro,type=type2] >= 0.8": "the run is not broken down by stereotype; add it to by",
    }.items():
        with pytest.raises(EquipoiseError) as error:
            goals([(DATA, "next-word")], [parse_requirement(text)], only)
        assert str(error.value) == f"until {text!r}: {reason}"


def test_the_most_units_of_any_sentence_are_followed() -> None:
    (asked_of,) = goals([(DATA, "next-word")], [parse_requirement("accuracy >= 0.6")], PLAN)
    goal = asked_of[0]
    first, second, third = goal.examples[:3]
    uneven = replace(goal, examples=(first, replace(second, cluster_id="a"), replace(third, cluster_id="a")))
    assert (uneven.followed.most, uneven.followed.horizon) == (2.0, 2.0)
