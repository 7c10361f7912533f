"""Findings, and the sections that hold what is shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar
from urllib.parse import quote

from .. import Estimate, Measurement
from .charts import Chart
from .tables import Table

State = Literal["found", "fine", "doubt", "invalid", "note"]
"""Of a finding: something was found; a check is fine, in doubt, or makes the rest meaningless; or a remark."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim in one sentence, and the measurements (rows of `measurements.csv`) that it rests on.

    `topic` says what it is about, `kind` which type of items it speaks of ("" for all). A check has a `name` and a
    `short` value for a strip of checks. `beside` is said with every claim that a doubt qualifies. `example` is the
    address of a case that shows it. `claim` says of a tested difference whether it was detected; None: not a test.
    """

    text: str
    rests_on: Sequence[Measurement] = ()
    topic: str = ""
    kind: str = ""
    state: State = "found"
    name: str = ""
    short: str = ""
    beside: str = ""
    example: str = ""
    claim: bool | None = None

    def __str__(self) -> str:
        return self.text

    @property
    def estimate(self) -> Estimate | None:
        """The value that the claim is about, with its interval, n and p; None for a claim without a number."""
        return self.rests_on[0].estimate if self.rests_on else None


Shown = Finding | Table | Chart
"""The three nouns of showing."""
S = TypeVar("S", bound=Shown)


@dataclass(frozen=True, slots=True)
class Section:
    """What is shown under one heading: an introduction, then findings, tables, charts and sections of its own.

    `id` is its name in links, `link` where its title leads. `label` is what a navigation calls it. A `folded` one is
    opened by the reader. `layout` says how a page may place its content: side by side ("first"), or before the browser
    of all cases.
    """

    title: str
    shown: Sequence[Shown | Section] = ()
    id: str = ""
    label: str = ""
    intro: str = ""
    link: str = ""
    folded: bool = False
    layout: Literal["flow", "first", "cases"] = "flow"

    def every(self, kind: type[S]) -> Iterator[S]:
        """Yield all findings, tables or charts of the section and of its sections, in order."""
        for entry in self.shown:
            if isinstance(entry, Section):
                yield from entry.every(kind)
            elif isinstance(entry, kind):
                yield entry


def every(sections: Iterable[Section], kind: type[S]) -> Iterator[S]:
    """Yield all findings, tables or charts of the sections, in order."""
    for section in sections:
        yield from section.every(kind)


def case_link(set_id: str, part: str, variant: str = "") -> str:
    """Return the address of a case on a run's page."""
    return "#case=" + ",".join(quote(word, safe="") for word in (set_id, part, variant)).rstrip(",")


def cases_link(**filters: str) -> str:
    """Return the address of a run's cases with these filters."""
    return "#filter=" + ",".join(f"{key}:{quote(value, safe='')}" for key, value in filters.items() if value)
