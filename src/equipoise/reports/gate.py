"""A gate for pipelines: requirements on a run's measurements, tested at the end of the interval that is least kind."""

from __future__ import annotations

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
from ..records import EquipoiseError, group_label, parse_group
from ..runs.measurements import kind_title
from ..runs.run import Run
from .comparison.compare import Choices, compare

ENDS = ("cautious", "low", "value", "high")
"""What of an estimate is tested. `cautious`: the end of the interval that is furthest from passing."""

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
    """A requirement checked against one measurement."""

    requirement: str
    where: str
    tested: str
    number: float
    sign: str
    bound: float
    passed: bool
    why: str = ""


def parse_requirement(text: str) -> Requirement:
    """Return the requirement that the text states."""
    found = _REQUIREMENT.fullmatch(text)
    if not found:
        raise EquipoiseError(
            f"{text!r} is not a requirement; write it as metric[type=type2] >= 0.80 (also <=, >, <);"
            " the brackets are optional"
        )
    name, chosen, sign, bound = found.groups()
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


def check_requirement(run: Run, requirement: Requirement, *, test_at: str = "cautious") -> list[Check]:
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
        end = _end(requirement.sign, test_at)
        number = float(getattr(row, end))
        passed = _COMPARE[requirement.sign](number, requirement.bound)  # NaN passes no comparison
        why = "" if not np.isnan(number) else "it has no interval that could be trusted"
        where = f"{part}, {requirement.group}"
        checks.append(Check(requirement.text, where, end, number, requirement.sign, requirement.bound, passed, why))
    return checks


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
    run: Path, baseline: Path, drops: Sequence[str], *, test_at: str = "cautious", seed: int = 0
) -> list[Check]:
    """Return whether the run is worse than the baseline by more than is allowed, sentence by sentence.

    The drop is that of the metric in its worse direction, with an interval from the same sentences in both runs.
    """
    wanted = [_parse_drop(text) for text in drops]
    choices = Choices(metrics=tuple(dict.fromkeys(name for _, name, *_ in wanted)), permutations=1, seed=seed)
    comparison = compare([baseline, run], choices)
    checks = []
    for text, name, (dataset, task, group), allowed in wanted:
        sign = -1.0 if find(name, METRICS, kind="metric").better == "lower" else 1.0
        tests = [t for t in comparison.tests if t.metric == name and _speaks_of(t, dataset, task, group)]
        if not tests:
            raise EquipoiseError(f"drop {text!r} names nothing that both {run} and {baseline} have")
        for test in tests:
            # compare() takes the baseline less the run: for "higher is better" that is the drop itself.
            ends = sorted([sign * test.difference.low, sign * test.difference.high])
            values = {"low": ends[0], "value": sign * test.difference.value, "high": ends[1]}
            end = _end("<=", test_at)
            number = values[end]
            checks.append(
                Check(f"drop of {text}", f"{test.part}, {test.kind}", end, number, "<=", allowed, number <= allowed)
            )
    return checks


def _parse_drop(text: str) -> tuple[str, str, tuple[str | None, str | None, str], float]:
    found = _DROP.fullmatch(text)
    if not found:
        raise EquipoiseError(f"{text!r} is not a drop; write it as metric=0.02 or metric[type=type2]=0.02")
    name, chosen, allowed = found.groups()
    if find(name, METRICS, kind="metric").better == "neither":
        raise EquipoiseError(f"drop {text!r}: {name} has no better direction, so it cannot drop")
    place = _place(text, chosen)
    if set(parse_group(place[2])) - {"type"}:
        raise EquipoiseError(f"drop {text!r}: drops are taken over all items or over a type, not over other groups")
    return text.strip(), name, place, _bound(text, allowed)


def _speaks_of(test: Any, dataset: str | None, task: str | None, group: str) -> bool:
    part_dataset, _, part_task = test.part.partition(" · ")
    kind = parse_group(group).get("type")
    return (
        dataset in (None, part_dataset)
        and task in (None, part_task)
        and (kind is None or kind_title(kind) == test.kind)
    )


def gate(
    run: str | Path,
    requirements: Sequence[str],
    *,
    baseline: str | Path | None = None,
    max_drop: Sequence[str] = (),
    test_at: str = "cautious",
) -> list[Check]:
    """Return every check of the gate; nothing required, or a drop without a baseline, is an error, never a pass."""
    if not requirements and not max_drop:
        raise EquipoiseError("a gate needs at least one requirement, such as 'ucerf[type=type2] >= 0.80'")
    if bool(max_drop) != (baseline is not None):
        raise EquipoiseError("max_drop needs a baseline to drop from, and a baseline needs a max_drop to allow")
    _end(">=", test_at)
    parsed = [parse_requirement(text) for text in requirements]
    frames = Run(run)
    checks = [check for one in parsed for check in check_requirement(frames, one, test_at=test_at)]
    if baseline is not None:
        checks += check_drop(Path(run), Path(baseline), max_drop, test_at=test_at)
    return checks


def rows(checks: Sequence[Check]) -> Iterator[tuple[str, str, str, str]]:
    """Yield the checks as lines of a table: how it went, what was required, where, and what was found."""
    for check in checks:
        found = check.why or f"{check.tested} {check.number:.4f}"
        yield "passed" if check.passed else "FAILED", check.requirement, check.where, found


def junit(checks: Sequence[Check], run: str) -> bytes:
    """Return the checks as JUnit XML, which CI servers show as tests."""
    failures = sum(not check.passed for check in checks)
    suite = ElementTree.Element(
        "testsuite", name="equipoise gate", tests=str(len(checks)), failures=str(failures), errors="0", skipped="0"
    )
    for check in checks:
        case = ElementTree.SubElement(
            suite, "testcase", classname=_xml(f"equipoise.gate.{check.where}"), name=_xml(check.requirement), time="0"
        )
        if not check.passed:
            told = check.why or f"{check.tested} is {check.number:.6g}, required is {check.sign} {check.bound:g}"
            failure = ElementTree.SubElement(case, "failure", message=_xml(told), type="requirement")
            failure.text = _xml(f"{run}: {check.requirement} ({check.where}): {told}")
    content: bytes = ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)
    return content


def _xml(text: str) -> str:
    """Return the text without what XML cannot hold at all: control characters and lone surrogates."""
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in text)
