"""Audits that are asked until requirements are settled: passed, failed, or not to be settled with the data there are.

Base sentences come in random order, those first that an open requirement is about; all are asked of a dataset where one
stays open. Half of the error is for stopping early, by an interval that holds at any look (following.py). The other
half is for the last look, at all of the data, by the interval of every full audit: it is what the gate looks at. All
requirements of a run share the error (Bonferroni), so at most 5% of audits pass or fail one of them wrongly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ..datasets import Dataset
from ..metrics.requirement import UNDECIDED, Duel, Requirement
from ..records import (
    EquipoiseError,
    Estimate,
    Example,
    Measurement,
    Outcomes,
    RunKey,
    group_label,
    grouped,
)
from ..stats.planning import scaled_more, units_to_settle
from ..stats.sequential import FRESH, GROWTH_OF_LOOKS
from .duels import final_improvement, improvement
from .following import Followed, followed_in, following_plan, points_of, units_of
from .goals import Goal
from .items import Items
from .measure import Plan, measured_items, measured_points
from .part import measure_items
from .stopping import Sample

Ask = Callable[[Sequence[Example]], Outcomes]
"""Asks the model some examples; what was asked before costs nothing."""

FEWEST_SETS = 30
"""With fewer sets than this in every type, a run is not usable: hardly any difference could be shown."""

STOPPED, ALL_ASKED, BUDGET = "stopped early", "all asked", "at most"
"""Why no more was asked for a requirement."""


@dataclass(frozen=True)
class Decision:
    """What came of a requirement: its `outcome` with the interval behind it, after `sets` `of` those that there are.

    `how` says why no more was asked. `needed` is about how many sets would settle it, were further ones like those that
    were asked; None where it is settled, or where no number would. `word` is what came of a comparison with an earlier
    run; `value` and its interval are then how much better this run is.
    """

    requirement: str
    metric: str
    group: str
    sign: str
    bound: float
    outcome: str
    value: float
    low: float
    high: float
    level: float
    sets: int
    of: int
    how: str
    needed: int | None = None
    word: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return it as the manifest holds it: numbers that are not known are null."""
        return {name: None if value != value else value for name, value in asdict(self).items()}

    @property
    def sentence(self) -> str:
        """What came of it, in words."""
        interval = f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"
        asked = f"{self.sets:,} of {self.of:,} sets" if self.sets < self.of else f"all {self.of:,} sets"
        if self.outcome != UNDECIDED:
            return f"{self.word or self.outcome} after {asked}: {interval}"
        if self.needed is None:
            return f"undecided after {asked}: {interval}; the value is at the bound, so more data cannot settle it"
        missing = f", but there are {self.of:,}" if self.needed > self.of else ""
        return f"undecided after {asked}: {interval}; about {self.needed:,} sets would settle it{missing}"


@dataclass(frozen=True)
class SettlingLook:
    """What was seen at one look: how much was asked by then, and the requirements that are still open."""

    look: int
    sentences: int
    of: int
    prompts: int
    open: str


@dataclass(frozen=True)
class Settled:
    """How much was needed: the examples asked, the looks taken, what came of every requirement, and the sample."""

    dataset: Dataset
    looks: tuple[SettlingLook, ...]
    decisions: tuple[Decision, ...]
    sample: Sample | None

    @property
    def note(self) -> str:
        """What to say of it, in one sentence."""
        asked = f"{self.looks[-1].sentences:,} of {self.looks[-1].of:,} base sentences were asked"
        if self.sample is None:
            return f"{asked}; intervals are those of a full audit"
        held = ", ".join(dict.fromkeys(name.partition("/")[0] for name in self.sample.followed))
        holds = f"The intervals of {held} hold whenever one stops; all others" if held else "All intervals"
        return (
            f"{asked}, until each requirement was settled or the budget was spent. {holds} describe the sentences that"
            " were asked, and may be a little too narrow"
        )


