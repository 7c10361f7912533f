"""A gate for pipelines: requirements on a run's measurements, answered by passed, failed or undecided.

A requirement passes when its whole interval meets the bound, fails when none of it does, and else is undecided.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ..catalog import find
from ..metrics import METRICS
from ..records import EquipoiseError, Measurement, group_label, parse_group
from ..runs.measurements import metric_of
from ..runs.run import Part, Run
from .comparison.compare import Choices, compare

ENDS = ("cautious", "low", "value", "high")
"""What of an estimate is tested. `cautious`: the end of the interval that is furthest from passing."""

PASSED, FAILED, UNDECIDED = "passed", "FAILED", "undecided"

_REQUIREMENT = re.compile(r"\s*([\w-]+)\s*(?:\[([^\]]*)\])?\s*(>=|<=|>|<)\s*([-+.\deE]+)\s*")
_DROP = re.compile(r"\s*([\w-]+)\s*(?:\[([^\]]*)\])?\s*=\s*([-+.\deE]+)\s*")
_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


@dataclass(frozen=True)
class Requirement:
    """A bound on a metric: `ucerf[type=type2,dataset=winobias] >= 0.80`."""

    text: str
    metric: str
    dataset: str | None
    task: str | None
    group: str
    sign: str
    bound: float


@dataclass(frozen=True)
class Check:
    """A requirement checked against one measurement: its `outcome` is passed, FAILED or undecided.

    `more` is how many more sets it would take to decide, roughly, were the value to stay as it is: None where no number
    would. `passed` counts an undecided check as the gate was asked to.
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

    @property
    def found(self) -> str:
        """What was found, in words."""
        text = self.why or f"{self.tested} {self.number:.4f}"
        if self.outcome == UNDECIDED and not self.why:
            text += f"; the bound is inside the interval, {self._needed()}"
        return text

    def _needed(self) -> str:
        return "more data cannot decide it" if self.more is None else f"about {self.more:,} more sets would decide it"


@dataclass(frozen=True)
class _Tested:
    """A value with its interval, and the number of sets behind it."""

    value: float
    low: float
    high: float
    n: int


def _decide(tested: _Tested, sign: str, bound: float, test_at: str, undecided: str) -> dict[str, Any]:
    """Return the outcome of a requirement, its number, and how many more sets it would take."""
    end = _end(sign, test_at)
    number = float(getattr(tested, end))
    if math.isnan(number):
        why = "it has no interval that could be trusted"
        return {"tested": end, "number": number, "outcome": FAILED, "why": why, "passed": False}
    meets = _COMPARE[sign]
    outcome = PASSED if meets(number, bound) else FAILED
    if test_at == "cautious" and outcome == FAILED and meets(tested.high if end == "low" else tested.low, bound):
        outcome = UNDECIDED
    more = _more_sets(tested, bound) if outcome == UNDECIDED else None
    passed = outcome == PASSED or (outcome == UNDECIDED and undecided == "pass")
    return {"tested": end, "number": number, "outcome": outcome, "more": more, "passed": passed}


def _more_sets(tested: _Tested, bound: float) -> int | None:
    """Return how many more sets would move the nearer end past the bound: an interval narrows as 1 / sqrt(n)."""
    distance = abs(tested.value - bound)
    reach = tested.value - tested.low if bound < tested.value else tested.high - tested.value
    if distance <= 0 or not math.isfinite(reach) or tested.n < 1:
        return None
    return max(1, math.ceil(tested.n * (reach / distance) ** 2) - tested.n)


def parse_requirement(text: str) -> Requirement:
    """Return the requirement that the text states."""
    match = _REQUIREMENT.fullmatch(text)
    if not match:
        raise EquipoiseError(
            f"{text!r} is not a requirement; write it as metric[type=type2] >= 0.80 (also <=, >, <);"
            " the brackets are optional"
        )
    name, chosen, sign, bound = match.groups()
    dataset, task, group = _place(text, chosen)
    return Requirement(text.strip(), name, dataset, task, group, sign, _bound(text, bound))


def _place(text: str, chosen: str | None) -> tuple[str | None, str | None, str]:
    parts = parse_group(chosen.strip()) if chosen and chosen.strip() else {}
    parts = {key.strip(): value.strip() for key, value in parts.items()}
    return parts.pop("dataset", None), parts.pop("task", None), group_label(parts)


