"""A gate for pipelines: requirements on a run's measurements, answered by passed, failed, undecided or not usable.

A requirement passes when its whole interval meets the bound, fails when none of it does, and else is undecided.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ..comparing.comparison import Choices, Tested, compare
from ..measuring.evidence import is_plain_mean, seen_units
from ..measuring.measure import Plan, measured_items, measured_points
from ..measuring.settling import Decision
from ..metrics.naming import estimator_of, metric_named, metric_of
from ..metrics.requirement import COMPARE, FAILED, PASSED, UNDECIDED, Bound, Requirement, parse_drop, parse_requirement
from ..options import checked
from ..records import Booleans, EquipoiseError, Estimate, Floats, Measurement, group_label, parse_group
from ..records.scripts import printable
from ..runs.run import Part, Run
from ..stats.planning import MOST_UNITS, More, Seen, scaled_more
from ..uncertainty import PERPLEXITY
from .settled import decision_on, decisions_of
from .summary import part_summary

ENDS = ("cautious", "low", "value", "high")
"""What of an estimate is tested. `cautious`: the end of the interval that is furthest from passing."""

NOT_USABLE = "not usable"

Growth = Callable[[Estimate, Bound], More]
"""How many more sets would decide whether an estimate meets a bound."""


@dataclass(frozen=True)
class Check:
    """A requirement checked against one measurement: its `outcome` is passed, FAILED, undecided or not usable.

    `more` is how many more sets would decide half of all audits like it, None where no number would. Eight in ten take
    from `at_least` to `at_most`, None being more than anybody asks. `passed` counts an undecided check as the gate was
    asked to. `of` is the data without the group; `estimate` is None where it says nothing.
    """

    requirement: str
    where: str
    tested: str
    number: float
    sign: str
    bound: float
    outcome: str
    why: str = ""
    more: int | None = None
    passed: bool = False
    at_least: int | None = None
    at_most: int | None = None
    of: str = ""
    estimate: Estimate | None = None

    @property
    def found(self) -> str:
        """What was found, in words."""
        if self.why:
            return self.why
        estimate = f" of {self.estimate}, n = {self.estimate.n:,}" if self.estimate else ""
        return f"{self.tested} {self.number:.4f}{estimate}{self.reason and f'; {self.reason}'}"

    @property
    def reason(self) -> str:
        """Why it came out so, where the estimate alone does not say it: what an undecided check needs."""
        if self.outcome == UNDECIDED and not self.why:
            return f"the bound is inside the interval, {self._needed}"
        return self.why

    @property
    def _needed(self) -> str:
        """How much more data would decide, in words: no sample knows how near the truth is to the bound."""
        if self.at_least is None:
            return "more data cannot decide it"
        if self.more is None:
            return f"{MOST_UNITS:,} more sets would not decide half of such audits"
        about = f"about {self.more:,} more sets would decide it"
        if self.at_least == self.at_most:
            return f"{about}, were all like those seen"
        most = f"over {MOST_UNITS:,}" if self.at_most is None else f"{self.at_most:,}"
        return f"{about} (8 in 10 such audits take {self.at_least:,} to {most})"


@dataclass(frozen=True)
class Rules:
    """How a gate decides: which end of an interval it tests, and whether what is undecided passes.

    `insist`: a run that is not usable is checked all the same.
    """

    test_at: str = "cautious"
    undecided: str = "fail"
    insist: bool = False

    def __post_init__(self) -> None:
        if self.test_at not in ENDS:
            raise EquipoiseError(f"test_at must be one of {', '.join(ENDS)}, not {self.test_at!r}")
        if self.undecided not in ("pass", "fail"):
            raise EquipoiseError(f"undecided must be pass or fail, not {self.undecided!r}")

    def check(self, requirement: str, where: str, tested: Estimate, to: Bound, more: Growth) -> Check:
        """Return the check of an estimate against a bound; `more` says how many more sets would decide it."""
        sign, bound = to
        end = self.test_at if self.test_at != "cautious" else "low" if sign.startswith(">") else "high"
        number = float(getattr(tested, end))
        check = Check(requirement, where, end, number, sign, bound, FAILED)
        if math.isnan(number):
            return replace(check, why="it has no interval that could be trusted")
        meets = COMPARE[sign]
        if meets(number, bound):
            return replace(check, outcome=PASSED, passed=True)
        if self.test_at == "cautious" and meets(tested.high if end == "low" else tested.low, bound):
            sets = more(tested, to)
            undecided = replace(check, outcome=UNDECIDED, passed=self.undecided == "pass")
            return replace(undecided, more=sets.half, at_least=sets.few, at_most=sets.many)
        return check

    def settled(self, decision: Decision, where: str) -> Check:
        """Return the check of a requirement that the audit was asked until it was settled."""
        passes = decision.outcome == PASSED or (decision.outcome == UNDECIDED and self.undecided == "pass")
        more = None if decision.needed is None else max(1, decision.needed - decision.sets)
        asks = (decision.requirement, where, "settled", decision.value, decision.sign, decision.bound)
        ends = (decision.value, decision.low, decision.high, decision.level)
        estimate = Estimate(*ends, decision.sets, decision.how)
        return Check(*asks, decision.outcome, decision.sentence, more, passes, estimate=estimate)


def _more_sets(tested: Estimate, to: Bound, *, seen: Seen | None, bounds: tuple[float, float]) -> More:
    """Return how many more sets would decide, were they like those seen.

    `seen` are the units of a mean; other metrics have none. The n of the estimate counts sets.
    """
    sign, bound = to
    meets: Callable[[Any, float], Any] = COMPARE[sign]

    def decides(low: Floats, high: Floats) -> Booleans:
        return np.asarray(meets(low, bound) == meets(high, bound))

    if seen is None:
        return scaled_more(tested, bounds, decides)
    return seen.more(decides).times(tested.n / len(seen.units))


def _growth(part: Part, row: Measurement) -> Growth:
    """Return how more sets would narrow a measurement of a run: from its units where it is a mean."""
    metric, estimator = metric_named(row.metric), estimator_of(row.metric) or PERPLEXITY
    by = tuple(key for key in parse_group(row.group) if key != "type")

    def more(tested: Estimate, to: Bound) -> More:
        seen = None
        if is_plain_mean(metric):
            plan = Plan([metric], [estimator], by=by, level=tested.level)
            items = measured_items(part.outcomes, plan)
            points, _ = measured_points(items, plan)
            of_group = [point for point in points if group_label(point.parts) == row.group]
            seen = seen_units(metric, of_group[0].statistics(), items.outcomes.k, tested.level) if of_group else None
        return _more_sets(tested, to, seen=seen, bounds=metric.bounds)

    return more


def _drop_growth(test: Tested, *, turned: bool) -> Growth:
    """Return how more sets would narrow a difference of two runs; `turned` where it is the second less the first."""
    contest = test.contest
    width = math.inf if contest is None else contest.width
    seen = None
    if contest is not None and contest.units is not None and math.isfinite(width):
        seen = Seen(-contest.units if turned else contest.units, (-width, width), test.difference.level)
    return partial(_more_sets, seen=seen, bounds=(-width, width))


def _checks(run: Run, requirement: Requirement, rules: Rules) -> list[Check]:
    """Return a check for every dataset and task that the requirement names; one that names nothing is an error."""
    checks = []
    for part in run.parts:
        row = part.measured.at(requirement.metric, requirement.group)
        if row is not None and requirement.is_about(part.dataset, part.task):
            where, tested = f"{part}, {requirement.group}", replace(row.estimate, n=_sets(part, row))
            bound = (requirement.sign, requirement.bound)
            settled = decision_on(part, requirement) if rules.test_at == "cautious" else None
            if settled is None:
                check = rules.check(requirement.text, where, tested, bound, _growth(part, row))
                check = replace(check, estimate=row.estimate)
            else:
                check = rules.settled(settled, where)
            checks.append(_if_usable(replace(check, of=str(part)), [part], rules))
    if not checks:
        raise EquipoiseError(_nothing(run, requirement.text, requirement.metric, requirement.group))
    return checks


def _settled(run: Run, rules: Rules) -> list[Check]:
    """Return a check of everything that the audit was asked until it was settled."""
    return [
        _if_usable(replace(rules.settled(decision, f"{part}, {decision.group}"), of=str(part)), [part], rules)
        for part in run.parts
        for decision in decisions_of(part)
    ]


def _if_usable(check: Check, parts: Iterable[Part], rules: Rules) -> Check:
    """Return the check; where a part is not usable, that is what it found."""
    unusable = [verdict for part in parts if not (verdict := part_summary(part).verdict).usable]
    if rules.insist or not unusable:
        return check
    return replace(check, outcome=NOT_USABLE, why=unusable[0].sentence, passed=False, more=None, estimate=None)


def warnings(run: Run | str | Path, requirements: Sequence[str] | str) -> Iterator[str]:
    """Yield what a pass would not mean: UCerF as published does not see the answers of ambiguous sets."""
    opened = run if isinstance(run, Run) else Run(run)
    listed = [parse_requirement(text) for text in ([requirements] if isinstance(requirements, str) else requirements)]
    named = {requirement.metric for requirement in listed}
    if any(name.startswith(("ucerf_signed", "flip_")) for name in named):
        return
    for requirement in listed:
        kind = parse_group(requirement.group).get("type", "")
        for part in opened.parts:
            signed = part.measured.get(part.measured.own("ucerf_signed"), type=kind)
            is_published = requirement.metric == part.measured.own("ucerf")
            if is_published and signed is not None and requirement.is_about(part.dataset, part.task):
                yield (
                    f"{requirement.text}: on ambiguous sets UCerF does not see which answer was given; require"
                    " ucerf_signed or flip_rate, too"
                )
                break


def _sets(part: Part, row: Measurement) -> int:
    """Return how many sets a measurement was taken over: its n, or for items their share of the part's sets."""
    metric = metric_of(row.metric)
    if metric is not None and metric.unit == "sets":
        return row.n
    items = max(len(part.items), 1)
    return max(1, round(row.n * part.items["set_id"].nunique() / items))


