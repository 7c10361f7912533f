"""The criteria of a survey: by name, as it began, or the usual ones; single shares in place of theirs."""

from __future__ import annotations

import pytest

from equipoise.builder.verdict.consensus import CRITERIA, Coverage, Criteria, Rule
from equipoise.builder.verdict.questions import published
from equipoise.cli.criteria import criteria_of

BEGAN = Rule(Coverage(), Criteria(coherent=0.6, meant=0.7, not_meant=0.1), published())


def test_a_name_comes_first_then_the_survey_then_the_usual() -> None:
    assert criteria_of(None) == Criteria() and criteria_of(BEGAN) == BEGAN.criteria != Criteria()
    for name, criteria in CRITERIA.items():
        assert criteria_of(None, name) == criteria == criteria_of(BEGAN, name)


@pytest.mark.parametrize("share", ["coherent", "meant", "not_meant"])
def test_a_share_that_is_given_replaces_that_one_alone(share: str) -> None:
    for value in (0.0, 0.55):
        changed = criteria_of(BEGAN, **{share: value})
        expected = {"coherent": 0.6, "meant": 0.7, "not_meant": 0.1, share: value}
        assert {name: getattr(changed, name) for name in expected} == expected
        assert changed.inclusive == BEGAN.criteria.inclusive
