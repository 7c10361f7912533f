"""Does the choice of uncertainty estimator, or of the wording, change what runs say? Of a page, and of studies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ..comparing.estimators import EstimatorStudies, PartStudy
from ..measuring.estimators import CHANGED, OPEN, SAME, Agreement
from ..measuring.human_labels import LabelStudy
from ..metrics import METRICS
from ..metrics.naming import suffix
from ..records import Estimate, Measurement, RunKey
from ..records.showing import Axis, Cell, Chart, Column, Content, Dot, Finding, Key, Line, Panel, Row, Section, Table
from ..runs.run import Part, Run
from ..stats.conformal import LEVEL

SHOWN = ("ucerf", "ucerf_signed")


def section(run: Run) -> Section | None:
    """Return UCerF of a run by estimator and by wording; None where it has one of each."""
    intro = (
        "UCerF needs a measure of certainty and a wording of the question. Where values under two of them differ by"
        " more than their intervals, the choice matters: name it with every value. `equipoise study estimators RUN`"
        " says more."
    )
    charts = [chart for part in run.parts for chart in (*_by_estimator(part), *_by_wording(part))]
    return Section("Estimators and wordings", charts, "estimators", "Estimators", intro) if charts else None


def _by_estimator(part: Part) -> Iterator[Chart]:
    chosen = part.run.manifest.settings.get("estimators", ())
    for kind in part.measured.kinds:
        for metric in SHOWN:
            rows = [(name, part.measured.get(metric + suffix(name), type=kind)) for name in chosen]
            yield from _choices(part, kind, metric, "estimator", rows)


def _by_wording(part: Part) -> Iterator[Chart]:
    for kind in part.measured.kinds:
        labels = part.measured.values_of("wording", kind)
        for metric in SHOWN:
            rows = [(wording, part.measured.at(metric, label)) for wording, label in labels.items()]
            rows.sort(key=lambda row: row[1].value if row[1] else 0.0)
            yield from _choices(part, kind, metric, "wording", rows)


def _choices(
    part: Part, kind: str, metric: str, of: str, rows: Sequence[tuple[str, Measurement | None]]
) -> Iterator[Chart]:
    """Yield a row for each estimator or wording that was measured: its value as a dot, its interval as a line."""
    known = [(name, row) for name, row in rows if row is not None]
    if len(known) > 1:
        dots = [Dot(row.estimate, float(place), 0, name) for place, (name, row) in enumerate(known)]
        label = METRICS[metric].label
        across = Axis.over([dot.x for dot in dots], label, within=(0.0, 1.0), least=0.02)
        panel = Panel(dots, across, Axis.of_names([name for name, _ in known]))
        caption = f"By {of}; lines are intervals. The scale does not begin at 0."
        data = Table("", (Column(of, words=True), Column("value")), [Row(row) for row in known])
        about = {"metric": metric, **part.about(kind)}
        yield Chart(f"{label}, {part.title(kind)}", [panel], f"{of}s", about, caption=caption, data=data)


def sections(studies: EstimatorStudies) -> Iterator[Section]:
    """Yield what runs say about the estimators: by sets, by people's labels, and of conformal sets."""
    yield from (study_section(part) for part in studies.parts)
    yield from (label_section(key, study) for key, study in studies.labelled)
    if studies.covered:
        yield Section("", [covered(key, estimate) for key, estimate in studies.covered])


def answers(studies: EstimatorStudies) -> list[str]:
    """Return the answer of each study in a sentence."""
    findings = [*map(answer, studies.parts), *(label_answer(key, study) for key, study in studies.labelled)]
    return list(map(str, findings))


def study_section(part: PartStudy) -> Section:
    """Return the models sorted by each estimator, how far every two estimators agree, and the answer at the end."""
    findings = [*changed_pairs(part), sides(part)]
    return Section(part.title, [*findings, sorted_models(part), agreement_table(part), lines(part), answer(part)])


def answer(part: PartStudy) -> Finding:
    """Return whether the estimators agree about the order of the models; of the sets, where there is one model."""
    orders = part.study.orders
    text = (
        _about_two(part) if len(orders) == 1 else _about_models(part) if orders else f"the {_lowest_tau(part, 'sets')}"
    )
    return Finding(f"{part.title}: {text}", topic="estimators", kind=part.kind)


