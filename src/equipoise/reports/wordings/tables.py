"""Studies of wordings as tables in a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...records import Estimate
from ...runs.measurements import interval, metric_of, span
from ..behaviour.views import short
from ..estimators.answers import answer
from ..terminal.tables import empty_table, literal, texts
from .studies import WordingPart

NAME = 30
"""Characters of a model's name in a cell; the files have it whole."""

FIRST = ("accuracy", "flip_rate", "flip_bias", "ucerf", "ucerf_signed", "certainty", "perplexity", "accuracy_gap")
"""The metrics whose spread a terminal shows; the file has all of them."""


def wording_report(part: WordingPart) -> RenderableType:
    """Return the answers, the spread of the main metrics, UCerF by wording, and the variance components."""
    blocks: list[RenderableType] = [Text(literal(part.part.title), style="bold")]
    blocks += [Text(literal(sentence)) for sentence in sentences(part)]
    tables = [table for table in (spread_table(part), component_table(part)) if table.row_count]
    return Group(*blocks, *(block for table in tables for block in (Text(), table)), Text())


def sentences(part: WordingPart) -> Iterator[str]:
    """Yield what the wordings change, in sentences with their uncertainty."""
    values = part.part.study.values
    label, count = part.part.metric.label, len(values.estimators)
    for row in part.worded.robust:
        yield (
            f"{row.run}: {label} is {span(row.mean)} over {count} wordings, and {span(row.worst)} in the worst"
            f" ({row.wording}), n = {values.sets:,} sets."
        )
    for divided in part.worded.divided:
        if divided.quantity == "U":
            by_name = {component.name: component.share for component in divided.rows}
            wording, sentence = by_name["wording"], by_name["sentence"]
            rest = by_name["wording × sentence"]
            yield (
                f"{divided.run}: of the variance of U, {wording.value:.0%} {_percent(wording)} is the wording,"
                f" {sentence.value:.0%} {_percent(sentence)} the sentence and {rest.value:.0%} {_percent(rest)} both"
                " together."
            )
    if part.part.study.orders:
        yield answer(part.part)


def _percent(share: Estimate) -> str:
    return "[no interval]" if share.low != share.low else f"[{share.low:.1%}, {share.high:.1%}]"


def spread_table(part: WordingPart) -> Table:
    """Return the lowest and the highest value of each main metric over the wordings."""
    table = empty_table("metric", "model", "n", "mean", "lowest", "in", "highest", "in", "sd")
    for spread in part.spreads:
        if spread.metric in FIRST:
            metric = metric_of(spread.metric)
            ends = [f"{e.value:.3f} {interval(e)}" for _, e in (spread.lowest, spread.highest)]
            cells = [metric.label if metric else spread.metric, short(spread.run, NAME), f"{spread.mean.n:,}"]
            cells += [span(spread.mean), ends[0], spread.lowest[0], ends[1], spread.highest[0]]
            table.add_row(*texts([*cells, f"{spread.deviation:.3f}"]))
    return table


def component_table(part: WordingPart) -> Table:
    """Return each component's share of the variance, with its interval."""
    names = list(dict.fromkeys(row.name for divided in part.worded.divided for row in divided.rows))
    table = empty_table("share of the variance", "model", *names)
    for divided in part.worded.divided:
        shares = {row.name: f"{row.share.value:.1%} {_percent(row.share)}" for row in divided.rows}
        table.add_row(*texts([divided.quantity, short(divided.run, NAME), *(shares.get(name, "") for name in names)]))
    return table
