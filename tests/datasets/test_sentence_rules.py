"""A sound sentence keeps every rule; each rule that is broken is named once."""

from __future__ import annotations

import pytest

from equipoise.datasets.occupations import Mention
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


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("The nurse left before she was late.", ["names the driver 0 times"]),
        ("The NURSE and the nurse met the driver and she ran.", ["names the Nurse 2 times"]),
        ("The nurse thanked the driver, two cooks and a guard before she left.", ["names a third occupation, cook"]),
        ("The nurse thanked the driver.", ["has 0 pronouns"]),
        ("The nurse thanked the driver; he saw her.", ["has 2 pronouns"]),
        ("The nurse saw that she thanked the driver.", ["has the pronoun before an occupation"]),
        ("He sang.", ["names the Nurse 0 times", "names the driver 0 times"]),
        ("We sang.", ["names the Nurse 0 times", "names the driver 0 times", "has 0 pronouns"]),
    ],
)
def test_how_a_rule_is_broken_is_said(text: str, what: list[str]) -> None:
    assert broken_rules(text, ("Nurse", "driver")) == what


def test_words_and_pronouns_may_be_found_by_others() -> None:
    found = list(
        rule_breaks(
            "x",
            ("a", "b"),
            find=lambda text, plurals: [Mention(0, 5, "A"), Mention(2, 9, "b")],
            find_pronouns=lambda text: [Mention(9, 10, "")],
        )
    )
    assert found == []
    (broken,) = rule_breaks(
        "x",
        ("a", "b"),
        find=lambda text, plurals: [Mention(0, 9, "A"), Mention(2, 5, "b")],
        find_pronouns=lambda text: [Mention(8, 9, "")],
    )
    assert broken.rule == PRONOUN_LAST