def _about_two(part: PartStudy) -> str:
    (order,) = part.study.orders
    parts = [
        f"{words} under {_these(part, names)}"
        for words, names in (
            (f"{order.first} is higher than {order.second}", order.for_first),
            (f"{order.second} is higher than {order.first}", order.for_second),
            ("no order is settled", order.open),
        )
        if names
    ]
    together = f"{_level(part)} for all {part.study.values.axis}s together, {order.sets:,} sets"
    return f"{'; '.join(parts)} ({together})."


def _these(part: PartStudy, names: Sequence[str]) -> str:
    every = len(names) == len(part.study.values.tested)
    return f"all {len(names)} {_distinct(part)}" if every else ", ".join(names)


def _distinct(part: PartStudy) -> str:
    axis = part.study.values.axis
    return f"distinct {axis}s" if axis == "estimator" else f"{axis}s"


def _level(part: PartStudy) -> str:
    return f"{part.study.standings[0].ucerf.level:.0%}"


def _about_models(part: PartStudy) -> str:
    values = part.study.values
    axis, pairs = values.axis, len(part.study.orders)
    counts = Counter(order.verdict for order in part.study.orders)
    return (
        f"of {pairs} pairs of models, all {len(values.tested)} {_distinct(part)}"
        f" settle the same order for {counts[SAME]}, two {axis}s settle opposite orders for"
        f" {counts[CHANGED]}, and at least one {axis} settles no order for {counts[OPEN]} ({_level(part)} for"
        f" all pairs and {axis}s together, {values.sets:,} sets). The {_lowest_tau(part, 'models')}"
    )


def _lowest_tau(part: PartStudy, over: str) -> str:
    lowest = min((row for row in part.study.agreements if row.over == over), key=lambda row: row.kendall.value)
    between = f"between two {part.study.values.axis}s over {lowest.kendall.n:,} {over}"
    return f"lowest Kendall's tau {between} is {lowest.kendall:.2f} ({lowest.first} and {lowest.second})."


def changed_pairs(part: PartStudy) -> Iterator[Finding]:
    """Yield a sentence for each pair of models whose order depends on the estimator."""
    orders = part.study.orders
    for order in orders:
        if order.verdict == CHANGED and len(orders) > 1:  # the answer about a single pair says it already
            text = (
                f"{order.first} is higher than {order.second} under {', '.join(order.for_first)}, and lower under"
                f" {', '.join(order.for_second)}."
            )
            yield Finding(text, topic="estimators", kind=part.kind)


def sides(part: PartStudy) -> Finding:
    """Return how many sets change sides with the estimator."""
    study = part.study
    text = (
        "Estimators disagree about which quarter of the sets is treated least alike:"
        f" {_range([len(ids) for ids in study.crossing])} of {study.values.sets:,} sets of a model are in it by one"
        " estimator and not by another."
    )
    if study.orders:
        several = _range([len(order.sides) for order in study.orders])
        text += f" Which of two models treats a set more alike changes in {several} sets."
    return Finding(text, topic="estimators", kind=part.kind)


def _range(counts: Sequence[int]) -> str:
    return f"{counts[0]:,}" if min(counts) == max(counts) else f"{min(counts):,} to {max(counts):,}"


def sorted_models(part: PartStudy) -> Table:
    """Return a row for each estimator with the models sorted by UCerF, and one with their flip rates (Table 9)."""
    values = part.study.values
    several = len(values.runs) > 1
    rows = []
    for estimator in values.estimators:
        cells = [
            Cell(row.ucerf, after=f"{row.run}, rank {row.rank}" if several else row.run)
            for row in part.sorted(estimator)
        ]
        rows.append(Row((estimator, *cells)))
    flips = sorted(zip(values.runs, part.study.flips, strict=True), key=lambda pair: pair[1].value)
    rows.append(Row(("flip rate (any)", *(Cell(estimate, after=run) for run, estimate in flips))))
    note = "A rank is by one estimator alone. The orders in the sentences hold for all at once, so fewer are settled."
    if values.calibrated:
        note += f" The threshold of {', '.join(values.calibrated)} is from each run's labels: no order is tested by it."
    columns = [Column(values.axis, words=True), *(Column(f"{place}.") for place in range(1, len(values.runs) + 1))]
    return Table("", columns, rows, notes=[note] if several else [])


