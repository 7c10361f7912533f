"""A sound sentence keeps every rule; each rule that is broken is named once."""

from __future__ import annotations

import pytest

from equipoise.datasets.sentence_rules import (
    ONE_PRONOUN,
    PRONOUN_LAST,
    TARGET_PAIR,
    TWO_OCCUPATIONS,
    broken_rules,
    rule_breaks,
)


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("The nurse thanked the driver before she left.", []),
        ("The nurse left before she was late.", [TARGET_PAIR]),
        ("The nurse thanked the driver and the nurse before she left.", [TWO_OCCUPATIONS]),
        ("The nurse thanked the driver and the cook before she left.", [TWO_OCCUPATIONS]),
        ("The nurse thanked the driver and two cooks before she left.", [TWO_OCCUPATIONS]),
        ("The nurse thanked the driver.", [ONE_PRONOUN]),
        ("The nurse thanked the driver before she took her coat.", [ONE_PRONOUN]),
        ("Before she left, the nurse thanked the driver.", [PRONOUN_LAST]),
    ],
)
def test_each_rule_is_seen(text: str, rules: list[str]) -> None:
    assert [broken.rule for broken in rule_breaks(text, ("nurse", "driver"))] == rules
    assert len(broken_rules(text, ("nurse", "driver"))) == len(rules)
