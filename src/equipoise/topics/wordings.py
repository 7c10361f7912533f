"""What results depend on besides the model: the wording of the question, and how an answer is drawn.

Of wordings: the spread of metrics, the worst wording, and variance components.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..comparing.wordings import WordingPart, by_wording
from ..measuring.drawn_answers import Drawn, drawn_answers
from ..metrics.naming import metric_of
from ..records import Estimate
from ..records.showing import Axis, Cell, Chart, Column, Dot, Finding, Panel, Row, Section, Table
from ..runs.run import Part, Run
from .estimators import answer

FIRST = ("accuracy", "flip_rate", "flip_bias", "ucerf", "ucerf_signed", "certainty", "perplexity", "accuracy_gap")
"""The metrics whose spread is shown; the file has all of them."""

SPREAD = ("metric", "model", "mean", "lowest", "highest", "sd")


def section(part: WordingPart) -> Section:
    """Return the spread of the main metrics, the variance components, and at the end whether the wording matters."""
    tables = [table for table in (spread_table(part), component_table(part)) if table.rows]
    return Section(part.part.title, [*findings(part), *tables, *wording_answers(part)])


def findings(part: WordingPart) -> Iterator[Finding]:
    """Yield the mean and the worst wording of each run, and what the variance is due to."""
    values, kind = part.part.study.values, part.part.kind
    for row in part.worded.robust:
        text = (
            f"{row.run}: {part.part.metric.label} is {row.mean} over {len(values.estimators)} wordings, and"
            f" {row.worst} in the worst ({row.wording}), n = {values.sets:,} sets."
        )
        yield Finding(text, topic="wordings", kind=kind)
    for divided in part.worded.divided:
        if divided.quantity == "U":
            shares = {component.name: component.share for component in divided.rows}
            text = (
                f"{divided.run}: of the variance of U, {shares['wording']:%} is the wording, {shares['sentence']:%} the"
                f" sentence and {shares['wording × sentence']:%} both together."
            )
            yield Finding(text, topic="wordings", kind=kind)


def wording_answers(part: WordingPart) -> Iterator[Finding]:
    """Yield whether the wording matters, in a sentence for each run, and whether it changes the order of runs."""
    label, kind = part.part.metric.label, part.part.kind
    for run in part.part.study.values.runs:
        every = [apart for apart in part.worded.apart if apart.run == run]
        held = [apart for apart in every if apart.detected]
        pairs = f"of {len(every)} pairs of wordings {len(held)} differ in {label} (after correction)"
        if held:
            most = max(held, key=lambda apart: abs(apart.difference.value))
            low, high = (most.first, most.second) if most.difference.value < 0 else (most.second, most.first)
            text = f"The wording matters: {pairs}, most of all {low} and {high}, by {abs(most.difference)}."
        else:
            reach = max(abs(end) for apart in every for end in apart.difference.ends)
            text = f"It is not shown that the wording matters: {pairs}. A difference of up to {reach:.3f}"
            text += " could have been missed."
        yield Finding(f"{run}: {text}", topic="answer", kind=kind)
    if part.part.study.orders:
        yield answer(part.part)


def spread_chart(part: Part) -> Chart | None:
    """Return flips and UCerF of each wording with intervals, the most flips first; None for one wording."""
    for kind in sorted(part.kinds, key=lambda kind: kind != "type1"):
        scores = part.measured.own("ucerf_signed"), part.measured.own("ucerf")
        several = {name: by_wording(part.measured, name, kind) for name in ("flip_rate", *scores)}
        known = {name: values for name, values in several.items() if len(values) > 1}
        if scores[0] in known:
            known.pop(scores[1], None)
        if "flip_rate" not in known:
            continue
        order = sorted(known["flip_rate"], key=lambda wording: -known["flip_rate"][wording].value)
        panels = [_by_wording(name, values, order, tone) for tone, (name, values) in enumerate(known.items())]
        low, high = (known["flip_rate"][wording] for wording in (order[-1], order[0]))
        caption = (
            f"Over {len(order)} wordings the flip rate goes from {low:.1%} ({order[-1]}) to {high:.1%} ({order[0]})."
        )
        if low.value == high.value:
            caption = f"In all {len(order)} wordings the flip rate is {low:.1%}."
        title = f"What the wording changes, {part.title(kind)}"
        return Chart(
            title, panels, "wordings", part.about(kind), caption=f"{caption} Lines are intervals.", layout="beside"
        )
    return None


def _by_wording(name: str, values: Mapping[str, Estimate], order: Sequence[str], tone: int) -> Panel:
    metric = metric_of(name)
    dots = [Dot(values[wording], float(at), tone, wording) for at, wording in enumerate(order) if wording in values]
    across = Axis.over(values.values(), metric.label if metric else name, within=(0.0, 1.0), least=0.1)
    return Panel(dots, across, Axis.of_names(order))


def spread_table(part: WordingPart) -> Table:
    """Return the lowest and the highest value of each main metric over the wordings."""
    columns = [Column(title, words=title in ("metric", "model")) for title in SPREAD]
    rows = []
    for spread in part.spreads:
        if spread.metric in FIRST:
            metric = metric_of(spread.metric)
            ends = [Cell(estimate, after=f"({wording})") for wording, estimate in (spread.lowest, spread.highest)]
            label = metric.label if metric else spread.metric
            rows.append(Row((label, spread.run, spread.mean, *ends, spread.deviation)))
    return Table("", columns, rows)


def component_table(part: WordingPart) -> Table:
    """Return each component's share of the variance, with its interval."""
    names = list(dict.fromkeys(row.name for divided in part.worded.divided for row in divided.rows))
    columns = [Column("share of the variance", words=True), Column("model", words=True)]
    rows = []
    for divided in part.worded.divided:
        shares = {row.name: row.share for row in divided.rows}
        rows.append(Row((divided.quantity, divided.run, *(shares.get(name) for name in names))))
    return Table("", [*columns, *(Column(name, form=".1%") for name in names)], rows)