def _bound(text: str, written: str) -> float:
    try:
        bound = float(written)
    except ValueError:
        bound = float("nan")
    if not np.isfinite(bound):
        raise EquipoiseError(f"{text!r}: {written!r} is not a number")
    return bound


def check_requirement(
    run: Run, requirement: Requirement, *, test_at: str = "cautious", undecided: str = "fail"
) -> list[Check]:
    """Return a check for every dataset and task that the requirement names; one that names nothing is an error."""
    rows = [
        (part, row)
        for part in run.parts
        if requirement.dataset in (None, part.dataset) and requirement.task in (None, part.task)
        if (row := part.measured.at(requirement.metric, requirement.group)) is not None
    ]
    if not rows:
        raise EquipoiseError(_nothing(run, requirement.text, requirement.metric, requirement.group))
    checks = []
    for part, row in rows:
        tested = _Tested(row.value, row.low, row.high, _sets(part, row))
        answer = _decide(tested, requirement.sign, requirement.bound, test_at, undecided)
        where = f"{part}, {requirement.group}"
        checks.append(Check(requirement.text, where, sign=requirement.sign, bound=requirement.bound, **answer))
    return checks


def _sets(part: Part, row: Measurement) -> int:
    """Return how many sets a measurement was taken over: its n, or for items their share of the part's sets."""
    metric = metric_of(row.metric)
    if metric is not None and metric.unit == "sets":
        return row.n
    items = max(len(part.items), 1)
    return max(1, round(row.n * part.items["set_id"].nunique() / items))


def _end(sign: str, test_at: str) -> str:
    if test_at not in ENDS:
        raise EquipoiseError(f"test_at must be one of {', '.join(ENDS)}, not {test_at!r}")
    return test_at if test_at != "cautious" else "low" if sign.startswith(">") else "high"


def _nothing(run: Run, text: str, metric: str, group: str) -> str:
    """Return a sentence on what the run has instead of what a requirement names."""
    names = sorted({name for part in run.parts for name in part.measured.metrics})
    if metric not in names:
        return f"{text!r} names nothing in {run.path}: it has no metric {metric!r}, but {', '.join(names)}"
    groups = dict.fromkeys(label for part in run.parts for label in part.measured.groups_of(metric))
    few = [label for label in groups if "occupation=" not in label][:12]
    return f"{text!r} names nothing in {run.path}: {metric} was not measured for {group}, but for {'; '.join(few)}"


def check_drop(
    run: Path, baseline: Path, drops: Sequence[str], *, test_at: str = "cautious", undecided: str = "fail"
) -> list[Check]:
    """Return whether the run is worse than the baseline by more than is allowed, sentence by sentence.

    The drop is that of the metric in its worse direction, with an interval from the same sentences in both runs.
    """
    wanted = [_parse_drop(text) for text in drops]
    choices = Choices(metrics=tuple(dict.fromkeys(name for _, name, *_ in wanted)), permutations=1)
    comparison = compare([baseline, run], choices)
    checks = []
    for text, name, (dataset, task, group), allowed in wanted:
        sign = -1.0 if find(name, METRICS, kind="metric").better == "lower" else 1.0
        tests = [t for t in comparison.tests if t.metric == name and _speaks_of(t, dataset, task, group)]
        if not tests:
            groups = dict.fromkeys(test.group for test in comparison.tests if test.metric == name)
            shared = f": {name} is compared for {'; '.join(groups)}" if groups else ""
            raise EquipoiseError(f"drop {text!r} matches nothing that both {run} and {baseline} have{shared}")
        for test in tests:
            # compare() takes the baseline less the run: for "higher is better" that is the drop itself.
            ends = sorted([sign * test.difference.low, sign * test.difference.high])
            value = sign * test.difference.value
            tested = _Tested(value, ends[0], ends[1], test.difference.n)
            answer = _decide(tested, "<=", allowed, test_at, undecided)
            checks.append(Check(f"drop of {text}", f"{test.part}, {test.kind}", sign="<=", bound=allowed, **answer))
    return checks


def _parse_drop(text: str) -> tuple[str, str, tuple[str | None, str | None, str], float]:
    match = _DROP.fullmatch(text)
    if not match:
        raise EquipoiseError(f"{text!r} is not a drop; write it as metric=0.02 or metric[type=type2]=0.02")
    name, chosen, allowed = match.groups()
    if find(name, METRICS, kind="metric").better == "neither":
        raise EquipoiseError(f"drop {text!r}: {name} has no better direction, so it cannot drop")
    return text.strip(), name, _place(text, chosen), _bound(text, allowed)


