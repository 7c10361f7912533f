"""What an audit settled before it stopped, read back from its run: what the gate, the page and a certificate say."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ..measuring.settling import Decision
from ..metrics.requirement import Requirement
from ..records.showing import Finding
from ..runs.run import Part


def decisions_of(part: Part) -> list[Decision]:
    """Return what came of the requirements that an audit was asked until they were settled; [] for other audits."""
    task = part.run.manifest.tasks.get(part.task, {})
    settled = task.get("settled", {})
    return [_decision(entry) for entry in settled.get(part.dataset, [])] if isinstance(settled, dict) else []


def _decision(entry: dict[str, Any]) -> Decision:
    unknown = {name: math.nan for name in ("value", "low", "high") if entry[name] is None}
    return Decision(**{**entry, **unknown})


def decision_on(part: Part, requirement: Requirement) -> Decision | None:
    """Return what came of a requirement, however it is written; None where the audit was not asked for it."""
    wanted = (requirement.metric, requirement.group, requirement.sign, requirement.bound)
    return next((d for d in decisions_of(part) if (d.metric, d.group, d.sign, d.bound) == wanted), None)


def stopping(part: Part) -> Iterator[Finding]:
    """Yield that an audit stopped early, and which of its numbers still hold."""
    decisions = decisions_of(part)
    open_ended = [decision for decision in decisions if decision.sets < decision.of]
    if not open_ended:
        return
    asked = part.items["set_id"].nunique()
    held = ", ".join(dict.fromkeys(decision.metric for decision in open_ended))
    text = (
        f"The audit stopped after {asked:,} sets, once its requirements were settled or its budget was spent. The"
        f" intervals of {held} hold whenever one stops. All others describe the sets that were asked, and may be a"
        " little too narrow."
    )
    yield Finding(text, topic="validity", state="doubt", name="stopped early", short=f"{asked:,} sets")
