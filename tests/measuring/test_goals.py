"""What an audit is to settle: what cannot be is refused before anything is asked."""

from __future__ import annotations

import pytest

from equipoise.datasets import open_dataset
from equipoise.measuring.goals import goals
from equipoise.measuring.measure import Plan
from equipoise.metrics import METRICS
from equipoise.metrics.requirement import parse_requirement
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
        ("accuracy[type=type9] >= 0.8", "names nothing in builtin"),
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
