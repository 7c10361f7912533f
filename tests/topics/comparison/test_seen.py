"""What is said of a model on published and on new sentences."""

from __future__ import annotations

from dataclasses import replace

import pytest
from kept_texts import assert_kept

from equipoise.comparing.seen import ACCURACY, BITS, MASS, Seen
from equipoise.records import Estimate
from equipoise.records.showing import Table
from equipoise.stats.adjusted import Adjusted
from equipoise.topics.comparison.seen import CAUTION, UNREAD, findings, section


def seen(measure: str, value: float, p: float, *, beyond: str = "") -> Seen:
    estimate = Estimate(value, value - 0.05, value + 0.05, 0.95, 150, "", p, p)
    task = "sentence" if measure == BITS else "next-word"
    return Seen(
        "model", task, measure, ("winobias", "fresh"), Adjusted(estimate, 0.8, (1200, 150), 0.02, 900), 0.07, beyond
    )


def test_what_holds_is_said_with_interval_n_and_p_and_with_a_caution() -> None:
    tests = [seen(ACCURACY, 0.12, 0.002), seen(BITS, 0.2, 0.0001)]
    found, caution = findings(tests)
    assert found.text == (
        "model does better on winobias than on new sentences of the same kind (fresh): accuracy (next-word) by +0.120"
        " [+0.070, +0.170] (n = 1,200 and 150, p = 0.002); log-probability by +0.200 bits per character"
        " [+0.150, +0.250] (n = 1,200 and 150, p = 0.0001)."
    )
    assert caution.text == CAUTION
    (alone,) = findings([replace(test, beyond="old") for test in tests])
    assert alone.text.startswith("model, compared with old, does better on winobias")


def test_more_right_answers_alone_are_no_sign_of_reading() -> None:
    _, doubt = findings([seen(ACCURACY, 0.12, 0.002), seen(BITS, 0.01, 0.7)])
    assert doubt.text == UNREAD
    _, caution, not_asked = findings([seen(ACCURACY, 0.12, 0.002)])
    assert caution.text == CAUTION and "--task sentence" in not_asked.text


@pytest.mark.parametrize("value", [0.01, -0.2])
def test_what_does_not_hold_is_said_with_what_could_have_been_detected(value: float) -> None:
    not_shown, not_asked = findings([seen(ACCURACY, value, 0.001 if value < 0 else 0.6)])
    assert not_shown.text == (
        "model is not shown to do better on winobias than on new sentences of the same kind (fresh). Four of five such"
        " audits would have detected a difference of 0.070 in accuracy (next-word)."
    )
    assert "--task sentence" in not_asked.text


def test_the_page_has_every_test_with_both_values() -> None:
    made = section([seen(ACCURACY, 0.12, 0.002), seen(BITS, 0.01, 0.7, beyond="old")])
    (table,) = made.every(Table)
    first, second = (row.cells for row in table.rows)
    assert first[:2] == ("model", "accuracy (next-word)") and first[2:4] == (0.8, pytest.approx(0.68))
    assert second[:2] == ("model − old", "log-probability, bits per character")
    assert [column.title for column in table.columns][2:4] == ["winobias", "fresh, matched"]


def test_what_is_described_is_as_it_was_kept() -> None:
    better = [seen(ACCURACY, 0.12, 0.002), seen(BITS, 0.2, 0.0001), seen(MASS, 0.01, 0.8)]
    unread = [seen(ACCURACY, 0.12, 0.002), seen(BITS, 0.01, 0.7)]
    worse = [replace(test, beyond="old") for test in (seen(ACCURACY, -0.1, 0.01), seen(BITS, 0.01, 0.9))]
    assert_kept("topics/seen", *(section(tests) for tests in (better, unread, worse, [*better, *worse], better[:1])))
    assert list(findings([])) == []
