"""A verdict: its status, at most five findings, and the same as plain values."""

from __future__ import annotations

from dataclasses import replace

import pytest

from equipoise.records import Estimate, Measurement
from equipoise.records.showing import Finding, Verdict

MISSED = Measurement("flip_rate", "m", "d", "t", "type=type1", Estimate(0.1, 0.0, 0.2, 0.95, 9, "b"), "lower")


@pytest.mark.parametrize("doubts", [0, 1, 2])
def test_at_most_five_findings_stand_under_a_verdict(doubts: int) -> None:
    findings = [Finding(f"finding {number}") for number in range(8)]
    verdict = Verdict("difference found", "Difference found: it is.", (), (), findings, (), 2, doubts)
    assert len(verdict.first) + doubts == 5 and [*verdict.first, *verdict.more] == findings
    assert verdict.as_json() == {
        "status": "difference found",
        "sentence": "Difference found: it is.",
        "reasons": [],
        "findings": [f"finding {number}" for number in range(5 - doubts)],
        "more": [f"finding {number}" for number in range(5 - doubts, 8)],
        "could_have_missed": [],
        "not_detected": 2,
    }


def test_further_differences_are_counted_in_words() -> None:
    verdict = Verdict("difference found", "Difference found.")
    assert [replace(verdict, not_detected=count).uncounted for count in (0, 1, 2)] == [
        "",
        "1 other difference was tested and not detected.",
        "2 other differences were tested and not detected.",
    ]


def test_what_could_have_been_missed_is_told_by_metric_and_group() -> None:
    verdict = Verdict("no difference detected", "No difference detected.", could_have_missed=[MISSED])
    assert verdict.as_json()["could_have_missed"] == [{"metric": "flip_rate", "group": "type=type1"}]


def test_what_is_not_usable_is_marked() -> None:
    reason = Finding("too few sets")
    verdict = Verdict("not usable", "Not usable: too few sets.", [MISSED], [reason])
    assert not verdict.usable and verdict.as_json()["reasons"] == ["too few sets"]
    assert verdict.line == Finding("Not usable: too few sets.", [MISSED], "verdict", state="invalid")
    usable = Verdict("no difference detected", "No difference detected.")
    assert usable.usable and usable.line == Finding("No difference detected.", (), "verdict", state="found")
    assert str(usable) == "No difference detected."