def agreement_table(part: PartStudy) -> Table:
    """Return Kendall's tau of every two estimators over models, occupations and sets; the lowest of all runs."""
    overs = list(dict.fromkeys(row.over for row in part.study.agreements))
    pairs: dict[tuple[str, str], dict[str, list[Agreement]]] = {}
    for row in part.study.agreements:
        pairs.setdefault((row.first, row.second), {}).setdefault(row.over, []).append(row)
    rows = [
        Row((f"{first} – {second}", *(_lowest(by_over.get(over, [])) for over in overs)))
        for (first, second), by_over in pairs.items()
    ]
    columns = [Column(f"{part.study.values.axis}s", words=True)]
    notes = ["Where each run has a tau, the lowest is shown, with its run."] if len(part.study.values.runs) > 1 else []
    return Table("", [*columns, *(Column(f"tau over {over}", digits=2) for over in overs)], rows, notes=notes)


def _lowest(several: Sequence[Agreement]) -> Content:
    defined = [row for row in several if row.kendall.value == row.kendall.value]
    if not defined:
        return None
    lowest = min(defined, key=lambda row: row.kendall.value)
    return Cell(lowest.kendall, after=f"({lowest.run})") if len(defined) > 1 else lowest.kendall


def lines(part: PartStudy) -> Chart:
    """Return a line for each model over the estimators; lines that cross are orders that the choice changes."""
    values = part.study.values
    marks: list[Line | Dot] = []
    keys = []
    for number, run in enumerate(values.runs):
        # A little to the side of each other, so that intervals can be told apart.
        aside = 0.04 * (number - (len(values.runs) - 1) / 2)
        rows = [standing for standing in part.study.standings if standing.run == run]
        marks.append(Line([(n + aside, row.ucerf.value) for n, row in enumerate(rows)], number, dashed=number % 2 == 1))
        marks += [Dot(n + aside, row.ucerf, number, f"{run}, {row.estimator}") for n, row in enumerate(rows)]
        keys.append(Key(run, number, dashed=number % 2 == 1))
    up = Axis.over([mark.y for mark in marks if isinstance(mark, Dot)], part.metric.label)
    panel = Panel(marks, Axis.of_names(values.estimators), up)
    about = {"dataset": part.dataset, "task": part.task, "type": part.kind or "all"}
    return Chart(f"{part.title}, {values.sets:,} sets", [panel], part.metric.name, about, keys)


def label_section(key: RunKey, study: LabelStudy) -> Section:
    """Return which estimator agrees best with people, and each one's AUROC and calibration."""
    titles = ("AUROC", "ahead of the first", "calibration error", "overconfidence")
    rows = [Row((row.estimator, row.auroc, row.ahead, row.calibration_error, row.overconfidence)) for row in study.rows]
    table = Table("", [Column("estimator", words=True), *map(Column, titles)], rows)
    return Section(_people(key), [table, label_answer(key, study)])


def _people(key: RunKey) -> str:
    return f"{key.model} and people on {key}"


def label_answer(key: RunKey, study: LabelStudy) -> Finding:
    """Return whether any estimator tells better than the first one where the model agrees with people."""
    first = study.rows[0]
    best = max(study.rows, key=lambda row: row.auroc.value)
    if study.ahead:
        names = ", ".join(row.estimator for row in study.ahead)
        more = f"{names} tell it better, {best.estimator} best with {best.auroc}"
    else:
        behind = ", ".join(row.estimator for row in study.behind)
        more = "no estimator is shown to tell it better" + (f"; {behind} tell it less well" if behind else "")
    text = (
        f"{_people(key)}: they agree in {study.agreement} of {study.agreement.n:,} items. Certainty by"
        f" {first.estimator} tells where with an AUROC of {first.auroc}; {more}."
    )
    return Finding(text, topic="estimators")


def covered(key: RunKey, estimate: Estimate) -> Finding:
    """Return how often conformal sets hold the right answer."""
    text = (
        f"{key.model} on {key}: conformal sets hold the right answer in {estimate} of {estimate.n:,} items; they claim"
        f" at least {LEVEL:.0%}."
    )
    return Finding(text, topic="estimators")
