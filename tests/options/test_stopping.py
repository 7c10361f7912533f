"""When an audit may stop early: each rule in its own words, the first broken one first, and what is allowed."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from equipoise.options import OptionError, StoppingOptions

BETTER = {"until_better": "run", "better_in": ["flip_rate"]}
RULES: list[tuple[dict[str, Any], str, tuple[str, ...]]] = [
    (
        {"until": ["accuracy >= 0.5"], "until_width": 0.1},
        "until and until_better settle something, until_width waits for intervals; give one of them",
        ("until", "until_better", "until_width"),
    ),
    (
        {"at_most": 5},
        "at_most needs until: it is the budget of what is to be settled",
        ("at_most", "until"),
    ),
    (
        {"better_in": ["flip_rate"]},
        "until_better names a run, and better_in the metrics to compare it in; give both",
        ("until_better", "better_in"),
    ),
    ({"margin": 0.1}, "margin and one_sided need until_better", ("margin", "one_sided", "until_better")),
    ({"joint": True}, "joint needs until_width: without it every sentence is asked", ("joint", "until_width")),
    (
        {"drop_settled": True},
        "drop_settled needs until_width: without it every sentence is asked",
        ("drop_settled", "until_width"),
    ),
]
SAME = [
    ({**BETTER, "until_width": 0.1}, 0),
    ({"until_better": "run"}, 2),
    ({"one_sided": True}, 3),
]


def refused(chosen: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    with pytest.raises(OptionError) as error:
        StoppingOptions(**chosen)
    return str(error.value), error.value.names


@pytest.mark.parametrize(("chosen", "sentence", "names"), RULES)
def test_each_rule_has_its_sentence_and_names_its_options(
    chosen: dict[str, Any], sentence: str, names: tuple[str, ...]
) -> None:
    assert refused(chosen) == (sentence, names)


@pytest.mark.parametrize(("chosen", "rule"), SAME)
def test_the_other_way_to_break_a_rule(chosen: dict[str, Any], rule: int) -> None:
    assert refused(chosen) == RULES[rule][1:]


def test_the_first_broken_rule_is_said() -> None:
    for (first, *said), (second, *_) in itertools.combinations(RULES[1:], 2):
        assert refused({**first, **second}) == tuple(said)
    for chosen, sentence, names in RULES[2:4]:
        assert refused({**RULES[0][0], **chosen}) == RULES[0][1:] != (sentence, names)


@pytest.mark.parametrize(
    "chosen",
    [
        {},
        {"until": ["accuracy >= 0.5"], "at_most": 1},
        BETTER,
        {**BETTER, "at_most": 3, "margin": 0.1, "one_sided": True},
        {**BETTER, "until": ["accuracy >= 0.5"]},
        {"until_width": 0.1, "joint": True, "drop_settled": True},
        {"until_width": 0.1},
        {"margin": 0.0, "one_sided": False},
    ],
)
def test_what_fits_together_is_allowed(chosen: dict[str, Any]) -> None:
    made = StoppingOptions(**chosen)
    assert {name: getattr(made, name) for name in chosen} == chosen


@pytest.mark.parametrize(
    ("chosen", "sentence"),
    [
        ({"until": ["accuracy >= 0.5"], "at_most": 0}, "at_most must be at least 1, not 0"),
        ({"until_width": 0.0}, "until_width must be above 0, not 0.0"),
        ({**BETTER, "margin": -0.1}, "margin must be at least 0, not -0.1"),
    ],
)
def test_numbers_have_bounds(chosen: dict[str, Any], sentence: str) -> None:
    assert refused(chosen)[0] == sentence
