"""What the tests of a comparison show: a sentence for each pair of runs, every difference, orders and overlaps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ...comparing.comparison import TESTED, Comparison, Tested
from ...comparing.datasets import OPPOSITE, SAME, UNSETTLED, Moved, Order, orders
from ...metrics.naming import label_of, spoken
from ...records import grouped, listed, parse_group
from ...records.showing import Axis, Cell, Chart, Column, Dot, Finding, Key, Panel, Row, Rule, Section, Table
from ...runs.measurements import kind_title
from ...runs.run import Part
from ...stats.paired import DETECTED
from ...verdict.summary import part_summary
from ...verdict.validity import cautions
from ...verdict.words import words_of
from ..ordering import RATES
from .order import headline_place, ordered

NAMED = 3
SHOWN_PAIRS = 8
"""Pairs of runs in one chart of differences: there are as many tones."""

ORDER_WORDS = {
    SAME: "the two runs are in the same order",
    OPPOSITE: "the two runs are in the opposite order",
    UNSETTLED: "the order is not settled, because a difference is not detected on both",
}


def _pair_and_data(test: Tested) -> tuple[str, str]:
    return test.row.model, test.data


def findings(comparison: Comparison) -> Section | None:
    """Return what the tests show, a sentence for each pair of runs, and why numbers should be doubted."""
    parts = _compared_parts(comparison)
    pairs: dict[str, list[Finding]] = {}
    for (runs, data), tests in grouped(comparison.tests, _pair_and_data).items():
        pairs.setdefault(runs, []).append(pair_finding(tests, _word(comparison, tests), f"{data}: "))
    intro = (
        "The sentences name differences with a p-value below 0.05 after correction for all comparisons on this page,"
        " and with an interval that does not include 0. If no difference is detected, the models may still differ by"
        " less than these data can show."
    )
    verdicts = list(verdict_lines(parts))
    shown: list[Finding | Chart | Section] = [
        *blind(comparison),
        *(line for line in verdicts if line.state == "invalid"),
    ]
    shown += [answer(comparison), *ordered(comparison), *cautions(parts, "doubt")]
    sentences = [Section(runs.replace(" − ", " and "), several) for runs, several in pairs.items()]
    if len(sentences) > 1:
        sentences = [Section(f"Each of the {len(sentences)} pairs of runs, in words", sentences, folded=True)]
    shown += [*sentences, Section("The verdict of each run", [line for line in verdicts if line.state != "invalid"])]
    return Section("What was found", shown, "verdicts", "Findings", intro) if shown else None


def _compared_parts(comparison: Comparison) -> list[Part]:
    compared = {(match.dataset, match.task) for match in comparison.matches}
    return [part for run in comparison.runs for part in run.parts if (part.dataset, part.task) in compared]


def verdict_lines(parts: Iterable[Part]) -> Iterator[Finding]:
    """Yield the verdict of every run on what is compared: one that is not usable makes its differences meaningless."""
    for part in parts:
        line = part_summary(part).verdict.line
        yield replace(line, text=f"{part.run.name} on {part}. {line.text}")


def summary(comparison: Comparison) -> Section:
    """Return what the tests show, run against run: sentences, and the differences that are detected or asked for."""
    asked = tuple(comparison.choices.metrics) != TESTED
    shown: list[Section | Finding] = [*blind(comparison), *verdict_lines(_compared_parts(comparison))]
    for (runs, data), tests in grouped(comparison.tests, _pair_and_data).items():
        tabled = [test for test in tests if asked or test.detected]
        tables = [difference_table({"": tabled}).picked((0, 1, 3))] if tabled else []
        shown.append(Section(f"{runs} on {data}", [pair_finding(tests, _word(comparison, tests)), *tables]))
    return Section("", [*shown, *order_findings(orders(comparison)), answer(comparison)])


def _word(comparison: Comparison, tests: Sequence[Tested]) -> str:
    """Return what changes within a set of the dataset and task that these tests are about."""
    about = (tests[0].row.dataset, tests[0].row.task)
    return words_of([part for part in comparison.runs[0].parts if (part.dataset, part.task) == about]).group_word


def blind(comparison: Comparison) -> Iterator[Finding]:
    """Yield that no test could have detected a difference, where that is so."""
    if comparison.tests and comparison.least_p > DETECTED:
        text = (
            f"This comparison cannot detect any difference: with {len(comparison.tests):,} tests no corrected p can be"
            f" below {min(1.0, comparison.least_p):.2g}. Compare more sentences, fewer metrics (--metric) or fewer"
            " runs, or leave --permutations to the number of tests."
        )
        yield Finding(text, state="doubt")


def answer(comparison: Comparison) -> Finding:
    """Return whether the runs differ, in one sentence: how many differences hold, and the largest or the reach."""
    tests = comparison.tests
    held = [test for test in tests if test.detected]
    which = f"{len(held)} of {len(tests)} differences hold after correction ({comparison.choices.correction})"
    if held:
        first = min(held, key=lambda test: (headline_place(test), -abs(test.row.value)))
        where = f"{spoken(first.row.metric)} of {first.row.model} on {first.data}"
        size = f"{first.row:+} (n = {first.row.n:,})"
        return Finding(f"The runs differ: {which}; for instance {where}: {size}.", [first.row], "answer")
    known = [test for test in tests if test.difference.has_interval]
    if not known:
        return Finding(f"Whether the runs differ is not known: {which}.", topic="answer")
    places = sorted(set(map(headline_place, known)))
    of_places = ([test for test in known if headline_place(test) == place] for place in places[:NAMED])
    widest = [max(several, key=_reach) for several in of_places]
    sizes = [f"{_reach(test):.3f} in {spoken(test.row.metric)} (n = {test.difference.n:,})" for test in widest]
    missed = f"A difference of up to {listed(sizes, 'or')} could have been missed."
    return Finding(f"No difference is detected: {which}. {missed}", [test.row for test in widest], "answer")


def _reach(test: Tested) -> float:
    """Return the largest difference that the interval allows, either way."""
    return max(abs(end) for end in test.difference.ends)


def pair_finding(tests: Sequence[Tested], word: str, place: str = "") -> Finding:
    """Return the headline metrics of two runs in one sentence about the one that is better in the first that differs.

    `word` is what changes within a set; `place` comes before the sentence.
    """
    ranked = sorted(tests, key=headline_place)
    # UCerF's signed variant tells more than UCerF where both are there; the sort is stable.
    signed = any(test.row.metric == "ucerf_signed" for test in tests)
    chosen = [test for test in ranked if not (signed and test.row.metric == "ucerf")][:NAMED]
    apart = [test for test in chosen if test.detected]
    if not apart:
        names = [spoken(test.row.metric) for test in chosen]
        sentence = f"No difference is detected in {listed(names)}."
    else:
        lead = apart[0]
        subject = lead.better or (lead.first if lead.row.value > 0 else lead.second)
        other = lead.second if subject == lead.first else lead.first
        clauses = [_clause(subject, test, word, "" if at else f" than {other}") for at, test in enumerate(apart)]
        alike = [f"{spoken(test.row.metric)} is not detectably different" for test in chosen if not test.detected]
        sentence = "; ".join([f"{subject} {'; it '.join(clauses)}", *alike]) + "."
    further = _further([test for test in tests if test not in chosen])
    return Finding(f"{place}{sentence} {further}".strip(), [test.row for test in chosen], "difference")


def _clause(subject: str, test: Tested, word: str, than: str) -> str:
    """Return one difference in words, with this subject; `than` names the other run, or is empty."""
    metric, value = test.row.metric, test.row.value if test.first == subject else -test.row.value
    more, size = value > 0, abs(value)
    points = f"{100 * size:.0f} points" if round(100 * size) != 1 else "1 point"
    if metric == "flip_rate":
        return f"changes its answer with the {word} {points} {'more' if more else 'less'} often{than}"
    if metric == "accuracy":
        return f"is right {points} {'more' if more else 'less'} often{than}"
    amount = points if metric in RATES else f"{size:.3f}"
    note = "" if not test.better else " (better)" if test.better == subject else " (worse)"
    return f"has a {'higher' if more else 'lower'} {spoken(test.row.metric)}{than}, by {amount}{note}"


def _further(tests: Sequence[Tested]) -> str:
    """Return how many of the metrics that are not named differ, "" without any."""
    if not tests:
        return ""
    count = sum(test.detected for test in tests)
    among = f"Of {len(tests)} further metrics" if len(tests) > 1 else "Of one further metric"
    return f"{among}, {count or 'none'} differ{'s' if count == 1 else ''}."


def differences(comparison: Comparison) -> Section:
    """Return every difference: a chart, a matrix of all pairs where there are several, and a table with p-values."""
    choices, count, trial = comparison.choices, len(comparison.tests), comparison.trial
    method = "Holm’s method" if choices.correction == "holm" else "the method of Benjamini and Hochberg"
    more = f" ({trial.most:,} where it is small, for the number of tests)" if trial.most > trial.first else ""
    intro = (
        "Both models were asked the same sentences. The difference is the first run’s value minus the second’s; its"
        f" interval comes from resampling the same sets for both. p is the share of {trial.first:,} random"
        f" exchanges{more} of the two models’ answers, set by set, that give a difference at least as large."
        f" The corrected p is corrected for the {count} comparisons on this page by {method}. Bold: the"
        " corrected p is below 0.05 and the interval does not include 0."
    )
    shown: list[Finding | Chart | Table | Section] = []
    shown += difference_charts(comparison)
    by_pair = grouped(comparison.tests, lambda test: f"{test.row.model}, {test.data}")
    corrected = f"Paired differences; p-values corrected by {choices.correction} over {count} comparisons"
    table = difference_table(by_pair, corrected, "differences")
    if len(comparison.runs) > 2:
        shown += [
            Section(f"All pairs of runs on {data}", several, folded=True) for data, several in matrices(comparison)
        ]
        shown.append(Section("Every difference with its interval and p-value", [table], folded=True))
    else:
        shown.append(table)
    return Section("Paired differences", shown, "differences", "Differences", intro)


def difference_table(groups: dict[str, list[Tested]], title: str = "", topic: str = "") -> Table:
    """Return differences with their p-values, under a heading for each group that has one."""
    rows = []
    for heading, tests in groups.items():
        rows += [Row((heading,), heading=True)] if heading else []
        for test in tests:
            p = test.difference.p, Cell(test.difference.p_corrected, strong=test.detected)
            rows.append(Row((test.row.metric, _cell(test), *p, test.better or None), better=test.row.better))
    columns = (Column("metric", words=True, code=True), Column("difference", form="+.3f"), Column("p", digits=4))
    return Table(title, (*columns, Column("p, corrected", digits=4), Column("better", words=True)), rows, topic)


def _cell(test: Tested) -> Cell:
    return Cell(test.row, strong=test.detected)


def difference_charts(comparison: Comparison) -> Iterator[Chart]:
    """Yield the differences of each dataset, task and group with intervals, a tone for each pair of runs."""
    pairs = list(dict.fromkeys(test.row.model for test in comparison.tests))
    if len(pairs) > SHOWN_PAIRS:
        return
    for data, tests in grouped(comparison.tests, lambda test: test.data).items():
        metrics = list(dict.fromkeys(test.row.metric for test in tests))
        marks: list[Rule | Dot] = [Rule()]
        for test in tests:
            number = pairs.index(test.row.model)
            place = metrics.index(test.row.metric) + 0.8 * ((number + 0.5) / len(pairs) - 0.5)
            label = f"{label_of(test.row.metric)}, {test.row.model}"
            marks.append(Dot(test.difference, place, number, label, hollow=not test.detected, small=True))
        across = Axis.over([0.0, *(test.difference for test in tests)], "difference (hollow: not detected)")
        names = [label_of(metric) for metric in metrics]
        panel = Panel(marks, across, Axis.of_names(names), spacing=max(1.0, 0.45 * len(pairs)))
        about = {"dataset": tests[0].row.dataset, "task": tests[0].row.task, **parse_group(tests[0].row.group)}
        keys = Key.each(pairs)
        yield Chart(
            data, [panel], "differences", about, keys, data=difference_table(grouped(tests, lambda t: t.row.model))
        )


def matrices(comparison: Comparison) -> Iterator[tuple[str, list[Section]]]:
    """Yield the differences of all pairs of runs, row minus column, for each of the data; a folded one a metric."""
    names = comparison.names
    columns = [Column("run", words=True), *(Column(name, form="+.3f") for name in names[:-1])]
    notes = ["Row minus column. ▲: the row’s model is better, ▼: the column’s. Bold: detected."]
    for data, tests in grouped(comparison.tests, lambda test: test.data).items():
        sections = []
        for metric, several in grouped(tests, lambda test: test.row.metric).items():
            known = {(test.first, test.second): test for test in several}
            # Below the diagonal alone: above it would be the same with the other sign.
            cells = [
                [_entry(known, name, other) if at > below else "" for below, other in enumerate(names[:-1])]
                for at, name in enumerate(names)
            ]
            rows = [Row((name, *row)) for name, row in zip(names[1:], cells[1:], strict=True)]
            sections.append(Section(label_of(metric), [Table(metric, columns, rows, notes=notes)], folded=True))
        yield data, sections


def _entry(known: dict[tuple[str, str], Tested], row: str, column: str) -> Cell | str:
    test = known.get((row, column)) or known.get((column, row))
    if test is None:
        return ""
    value = test.row.value if test.first == row else -test.row.value
    return Cell(value, strong=test.detected, after="" if not test.better else "▲" if test.better == row else "▼")


def order_section(comparison: Comparison) -> Section | None:
    """Return whether two datasets order the runs alike; None for runs on one dataset."""
    several = orders(comparison)
    intro = (
        "The same runs on other data: does a metric put them in the same order? An order counts only if the difference"
        " is detected on both datasets (corrected p below 0.05, and an interval without 0). Otherwise it is not"
        " settled."
    )
    rows = []
    for where, alike in grouped(several, _where).items():
        rows.append(Row((where,), heading=True))
        for order in alike:
            tests = (order.first, order.second)
            numbers = [cell for test in tests for cell in (_cell(test), test.difference.p_corrected)]
            rows.append(Row((order.first.row.model, *numbers, order.verdict)))
    columns = [Column("runs", words=True)]
    for place in ("the first", "the second"):
        columns += [Column(f"difference on {place}", form="+.3f"), Column("p, corrected", digits=4)]
    table = Table("Order of the runs by dataset", [*columns, Column("order", words=True)], rows, "orders")
    title = "Do the datasets give the same order?"
    return Section(title, [*order_findings(several), table], "orders", "Order", intro) if several else None


def _where(order: Order) -> str:
    return f"{label_of(order.first.row.metric)} on {order.first.data} and on {order.second.data}"


def order_findings(several: Sequence[Order]) -> Iterator[Finding]:
    """Yield for each metric and two datasets how many pairs of runs have the same order."""
    for where, alike in grouped(several, _where).items():
        verdicts = [order.verdict for order in alike]
        text = f"{ORDER_WORDS[verdicts[0]]}."
        if len(verdicts) > 1:
            text = (
                f"of {len(verdicts)} pairs of runs, {verdicts.count(SAME)} in the same order,"
                f" {verdicts.count(OPPOSITE)} in the opposite order, {verdicts.count(UNSETTLED)} not settled (a"
                " difference must be detected on both)."
            )
        rests_on = [test.row for order in alike for test in (order.first, order.second)]
        yield Finding(f"{where}: {text}", rests_on, "order")


def overlap(comparison: Comparison) -> Section | None:
    """Return whether two models are wrong in the same sentences, and change their answer in the same sets."""
    word = words_of(comparison.runs[0].parts).group_word
    intro = (
        f"Are two models wrong in the same sentences, and does the {word} change their answer in the same sets? “By"
        " chance” is the number of sets that would change in both if the models were unrelated. The overlap is the"
        " share of sets that change in both among those that change in either."
    )
    titles = ["both right", "only the first", "only the second", "neither", "changed: first", "second"]
    titles += ["both (by chance)", "of sets", "overlap"]
    rows = []
    for runs, several in grouped(comparison.overlaps, lambda row: f"{row.first} and {row.second}").items():
        rows.append(Row((runs,), heading=True))
        for row in several:
            right = row.right if sum(row.right) else (None,) * 4
            both = Cell(row.flips[2], after=f"({row.expected:.1f})")
            rows.append(Row((row.data, *right, *row.flips[:2], both, row.sets, row.jaccard)))
    columns = [Column("data", words=True), *(Column(title, digits=2) for title in titles)]
    table = Table("Overlap of the items that differ", columns, rows, "overlap")
    return Section("Overlap of mistakes and changes", [table], "overlap", "Overlap", intro) if rows else None


def between_datasets(moved: Sequence[Moved]) -> Section:
    """Return how the metrics of runs differ between two datasets, those that hold as sentences."""
    first, second = moved[0].test.first, moved[0].test.second
    intro = (
        "The same model on different sentences. The samples are independent, so the interval of a difference comes"
        " from the two intervals (Zou and Donner 2008). Bold: the corrected p is below 0.05 and the interval does not"
        " include 0. A rank is the run’s place among the runs of this page, on the first dataset and on the second."
    )
    rows = []
    for (run, task, kind), several in grouped(moved, lambda m: (m.test.row.model, m.test.row.task, m.kind)).items():
        rows.append(Row((f"{run}, {task}, {kind_title(kind)}",), heading=True))
        for move in several:
            numbers = (*move.values, _cell(move.test), move.test.difference.p_corrected)
            rows.append(Row((move.test.row.metric, *numbers, move.shift), better=move.test.row.better))
    columns = [Column("metric", words=True, code=True), Column(first), Column(second)]
    columns += [Column("difference", form="+.3f"), Column("p, corrected", digits=4), Column("rank", words=True)]
    table = Table("Differences between the datasets", columns, rows)
    return Section("Differences between the datasets", [*moves(moved), table], "differences", intro=intro)


def moves(moved: Sequence[Moved]) -> Iterator[Finding]:
    """Yield a sentence for each difference that holds, then how many do."""
    held = [move for move in moved if move.test.detected]
    for move in held:
        row, (first, second) = move.test.row, move.values
        text = (
            f"{row.model}, {row.task}, {kind_title(move.kind)}: {row.metric} is {first.value:.3f} on {first.dataset}"
            f" (n = {first.n:,}) and {second.value:.3f} on {second.dataset} (n = {second.n:,}), a difference of"
            f" {row:+}."
        )
        yield Finding(text, [first, second], "difference", move.kind)
    yield Finding(f"{len(held)} of {len(moved)} differences between the datasets hold after correction.")
