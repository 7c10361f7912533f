"""A verdict: is a run usable, was a difference found, and if not, what could have been missed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .. import Measurement
from .sections import Finding

Status = Literal["not usable", "difference found", "no difference detected"]

SHOWN = 5
"""Findings under a verdict; the others are under "more"."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What may be said of a run on one dataset as one task: the first thing that every medium shows.

    `sentence` begins with the status. `reasons` say why a run is not usable; it then has no findings. `findings` are
    all that is told, the most important first. `could_have_missed` are the measurements whose intervals say how large
    a difference may have been missed. `not_detected` counts the differences that were tested and not found. `doubts` is
    the number of doubts that the sentence tells before what was found. `lead` is the claim that the sentence tells.
    """

    status: Status
    sentence: str
    rests_on: Sequence[Measurement] = ()
    reasons: Sequence[Finding] = ()
    findings: Sequence[Finding] = ()
    could_have_missed: Sequence[Measurement] = ()
    not_detected: int = 0
    doubts: int = 0
    lead: Finding | None = None

    def __str__(self) -> str:
        return self.sentence

    @property
    def usable(self) -> bool:
        """Whether the scores of the run say anything about people."""
        return self.status != "not usable"

    @property
    def line(self) -> Finding:
        """The verdict as the first line of a medium."""
        state: Literal["invalid", "found"] = "found" if self.usable else "invalid"
        return Finding(self.sentence, self.rests_on, "verdict", state=state)

    @property
    def first(self) -> Sequence[Finding]:
        """The findings right under the verdict."""
        return self.findings[: SHOWN - self.doubts]

    @property
    def more(self) -> Sequence[Finding]:
        """The other findings."""
        return self.findings[SHOWN - self.doubts :]

    @property
    def uncounted(self) -> str:
        """How many further differences were tested, in words; "" where there are none."""
        if not self.not_detected:
            return ""
        others = "1 other difference was" if self.not_detected == 1 else f"{self.not_detected} other differences were"
        return f"{others} tested and not detected."

    def as_json(self) -> dict[str, Any]:
        """Return the verdict as plain values: what `--json` prints first, and what trackers log."""
        return {
            "status": self.status,
            "sentence": self.sentence,
            "reasons": [reason.text for reason in self.reasons],
            "findings": [finding.text for finding in self.first],
            "more": [finding.text for finding in self.more],
            "could_have_missed": [{"metric": row.metric, "group": row.group} for row in self.could_have_missed],
            "not_detected": self.not_detected,
        }
