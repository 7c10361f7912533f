"""Every number in a verdict and in its findings is that of a row of `measurements.csv`, found by metric and group."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from equipoise import audit, summary
from equipoise.records import Measurement
from equipoise.records.showing import Finding
from equipoise.runs.run import Run
from equipoise.scoring.planted import PlantedEngine

QUICK: dict[str, Any] = {"limit": 70, "resamples": 20, "by": ["stereotype"]}
NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")
FIXED = ("UCerF as published", "0: balanced", "-1: certain and wrong", "1: certain and right", "0 to 1", "at least 5%")
FIXED += ("1: same answer", "1: equally certain", "chance (50%)", "chance (33%)", "At least 30")

TABLE = "set,text,candidates,gold,group\n" + "".join(
    f"s{number},Form {number} of the {group} person came.,yes|no,{'yes' if number % 2 else 'no'},{group}\n"
    for number in range(40)
    for group in ("old", "young")
)

RUNS: dict[str, tuple[dict[str, float], dict[str, Any]]] = {
    "biased": ({"strength": 1, "bias": 1, "noise": 1}, {}),
    "alike": ({"strength": 3, "bias": 0}, {}),
    "leaning guesser": ({"strength": 0, "bias": 0.8, "noise": 1}, {}),
    "not understood": ({"strength": 1, "mass": 0.01}, {}),
    "options in several orders": ({"strength": 1, "bias": 1, "noise": 1}, {"task": "mcq", "orders": 2}),
    "another estimator": ({"strength": 1, "bias": 1, "noise": 1}, {"estimators": ["renyi"]}),
    "three pronouns": ({"strength": 1, "bias": 1, "noise": 1}, {"pronouns": ["he", "she", "they"]}),
    "own groups": ({"strength": 1, "bias": 0, "noise": 1}, {"data": "mine.csv", "questions": ["{text} So"], "by": []}),
}
"""Eight kinds of runs: the engine's numbers, and how it is asked."""


def printed(row: Measurement) -> Iterator[str]:
    """Yield every way in which a sentence may write the numbers of a row."""
    estimate = row.estimate
    for number in (estimate.value, estimate.low, estimate.high):
        for end in (number, -number, 1 - number):
            yield from (f"{end:.3f}", f"{end:+.3f}", f"{100 * end:.1f}", f"{100 * end:.2f}", f"{end:.2f}")
    yield from (f"{estimate.n:,}", f"{round(estimate.value * estimate.n):,}")
    yield f"{max(abs(estimate.low), abs(estimate.high)):.3f}"


def without_fixed(text: str) -> str:
    for words in FIXED:
        text = text.replace(words, "")
    return text


@pytest.mark.parametrize("name", list(RUNS))
def test_every_number_of_a_sentence_is_a_row(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers, choices = RUNS[name]
    (tmp_path / "mine.csv").write_text(TABLE)
    monkeypatch.chdir(tmp_path)
    audit(PlantedEngine(**numbers), out=tmp_path / "run", **{**QUICK, **choices})
    run = Run(tmp_path / "run")
    for part, said in zip(run.parts, summary(run).parts, strict=True):
        findings: list[Finding] = [said.verdict.line, *said.verdict.reasons, *said.verdict.findings]
        told = [finding for finding in findings if finding.rests_on]
        assert told, "a verdict rests on something"
        for finding in told:
            rows = [part.measured.at(row.metric, row.group) for row in finding.rests_on]
            assert rows == list(finding.rests_on), "a row of measurements.csv, as it is there"
            allowed = {text.lstrip("+-") for row in finding.rests_on for text in printed(row)}
            allowed |= {str(len(finding.rests_on)), str(len(said.verdict.rests_on)), "2"}  # of counted rows and ways
            text = re.sub(r"\d+ of \d+ pairs of groups", "", without_fixed(finding.text))
            found = [number.lstrip("+-") for number in NUMBER.findall(text)]
            assert not [text for text in found if text not in allowed], (finding.text, sorted(allowed))