def _nothing(run: Run, text: str, metric: str, group: str) -> str:
    """Return a sentence on what the run has instead of what a requirement names."""
    names = sorted({name for part in run.parts for name in part.measured.metrics})
    if metric not in names:
        near = difflib.get_close_matches(metric, names, n=1)
        instead = f"; did you mean {near[0]!r}?" if near else f", but {', '.join(names)}"
        return f"{text!r} names nothing in {run.path}: it has no metric {metric!r}{instead}"
    groups = dict.fromkeys(label for part in run.parts for label in part.measured.groups_of(metric))
    few = [label for label in groups if "occupation=" not in label][:12]
    return f"{text!r} names nothing in {run.path}: {metric} was not measured for {group}, but for {'; '.join(few)}"


def _drops(run: Run, baseline: Run, drops: Sequence[str], rules: Rules) -> Iterator[Check]:
    """Yield whether the run is worse than the baseline by more than is allowed, sentence by sentence.

    The drop is that of the metric in its worse direction, with an interval from the same sentences in both runs.
    """
    wanted = [parse_drop(text) for text in drops]
    choices = Choices(metrics=tuple(dict.fromkeys(drop.metric for drop in wanted)), permutations=1)
    compared = compare([baseline.path, run.path], choices).tests
    for drop in wanted:
        of_metric = [test for test in compared if test.row.metric == drop.metric]
        tests = [test for test in of_metric if _speaks_of(drop, test)]
        if not tests:
            groups = "; ".join(dict.fromkeys(test.row.group for test in of_metric))
            shared = f": {drop.metric} is compared for {groups}" if groups else ""
            raise EquipoiseError(
                f"drop {drop.text!r} matches nothing that both {run.path} and {baseline.path} have{shared}"
            )
        for test in tests:
            # compare() takes the baseline less the run: for "higher is better" that is the drop itself.
            turned = test.row.better == "lower"
            tested = -test.difference if turned else test.difference
            key = (test.row.dataset, test.row.task)
            parts = [part for side in (run, baseline) for part in side.parts if (part.dataset, part.task) == key]
            more = _drop_growth(test, turned=turned)
            check = rules.check(f"drop of {drop.text}", test.data, tested, ("<=", drop.bound), more)
            yield _if_usable(replace(check, of=test.data, estimate=tested), parts, rules)


