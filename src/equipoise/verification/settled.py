"""Whether what a run settled follows from its answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isnan

from ..exports.certificate import NAME, certificate
from ..measuring.measure import Plan
from ..measuring.sampling import sample_of
from ..measuring.settling import ALL_ASKED, Decision, final_estimate, interval_at_any_look
from ..metrics.requirement import parse_requirement
from ..records import Outcomes, RunError, RunKey
from ..runs import Run
from ..verdict.settled import decisions_of
from .finding import Finding, some

EXACT = 1e-6
"""How far a recomputed end of an interval may lie from the one on record."""


def settled(run: Run, answers: Mapping[RunKey, Outcomes], plan: Plan) -> Iterator[Finding]:
    """Yield whether every requirement that a run settled comes out again; nothing for a run that had none."""
    wrong, count, compared = [], 0, 0
    for part in run.parts:
        for decision in decisions_of(part):
            if decision.word or decision.sign == "better":
                compared += 1  # the other run is not in the folder
                continue
            count += 1
            key = RunKey(run.manifest.model, part.dataset, part.task)
            if key not in answers or not _follows(decision, answers[key], plan, key, run):
                wrong.append(decision.requirement)
    if wrong:
        yield Finding("settled", False, f"{len(wrong)} of {count} do not follow from the answers: {some(wrong)}")
    elif count:
        yield Finding("settled", True, f"{count} requirements have the outcome that follows from the answers")
    if compared:
        text = f"{compared} comparisons with another run are taken as they are: that run is not in the folder"
        yield Finding("settled", True, text)


def _follows(decision: Decision, outcomes: Outcomes, plan: Plan, key: RunKey, run: Run) -> bool:
    """Return whether an outcome comes out again: exactly at the last look; later looks rule out more, never less."""
    requirement = parse_requirement(decision.requirement)
    if decision.how == ALL_ASKED:
        again = final_estimate(outcomes, requirement, plan, key, decision.level)
        if again is None:
            return False
        fits = abs(again.low - decision.low) + abs(again.high - decision.high) < EXACT
    else:
        again = interval_at_any_look(outcomes, requirement, plan, key, sample_of(run.manifest, key))
        if again is None:
            return isnan(decision.low)
        fits = decision.low - EXACT <= again.low and again.high <= decision.high + EXACT
    return fits and requirement.outcome(again.low, again.high) == decision.outcome


def certified(run: Run) -> Iterator[Finding]:
    """Yield whether the certificate in a folder is the one that its run gives; nothing where there is none."""
    if NAME not in run.manifest.files:
        return
    try:
        same = run.folder.content(NAME) == certificate(run)
    except RunError as error:
        yield Finding("certificate", False, str(error))
        return
    text = "it says what the run settled" if same else "it is not the certificate that this run gives"
    yield Finding("certificate", same, text)
