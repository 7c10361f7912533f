"""Studies of estimators as tables in a terminal, in the layout of the UCerF paper's Table 9."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...measuring.estimators import Agreement
from ...records import Estimate
from ...runs.measurements import interval, span
from ..behaviour.views import short
from ..terminal.tables import NOTHING, empty_table, literal, texts
from .answers import answer, changed_pairs, side_sentence
from .studies import PartStudy

RANKS = "A rank is by one estimator alone. The orders in the sentences hold for all at once, so fewer are settled."

NAME = 30
"""Characters of a model's name in a cell; the files have it whole."""


def study_tables(part: PartStudy) -> RenderableType:
    """Return the answer, the models sorted by each estimator, and how far every two estimators agree."""
    sentences = [answer(part), *changed_pairs(part), side_sentence(part)]
    blocks: list[RenderableType] = [Text(literal(part.title), style="bold")]
    blocks += [Text(literal(sentence)) for sentence in sentences]
    blocks += [Text(), sorted_models(part)]
    if len(part.study.values.runs) > 1:
        blocks += [Text(RANKS)]
    return Group(*blocks, Text(), agreement_table(part), Text())


def sorted_models(part: PartStudy) -> Table:
    """Return a row for each estimator with the models sorted by UCerF, and one with their flip rates."""
    values = part.study.values
    places = range(1, len(values.runs) + 1)
    table = empty_table("estimator", "n sets", *(f"{place}." for place in places))
    for estimator in values.estimators:
        cells = [
            f"{short(row.run, NAME)} {span(row.ucerf)}" + (f" rank {row.rank}" if len(values.runs) > 1 else "")
            for row in part.sorted(estimator)
        ]
        table.add_row(*texts([estimator, f"{values.sets:,}", *cells]))
    flips = sorted(zip(values.runs, part.study.flips, strict=True), key=lambda pair: pair[1].value)
    table.add_row(*texts(["flip rate (any)", f"{values.sets:,}", *(f"{short(r, NAME)} {span(e)}" for r, e in flips)]))
    return table


def agreement_table(part: PartStudy) -> Table:
    """Return Kendall's tau of every two estimators over models, occupations and sets; the lowest of all runs."""
    study = part.study
    overs = list(dict.fromkeys(row.over for row in study.agreements))
    table = empty_table("estimators", *(f"tau over {over}" for over in overs))
    rows: dict[tuple[str, str], dict[str, list[Agreement]]] = {}
    for row in study.agreements:
        rows.setdefault((row.first, row.second), {}).setdefault(row.over, []).append(row)
    for (first, second), by_over in rows.items():
        cells = [_lowest([row.kendall for row in by_over.get(over, [])]) for over in overs]
        table.add_row(*texts([f"{first} – {second}", *cells]))
    return table


def _lowest(estimates: list[Estimate]) -> str:
    defined = [estimate for estimate in estimates if estimate.value == estimate.value]
    if not defined:
        return NOTHING
    lowest = min(defined, key=lambda estimate: estimate.value)
    return f"{lowest.value:.2f} {interval(lowest)} n={lowest.n:,}"