def drawn_section(runs: Sequence[Run], temperatures: Sequence[float], *, draws: int, seed: int) -> Section:
    """Return what is expected of drawn answers at each temperature, and a sentence for each type of sentences."""
    rows: list[Row] = []
    findings: list[Finding] = []
    for part in (part for run in runs for part in run.parts):
        drawn = list(drawn_answers(part.outcomes, temperatures, draws=draws, seed=seed))
        for kind in dict.fromkeys(row.kind for row in drawn):
            several = [row for row in drawn if row.kind == kind]
            rows += [_drawn_row(part, row) for row in several]
            findings.append(drawn_answer(part, several))
    columns = [Column(title, words=True) for title in ("run", "data", "temperature")]
    numbers = ("n", "accuracy", "eo_sum", "answers changed", "UCerF", "UCerF, signed", "eo_sum of one draw")
    return Section("", [Table("", [*columns, *map(Column, numbers)], rows), *findings])


def _drawn_row(part: Part, drawn: Drawn) -> Row:
    heat = f"{drawn.temperature:g}" if drawn.temperature else "most probable"
    expected = [drawn.accuracy, drawn.odds, drawn.flips, drawn.ucerf, drawn.ucerf_signed]
    mean, deviation = drawn.one_odds
    single = Cell(mean, after=f"± {deviation:.3f}") if mean == mean else None
    numbers = [value if value == value else None for value in expected]
    return Row((part.run.name, part.title(drawn.kind), heat, drawn.n, *numbers, single))


def drawn_answer(part: Part, several: Sequence[Drawn]) -> Finding:
    """Return what the temperature changes, in one sentence: expectations first, then the noise of a single draw."""
    coldest, hottest = (end(several[1:], key=lambda row: row.temperature) for end in (min, max))
    names = {"odds": "eo_sum", "flips": "the share of answers that the group word changes", "ucerf": "UCerF"}
    if not part.outcomes.answerable[part.outcomes.group("type") == hottest.kind].any():
        names["ucerf_signed"] = "UCerF, signed"
    moves = [
        f"{name} from {first:.3f} to {last:.3f}"
        for field, name in names.items()
        if (first := getattr(coldest, field)) == first and (last := getattr(hottest, field)) == last
    ]
    heats = f"From temperature {coldest.temperature:g} to {hottest.temperature:g}"
    moved = ", ".join(moves).replace(" from ", " goes from ", 1)
    text = f"{part.run.name}, {part.title(hottest.kind)}: {heats}, over all draws, {moved}."
    mean, deviation = hottest.one_odds
    if mean == mean:
        text += (
            f" A single draw at {hottest.temperature:g} has an eo_sum of {mean:.3f} ± {deviation:.3f}:"
            f" what is above {hottest.odds:.3f} is noise."
        )
    return Finding(text, topic="temperature", kind=hottest.kind)
