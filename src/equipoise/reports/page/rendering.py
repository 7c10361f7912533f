"""A section of a page, and how templates and charts become one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ...runs.measurements import ARROWS, interval, kind_title, span
from ..svg.values import Values

LABELS = {
    "findings": "Findings",
    "parts": "Other parts",
    "scale": "Scale",
    "metrics": "Numbers",
    "tasks": "Ways to ask",
    "answers": "Answers",
    "categories": "Categories",
    "pairs": "Pairs of groups",
    "occupations": "Occupations",
    "histograms": "D and U",
    "estimators": "Estimators",
    "cases": "Cases",
    "data": "Data",
    "method": "Method",
    "glossary": "Words",
    "cite": "Cite",
    "verdicts": "Findings",
    "ranks": "Ranks",
    "orders": "Datasets",
    "scatter": "Performance",
    "differences": "Differences",
    "odds": "TPR and TPD",
    "spreads": "D and U",
    "overlap": "Overlap",
    "runs": "Runs",
}
"""Short names of sections in the navigation; a section without one is called by its heading."""


@dataclass(frozen=True)
class Section:
    """A part of the page: its name in links, its heading, and its content, all of whose text is escaped."""

    id: str
    title: str
    body: Markup

    @property
    def label(self) -> str:
        """What the navigation calls it: short, so that all sections fit on one line."""
        return LABELS.get(self.id, self.title)


@dataclass(frozen=True)
class Panel:
    """A chart with what is over and under it."""

    title: str
    chart: Markup
    caption: str = ""
    values: Values | None = None


@cache
def environment() -> Environment:
    """Return what renders the templates in `web/`: everything is escaped, and an unknown name is an error."""
    made = Environment(
        loader=PackageLoader("equipoise.reports.page", "web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(in_order=in_order, span=span, interval=interval, arrows=ARROWS, kind_title=kind_title)
    return made


def in_order(several: Iterable[Any], key: str) -> dict[str, list[Any]]:
    """Return the things by one of their properties, in the order in which its values come (Jinja's groupby sorts)."""
    by_name: dict[str, list[Any]] = {}
    for entry in several:
        by_name.setdefault(getattr(entry, key), []).append(entry)
    return by_name


def render(template: str, **values: Any) -> Markup:
    """Return a template of `web/` filled in."""
    return Markup(environment().get_template(template).render(**values))


def panels(intro: str, several: Iterable[Panel]) -> Markup | None:
    """Return charts side by side under a line of explanation, None without any."""
    shown = list(several)
    return render("panels.html", intro=intro, panels=shown) if shown else None