@dataclass
class _Audit:
    """An audit of one dataset and task under way: what was asked, and what is settled."""

    dataset: Dataset
    key: RunKey
    ask: Ask
    plan: Plan
    asked: list[Goal]

    def __post_init__(self) -> None:
        self.decisions: dict[str, Decision] = {}
        self.sentences: list[str] = []
        self.looks: list[SettlingLook] = []
        self.groups = grouped(self.dataset.examples, lambda example: example.cluster_id)
        order = np.random.default_rng(self.plan.seed).permutation(len(self.groups))
        names = list(self.groups)
        self.waiting = [names[place] for place in order]

    @property
    def open(self) -> list[Goal]:
        """The goals that are not settled."""
        return [goal for goal in self.asked if goal.requirement.text not in self.decisions]

    @property
    def examples(self) -> tuple[Example, ...]:
        """What was asked, in its order."""
        return tuple(example for name in self.sentences for example in self.groups[name])

    def further(self, at_most: int | None) -> list[str]:
        """Return the base sentences up to the next look: those that an open goal is about, within the budget."""
        wanted = frozenset[str]().union(*(goal.sentences for goal in self.open))
        count = max(FRESH, int(np.ceil(len(self.sentences) * (GROWTH_OF_LOOKS - 1))))
        room = np.inf if at_most is None else at_most - len({e.set_id for e in self.examples})
        chosen: list[str] = []
        for name in self.waiting:
            if name in wanted:
                room -= len({example.set_id for example in self.groups[name]})
                if room < 0 or len(chosen) == count:
                    break
                chosen.append(name)
        return chosen

    def look(self) -> Outcomes:
        """Ask what was chosen, and settle what can be settled."""
        outcomes = self.ask(self.examples)
        asked = frozenset(self.sentences)
        early = [goal for goal in self.open if not goal.sentences <= asked]
        for goal, estimate in self._followed(outcomes, early):
            self._decide(goal, estimate, STOPPED)
        for goal in [q for q in self.open if q.sentences <= asked]:
            self._decide(goal, self._final(outcomes, goal), ALL_ASKED)
        texts = "; ".join(goal.requirement.text for goal in self.open)
        self.looks.append(
            SettlingLook(len(self.looks) + 1, len(self.sentences), len(self.groups), len(self.examples), texts)
        )
        return outcomes

    def _followed(self, outcomes: Outcomes, several: Sequence[Goal]) -> Iterator[tuple[Goal, Estimate]]:
        """Yield the goals with intervals that hold at any look."""
        sample = Sample(followed={q.followed.name: q.followed[2:] for q in several})
        for goal in several:
            if goal.earlier is not None:
                units = improvement(outcomes, goal)
                estimate = None if units is None else units.estimate(goal.level)
            else:
                estimate = interval_at_any_look(outcomes, goal.requirement, self.plan, self.key, sample)
            if estimate is not None:
                yield goal, estimate

    def _final(self, outcomes: Outcomes, goal: Goal) -> Estimate | None:
        """Return the interval that a full audit, or a comparison of two, has."""
        if goal.earlier is not None:
            return final_improvement(outcomes, goal, self.plan)
        return final_estimate(outcomes, goal.requirement, self.plan, self.key, goal.level)

    def _decide(self, goal: Goal, estimate: Estimate | None, how: str, needed: int | None = None) -> None:
        """Note what came of a goal, if an interval settles it or nothing is left to ask."""
        if estimate is None:
            return
        requirement = goal.requirement
        outcome = requirement.outcome(estimate.low, estimate.high)
        of, sets = goal.sets_in(goal.sentences), goal.sets_in(frozenset(self.sentences))
        if how == STOPPED and (outcome == UNDECIDED or sets < FEWEST_SETS):
            return
        asks = (requirement.text, requirement.metric, requirement.group, requirement.sign, requirement.bound)
        interval = (outcome, estimate.value, estimate.low, estimate.high, goal.level)
        if outcome == UNDECIDED and how == ALL_ASKED:
            more = _more(goal, estimate)
            needed = None if more is None else of + round(more * of / max(estimate.n, 1))
        word = requirement.word(estimate.low, estimate.high) if isinstance(requirement, Duel) else ""
        self.decisions[requirement.text] = Decision(*asks, *interval, sets, of, how, needed, word)

    def end_undecided(self, outcomes: Outcomes) -> None:
        """Note what is open when the budget is spent, with the number of sets that would settle it."""
        for goal, estimate in self._followed(outcomes, self.open):
            needed = self._needed(outcomes, goal, estimate)
            self._decide(goal, estimate, BUDGET, needed)
        for goal in self.open:
            nothing = Estimate.alone(np.nan, level=goal.level, n=0, method="")
            self._decide(goal, nothing, BUDGET)

    def _needed(self, outcomes: Outcomes, goal: Goal, estimate: Estimate) -> int | None:
        """Return about how many sets would settle a goal, were further ones like those that were asked."""
        wanted = goal.followed
        if goal.earlier is not None:
            differences = improvement(outcomes, goal)
            return None if differences is None else units_to_settle(differences, 0.0, (1 - goal.level) / 2)
        items: Items = measured_items(outcomes, following_plan([wanted]))
        point = points_of(items, [wanted]).get(wanted.name)
        several = units_of(point, items, wanted) if point else []
        sets = goal.sets_in(frozenset(self.sentences))
        if len(several) == 1 and not goal.metric.norm:
            units = units_to_settle(several[0], goal.requirement.bound, (1 - goal.level) / 2, seed=self.plan.seed)
            return None if units is None else max(sets + 1, round(units * sets / len(several[0].counts)))
        more = _more(goal, replace(estimate, n=sets))
        return None if more is None else sets + more