def _speaks_of(drop: Requirement, test: Tested) -> bool:
    """Return whether a drop speaks of a tested difference: without a type of all types, without any group of all."""
    wanted, tested = parse_group(drop.group), parse_group(test.row.group)
    kind = wanted.pop("type", None)
    is_type = kind in (None, tested.pop("type", None))
    return drop.is_about(test.row.dataset, test.row.task) and is_type and wanted in ({}, tested)


@checked
def gate(
    run: Run | str | Path,
    requirements: Sequence[str] | str = (),
    *,
    baseline: Run | str | Path | None = None,
    max_drop: Sequence[str] | str = (),
    test_at: str = "cautious",
    undecided: str = "fail",
    insist: bool = False,
) -> list[Check]:
    """Return every check of a run or its folder; `undecided` is pass or fail.

    Without requirements these are the ones that the audit was asked until they were settled.
    What is not usable never passes, unless the user chooses to `insist`.
    Nothing required, or a drop without a baseline, is an error, never a pass.
    """
    rules = Rules(test_at, undecided, insist)
    opened = run if isinstance(run, Run) else Run(run)
    if not requirements and not max_drop and (settled := _settled(opened, rules)):
        return settled
    if not requirements and not max_drop:
        raise EquipoiseError("a gate needs at least one requirement, such as 'ucerf[type=type2] >= 0.80'")
    if bool(max_drop) != (baseline is not None):
        raise EquipoiseError("max_drop needs a baseline to drop from, and a baseline needs a max_drop to allow")
    listed = [requirements] if isinstance(requirements, str) else requirements
    parsed = [parse_requirement(text) for text in listed]
    checks = [check for requirement in parsed for check in _checks(opened, requirement, rules)]
    if baseline is not None:
        before = baseline if isinstance(baseline, Run) else Run(baseline)
        drops = [max_drop] if isinstance(max_drop, str) else max_drop
        checks += _drops(opened, before, drops, rules)
    return checks