def _speaks_of(test: Any, dataset: str | None, task: str | None, group: str) -> bool:
    """Return whether a drop speaks of a tested difference: without a type of all types, without any group of all."""
    part_dataset, _, part_task = test.part.partition(" · ")
    wanted, tested = parse_group(group), parse_group(test.group)
    kind = wanted.pop("type", None)
    is_type = kind in (None, tested.pop("type", None))
    return dataset in (None, part_dataset) and task in (None, part_task) and is_type and wanted in ({}, tested)


def gate(
    run: Run | str | Path,
    requirements: Sequence[str] | str,
    *,
    baseline: Run | str | Path | None = None,
    max_drop: Sequence[str] = (),
    test_at: str = "cautious",
    undecided: str = "fail",
) -> list[Check]:
    """Return every check of a run or its folder; `undecided` is pass or fail.

    Nothing required, or a drop without a baseline, is an error, never a pass.
    """
    if undecided not in ("pass", "fail"):
        raise EquipoiseError(f"undecided must be pass or fail, not {undecided!r}")
    if not requirements and not max_drop:
        raise EquipoiseError("a gate needs at least one requirement, such as 'ucerf[type=type2] >= 0.80'")
    if bool(max_drop) != (baseline is not None):
        raise EquipoiseError("max_drop needs a baseline to drop from, and a baseline needs a max_drop to allow")
    _end(">=", test_at)
    listed = [requirements] if isinstance(requirements, str) else requirements
    parsed = [parse_requirement(text) for text in listed]
    frames = run if isinstance(run, Run) else Run(run)
    checks = [
        check
        for requirement in parsed
        for check in check_requirement(frames, requirement, test_at=test_at, undecided=undecided)
    ]
    if baseline is not None:
        before = baseline.path if isinstance(baseline, Run) else Path(baseline)
        checks += check_drop(frames.path, before, max_drop, test_at=test_at, undecided=undecided)
    return checks


def rows(checks: Sequence[Check]) -> Iterator[tuple[str, str, str, str]]:
    """Yield the checks as lines of a table: how it went, what was required, where, and what was found."""
    for check in checks:
        yield check.outcome, check.requirement, check.where, check.found


def junit(checks: Sequence[Check], run: str) -> bytes:
    """Return the checks as JUnit XML, which CI servers show as tests: a failure's type says failed or undecided.

    An undecided check that may pass is a skipped test.
    """
    suite = _suite(
        tests=len(checks),
        failures=sum(not check.passed for check in checks),
        skipped=sum(check.passed and check.outcome == UNDECIDED for check in checks),
    )
    for check in checks:
        case = ElementTree.SubElement(
            suite, "testcase", classname=_xml(f"equipoise.gate.{check.where}"), name=_xml(check.requirement), time="0"
        )
        if check.outcome == PASSED:
            continue
        message = f"{check.found}, required is {check.sign} {check.bound:g}"
        if check.passed:
            ElementTree.SubElement(case, "skipped", message=_xml(f"undecided: {message}"))
            continue
        kind = "undecided" if check.outcome == UNDECIDED else "requirement"
        failure = ElementTree.SubElement(case, "failure", message=_xml(message), type=kind)
        failure.text = _xml(f"{run}: {check.requirement} ({check.where}): {message}")
    return _document(suite)


def junit_error(reason: str, run: str) -> bytes:
    """Return JUnit XML of a gate that could not be checked: one test with an error."""
    suite = _suite(tests=1, errors=1)
    case = ElementTree.SubElement(suite, "testcase", classname="equipoise.gate", name=_xml(f"gate of {run}"), time="0")
    ElementTree.SubElement(case, "error", message=_xml(reason), type="gate").text = _xml(f"{run}: {reason}")
    return _document(suite)


def _suite(*, tests: int, failures: int = 0, errors: int = 0, skipped: int = 0) -> ElementTree.Element:
    counts = {"tests": tests, "failures": failures, "errors": errors, "skipped": skipped}
    attributes = {"name": "equipoise gate", **{name: str(count) for name, count in counts.items()}}
    return ElementTree.Element("testsuite", attributes)


def _document(suite: ElementTree.Element) -> bytes:
    content: bytes = ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)
    return content


def _xml(text: str) -> str:
    """Return the text without what XML cannot hold at all: control characters and lone surrogates."""
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text)
