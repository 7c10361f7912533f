"""A verdict: its status, at most five findings, and the same as plain values."""

from __future__ import annotations

import pytest

from equipoise.records.showing import Finding, Verdict


@pytest.mark.parametrize("doubts", [0, 1])
def test_at_most_five_findings_stand_under_a_verdict(doubts: int) -> None:
    findings = [Finding(f"finding {number}") for number in range(8)]
    verdict = Verdict("difference found", "Difference found: it is.", (), (), findings, None, 2, doubts)
    assert len(verdict.first) + doubts == 5 and [*verdict.first, *verdict.more] == findings
    assert verdict.uncounted == "2 other differences were tested and not detected."
    assert verdict.as_json()["more"] == [finding.text for finding in verdict.more]


def test_what_is_not_usable_is_marked() -> None:
    verdict = Verdict("not usable", "Not usable: too few sets.")
    assert not verdict.usable and verdict.line.state == "invalid" and not verdict.uncounted
    assert Verdict("no difference detected", "No difference detected.").line.state == "found"