def rows(checks: Sequence[Check]) -> Iterator[tuple[str, str, str, str]]:
    """Yield the checks as lines of words: how it went, what was required, where, and what was found."""
    for check in checks:
        yield check.outcome, check.requirement, check.where, check.found


def junit(checks: Sequence[Check], run: str) -> bytes:
    """Return the checks as JUnit XML, which CI servers show as tests: a failure's type says failed or undecided.

    An undecided check that may pass is a skipped test.
    """
    suite = ElementTree.Element("testsuite", name="equipoise gate")
    for check in checks:
        case = _case(suite, f"equipoise.gate.{check.where}", check.requirement)
        message = f"{check.found}, required is {check.sign} {check.bound:g}"
        if check.outcome != PASSED and check.passed:
            ElementTree.SubElement(case, "skipped", message=printable(f"undecided: {message}"))
        elif check.outcome != PASSED:
            kind = {UNDECIDED: "undecided", NOT_USABLE: "not usable"}.get(check.outcome, "requirement")
            failure = ElementTree.SubElement(case, "failure", message=printable(message), type=kind)
            failure.text = printable(f"{run}: {check.requirement} ({check.where}): {message}")
    return _document(suite)


def junit_error(reason: str, run: str) -> bytes:
    """Return JUnit XML of a gate that could not be checked: one test with an error."""
    suite = ElementTree.Element("testsuite", name="equipoise gate")
    case = _case(suite, "equipoise.gate", f"gate of {run}")
    ElementTree.SubElement(case, "error", message=printable(reason), type="gate").text = printable(f"{run}: {reason}")
    return _document(suite)


def _case(suite: ElementTree.Element, place: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname=printable(place), name=printable(name), time="0")


def _document(suite: ElementTree.Element) -> bytes:
    counted = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
    for name, tag in counted.items():
        suite.set(name, str(len(list(suite.iter(tag)))))
    content: bytes = ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)
    return content
