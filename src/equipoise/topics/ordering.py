"""Models in the order of one metric: which is better than which, by how much, and which cannot be told apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from ..metrics.metric import Metric
from ..metrics.naming import spoken
from ..records import Estimate, listed
from ..records.showing import Axis, Bracket, Column, Dot, Finding, Panel, Row, Table
from ..stats.paired import DETECTED, is_detected

NAMED = 4
"""At most this many models are listed in a sentence; of more it says how many."""

RATES = ("flip_rate", "accuracy", "human_alignment")
"""Metrics whose differences are told in percentage points."""

CAPTION = "The best first. Lines are intervals. A bracket joins those that cannot be told apart."


@dataclass(frozen=True)
class Ordering:
    """Names with their values, the best first, and the differences of each two (first less second, p corrected).

    `where` says on what they were asked, `paired` that they were compared sentence by sentence.
    """

    metric: Metric
    where: str
    values: Mapping[str, Estimate]
    differences: Mapping[tuple[str, str], Estimate]
    paired: bool = True

    @property
    def names(self) -> list[str]:
        """The names, the best first."""
        sign = -1 if self.metric.better == "higher" else 1
        return sorted(self.values, key=lambda name: sign * self.values[name].value)

    def ahead(self, name: str, other: str) -> Estimate:
        """Return by how much a model is better than another."""
        known = self.differences.get((name, other))
        difference = -self.differences[other, name] if known is None else known
        return difference if self.metric.better == "higher" else -difference

    def are_apart(self, name: str, other: str) -> bool:
        """Return whether the difference of two models is detected."""
        return is_detected(self.ahead(name, other))

    def is_ahead(self, name: str, other: str) -> bool:
        """Return whether a model is shown to be better than another."""
        return self.are_apart(name, other) and self.ahead(name, other).value > 0

    def groups(self) -> list[list[str]]:
        """Return the largest groups in which no two models can be told apart, the best first; those of one left out.

        Piepho's (2004): every difference splits the groups that hold both; a group within another is dropped.
        """
        names = self.names
        groups = [frozenset(names)]
        for at, name in enumerate(names):
            for other in names[at + 1 :]:
                if self.are_apart(name, other):
                    both = [group for group in groups if {name, other} <= group]
                    split = [group - {left_out} for group in both for left_out in (other, name)]
                    several = dict.fromkeys([*(group for group in groups if group not in both), *split])
                    groups = [group for group in several if not any(group < larger for larger in several)]
        ordered = [[name for name in names if name in group] for group in groups if len(group) > 1]
        return sorted(ordered, key=lambda group: [names.index(name) for name in group])

    @property
    def finding(self) -> Finding:
        """Who is better than whom, and by how much, in one sentence."""
        best, *others = self.names
        behind = [name for name in others if self.are_apart(best, name)]
        alike = [name for name in others if name not in behind]
        label = spoken(self.metric.name)
        if not behind:
            widest = self._size(best, max(others, key=lambda name: abs(self.ahead(best, name).value)))
            text = f"{_named(self.names)} cannot be told apart by {label}; the largest difference is {widest}"
        else:
            text = f"by {label}, {best} is better than {behind[0]} by {self._size(best, behind[0])}"
            text += f", and than {_named(behind[1:])}" if behind[1:] else ""
            text += f"; {_named(alike)} cannot be told apart from {best}" if alike else ""
        return Finding(f"{self.where}: {text}.", topic="order")

    def _size(self, name: str, other: str) -> str:
        size = self.ahead(name, other)
        size = replace(size, value=size.value + 0.0, low=size.low + 0.0, high=size.high + 0.0)  # never -0.0
        shown = f"{size:points}" if self.metric.name in RATES else f"{size}"
        p = size.p_corrected
        if p < DETECTED and not self.are_apart(name, other):
            return (
                f"{shown} (n = {size.n:,}; the interval includes 0)"  # a small p beside it would read as a difference
            )
        small = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
        return f"{shown} (n = {size.n:,}, {'p not known' if p != p else small} after correction)"

    def panel(self, title: str = "", links: Mapping[str, str] | None = None) -> Panel:
        """Return the models one under another with their intervals, and brackets beside them."""
        names = self.names
        places = {name: float(at) for at, name in enumerate(names)}
        dots = [Dot(self.values[name], places[name], 0, name, (links or {}).get(name, "")) for name in names]
        brackets = [Bracket([places[name] for name in group], at) for at, group in enumerate(self.groups())]
        better = {"higher": " (higher is better)", "lower": " (lower is better)"}.get(self.metric.better, "")
        within = self.metric.bounds or (-inf, inf)
        across = Axis.over(self.values.values(), f"{self.metric.label}{better}", within=within, least=0.1)
        return Panel([*dots, *brackets], across, Axis.of_names(names), title)

    def table(self) -> Table:
        """Return the same as a table: each value, and whom it cannot be told apart from."""
        names = self.names
        rows = []
        for name in names:
            alike = [other for other in names if other != name and not self.are_apart(name, other)]
            rows.append(Row((name, self.values[name], ", ".join(alike) or "–")))
        columns = (Column("model", words=True), Column(self.metric.label, self.metric.better))
        return Table(self.where, (*columns, Column("cannot be told apart from", words=True)), rows)


def _named(names: Sequence[str]) -> str:
    if len(names) > NAMED:
        names = [*names[: NAMED - 1], f"{len(names) - NAMED + 1} others"]
    return listed(names)


def joined(orderings: Sequence[Ordering]) -> Table:
    """Return the tables of several orderings as one."""
    rows = []
    for ordering in orderings:
        rows += [Row((f"{ordering.metric.label}, {ordering.where}",), heading=True), *ordering.table().rows]
    columns = (Column("model", words=True), Column("value"), Column("cannot be told apart from", words=True))
    return Table("", columns, rows)