def _more(goal: Goal, estimate: Estimate) -> int | None:
    """Return about how many more units would settle a goal, as its interval narrows; None where no number would."""
    low, high = goal.metric.bounds
    bounds = (low - high, high - low) if goal.earlier is not None else (low, high)
    decides = np.vectorize(lambda low, high: goal.requirement.outcome(low, high) != UNDECIDED, otypes=[bool])
    return scaled_more(estimate, bounds, decides).half


def interval_at_any_look(
    outcomes: Outcomes, requirement: Requirement, plan: Plan, key: RunKey, sample: Sample | None
) -> Estimate | None:
    """Return the interval that holds at any look, wide enough for what a server does not tell; None without one."""
    name = f"{requirement.metric}/{requirement.group}"
    if sample is None or name not in sample.followed:
        return None
    sample = replace(sample, followed={name: sample.followed[name]})
    chosen = replace(following_plan(list(followed_in(sample))), seed=plan.seed, disparity=plan.disparity)
    return _row(requirement, measure_items(measured_items(outcomes, chosen), chosen, key, sample))


def final_estimate(
    outcomes: Outcomes, requirement: Requirement, plan: Plan, key: RunKey, level: float
) -> Estimate | None:
    """Return the interval of a full audit, at the level that all requirements share; None without one."""
    chosen = following_plan([Followed(requirement.metric, requirement.group, 1.0, 1.0, level)])
    chosen = replace(plan, metrics=chosen.metrics, estimators=chosen.estimators, by=chosen.by, level=level)
    return _row(requirement, measure_items(measured_items(outcomes, chosen), chosen, key))


def _row(requirement: Requirement, rows: Sequence[Measurement]) -> Estimate | None:
    wanted = (requirement.metric, requirement.group)
    return next((row.estimate for row in rows if (row.metric, row.group) == wanted), None)


def until_settled(
    dataset: Dataset, ask: Ask, plan: Plan, key: RunKey, asked: Sequence[Goal], *, at_most: int | None = None
) -> Settled:
    """Return the audit at which every goal is settled, or nothing is left to ask; at most `at_most` sets."""
    audit = _Audit(dataset, key, ask, plan, list(asked))
    outcomes: Outcomes | None = None
    while audit.open and (further := audit.further(at_most)):
        audit.sentences += further
        inside = set(further)
        audit.waiting = [name for name in audit.waiting if name not in inside]
        outcomes = audit.look()
        _refuse_unmeasured(audit, outcomes)
    if outcomes is None:
        raise EquipoiseError(f"at_most {at_most} leaves nothing to ask; a base sentence has more sets than that")
    audit.end_undecided(outcomes)
    decisions = tuple(audit.decisions[goal.requirement.text] for goal in asked)
    reached = frozenset(audit.sentences)
    followed = {
        q.followed.name: list(q.followed[2:]) for q in asked if not q.sentences <= reached and q.earlier is None
    }
    if not audit.waiting:
        return Settled(dataset, tuple(audit.looks), decisions, None)
    chosen = replace(dataset, examples=audit.examples)
    return Settled(chosen, tuple(audit.looks), decisions, Sample(followed=followed))


def _refuse_unmeasured(audit: _Audit, outcomes: Outcomes) -> None:
    """Refuse a requirement whose group is not measured, at the first look: all data would be asked for nothing."""
    if len(audit.looks) > 1 or not audit.open:
        return
    plan = following_plan([goal.followed for goal in audit.open])
    points, notes = measured_points(measured_items(outcomes, plan), plan)
    measured = {f"{point.job.name}/{group_label(point.parts)}" for point in points}
    for goal in audit.open:
        undefined = any(note.startswith(goal.requirement.metric) for note in notes)
        if goal.followed.name not in measured and not undefined:
            raise EquipoiseError(f"until {goal.requirement.text!r} names nothing that is measured")
