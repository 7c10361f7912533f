"""What the results of a suite depend on: sources of variation, metrics that order models alike, and few sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import nan

from ..comparing.sources import CROSS, Agreement, Carried, Sources, Variation
from ..metrics import Metric
from ..records import Estimate
from ..records.showing import Axis, Chart, Column, Dot, Finding, Heat, Panel, Row, Section, Table
from ..runs.measurements import kind_title
from ..stats.attribution import NOISE

TOPIC = "sources"
WORDS = {NOISE: "chance: which sentences were asked"}


def sections(result: Sources) -> Iterator[Section]:
    """Yield what was found: sources of variation, agreement of metrics, and what carries differences."""
    yield from map(variation_section, result.variations)
    for kind in dict.fromkeys(row.kind for row in result.agreements):
        yield agreement_section([row for row in result.agreements if row.kind == kind])
    for kind in dict.fromkeys(row.kind for row in result.carried):
        yield carried_section([row for row in result.carried if row.kind == kind])


def variation_section(row: Variation) -> Section:
    """Return how much of the variation of UCerF each choice makes: a table, a chart, and the answer."""
    title = f"What {row.metric.label} depends on, {kind_title(row.kind)}" if row.kind else "What UCerF depends on"
    columns = [Column("source", words=True), Column("levels"), Column("share of the variation", form=".1%")]
    rows = [Row((WORDS.get(name, name), row.levels.get(name), share)) for name, share in row.shares.items()]
    about = {"metric": row.metric.name, "type": row.kind}
    table = Table("", columns, rows, TOPIC, about)
    return Section(title, [table, _variation_chart(row, title), *_variation_findings(row)])


def _variation_findings(row: Variation) -> Iterator[Finding]:
    counts = [f"{count} {name}s" for name, count in row.levels.items() if count > 1]
    largest = max(row.shares, key=lambda name: row.shares[name].value)
    name = f"the {largest}" if largest in row.levels else WORDS.get(largest, largest)
    text = (
        f"{row.metric.label}: over {', '.join(counts)}, {row.shares[largest]:.0%} of the variation is {name} (standard"
        f" deviation of all values {row.deviation:.3f})."
    )
    yield Finding(text, topic=TOPIC, kind=row.kind)
    crossed = sum(share.value for name, share in row.shares.items() if name.startswith(f"model{CROSS}"))
    if "model" in row.shares and crossed:
        text = (
            f"The models themselves make {row.shares['model'].value:.0%} of the variation. Models together with what"
            f" else was chosen make {crossed:.0%}: the larger this is, the more the order of the models depends on the"
            " choice."
        )
        yield Finding(text, topic=TOPIC, kind=row.kind)
    if row.order is not None:
        text = (
            f"Two of the {row.conditions} ways to ask and judge order the models alike with Kendall's tau"
            f" {row.order:.2f} on average (1: the same order, 0: no relation)."
        )
        yield Finding(text, topic=TOPIC, kind=row.kind)


def _variation_chart(row: Variation, title: str) -> Chart:
    names = [WORDS.get(name, name) for name in row.shares]
    dots = [Dot(share, float(place), 0, names[place]) for place, share in enumerate(row.shares.values())]
    panel = Panel(dots, Axis("share of the variation", unit="%"), Axis.of_names(names))
    caption = "Lines are intervals over base sentences; models, tasks, wordings and estimators are these."
    return Chart(title, [panel], TOPIC, {"metric": row.metric.name, "type": row.kind}, caption=caption)


def agreement_section(rows: Sequence[Agreement]) -> Section:
    """Return the matrix of how alike metrics order the models: a table, a map, and the answer."""
    kind = rows[0].kind
    title = f"Do metrics order the models alike? {kind_title(kind).capitalize()}" if kind else "Do metrics agree?"
    metrics = list({metric.name: metric for row in rows for metric in (row.first, row.second)}.values())
    taus = {(row.first.name, row.second.name): row.tau for row in rows}
    cells = [Row((first.label, *(_either(taus, first, second) for second in metrics))) for first in metrics]
    columns = [Column("Kendall's tau", words=True), *(Column(metric.label, digits=2) for metric in metrics)]
    about = {"of": "metrics", "type": kind}
    table = Table(
        "", columns, cells, TOPIC, about, [f"Over {rows[0].tau.n} models; every metric with its better end first."]
    )
    heats = [
        Heat(x, y, nan if first is second else tau.value if (tau := _either(taus, first, second)) else nan)
        for y, first in enumerate(metrics)
        for x, second in enumerate(metrics)
    ]
    names = Axis.of_names([metric.label for metric in metrics])
    chart = Chart(title, [Panel(heats, names, names, colours="Kendall's tau")], TOPIC, about, caption=table.notes[0])
    return Section(
        title, [*(_agreement_finding(row) for row in rows if row.first.name.startswith("ucerf")), table, chart]
    )


def _either(taus: Mapping[tuple[str, str], Estimate], first: Metric, second: Metric) -> Estimate | None:
    return taus.get((first.name, second.name)) or taus.get((second.name, first.name))


def _agreement_finding(row: Agreement) -> Finding:
    settled = row.tau.has_interval and (row.tau.low > 0 or row.tau.high < 0)
    words = ("alike" if row.tau.value > 0 else "the other way round") if settled else "in no settled relation"
    text = (
        f"{row.first.label} and {row.second.label} order the {row.tau.n} models {words}: Kendall's tau {row.tau:.2f},"
        f" over {row.conditions} {'way' if row.conditions == 1 else 'ways'} to ask."
    )
    return Finding(text, topic=TOPIC, kind=row.kind)


def carried_section(rows: Sequence[Carried]) -> Section:
    """Return how many base sentences carry the difference of every two models."""
    kind = rows[0].kind
    columns = [Column(title, words=True) for title in ("data", "first", "second")]
    columns += [Column("difference", form="+.3f"), Column("turns round without")]
    listed = [Row((f"{row.dataset} · {row.task}", row.first, row.second, row.difference, row.fewest)) for row in rows]
    title = f"What carries the differences, {kind_title(kind)}" if kind else "What carries the differences"
    notes = ["The fewest base sentences without which the difference is 0 or has the other sign."]
    return Section(title, [Table("", columns, listed, "carried", {"type": kind}, notes)])
