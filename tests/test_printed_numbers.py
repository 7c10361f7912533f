"""Every number that is shown of a run is that of a row of `measurements.csv`, found by metric and group.

Tables and charts hold the estimates of the rows themselves, so they are found by identity, not by their digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from equipoise import audit, compare, summary
from equipoise.records import Estimate, Measurement
from equipoise.records.showing import Cell, Chart, Content, Dot, Finding, Section, Table
from equipoise.report import COMPARED, IN_TERMINAL, run_text, sections
from equipoise.runs.run import Part, Run
from equipoise.runs.tables import main_estimator
from equipoise.scoring.planted import PlantedEngine
from equipoise.topics.comparison import differences
from equipoise.topics.leaderboard.boards import read_submissions, run_folders
from equipoise.topics.leaderboard.pages import Site, board_order, pages
from equipoise.topics.scale import histograms

QUICK: dict[str, Any] = {"limit": 70, "resamples": 20, "by": ["stereotype"]}
NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")
FIXED = ("UCerF as published", "0: balanced", "-1: certain and wrong", "1: certain and right", "0 to 1", "at least 5%")
FIXED += (
    "p < 0.05 after",
    "smallest p",
    "(type 1)",
    "(type 2)",
    "1: same answer",
    "1: equally certain",
    "chance (50%)",
    "chance (33%)",
    "At least 30",
)

TABLE = "set,text,candidates,gold,group\n" + "".join(
    f"s{number},Form {number} of the {group} person came.,yes|no,{'yes' if number % 2 else 'no'},{group}\n"
    for number in range(40)
    for group in ("old", "young")
)

RUNS: dict[str, tuple[dict[str, float], dict[str, Any]]] = {
    "biased": ({"strength": 1, "bias": 1, "noise": 1}, {}),
    "alike": ({"strength": 3, "bias": 0}, {}),
    "leaning guesser": ({"strength": 0, "bias": 0.8, "noise": 1}, {}),
    "not understood": ({"strength": 1, "mass": 0.01}, {}),
    "options in several orders": ({"strength": 1, "bias": 1, "noise": 1}, {"task": "mcq", "orders": 2}),
    "another estimator": ({"strength": 1, "bias": 1, "noise": 1}, {"estimators": ["renyi"]}),
    "three pronouns": ({"strength": 1, "bias": 1, "noise": 1}, {"pronouns": ["he", "she", "they"]}),
    "own groups": ({"strength": 1, "bias": 0, "noise": 1}, {"data": "mine.csv", "questions": ["{text} So"], "by": []}),
    "identities": (
        {"strength": 1, "bias": 1, "noise": 1},
        {"data": "winoidentity", "base": "builtin", "attributes": ["age"], "augment": ["R"], "by": []},
    ),
}
"""Kinds of runs: the engine's numbers, and how it is asked."""


def printed(row: Measurement) -> Iterator[str]:
    """Yield every way in which a sentence may write the numbers of a row."""
    estimate = row.estimate
    for number in (estimate.value, estimate.low, estimate.high):
        for end in (number, -number, 1 - number):
            yield from (
                f"{end:.3f}",
                f"{end:+.3f}",
                f"{100 * end:.1f}",
                f"{100 * end:.2f}",
                f"{end:.2f}",
                f"{end:.0%}"[:-1],
            )
    yield from (f"{estimate.n:,}", f"{round(estimate.value * estimate.n):,}")
    yield f"{estimate.p_corrected:.3f}"
    yield f"{max(abs(estimate.low), abs(estimate.high)):.3f}"


def without_fixed(text: str) -> str:
    for words in FIXED:
        text = text.replace(words, "")
    return text


def content_of(cell: Content) -> Content:
    return content_of(cell.content) if isinstance(cell, Cell) else cell


def shown_estimates(section: Section) -> Iterator[Estimate]:
    """Yield every value with an interval in the tables and charts of a section."""
    for table in (*section.every(Table), *(chart.table() for chart in section.every(Chart))):
        for row in table.rows:
            for cell in map(content_of, row.cells):
                if isinstance(cell, Estimate | Measurement):
                    yield cell if isinstance(cell, Estimate) else cell.estimate
    for chart in section.every(Chart):
        for panel in chart.panels:
            for dot in panel.marks_of(Dot):
                yield from (number for number in (dot.x, dot.y) if isinstance(number, Estimate))


def lone_numbers(section: Section) -> Iterator[tuple[float, set[float]]]:
    """Yield every plain number of a table, with the p-values and values of the measurements in its row."""
    for table in section.every(Table):
        for row in table.rows:
            cells = list(map(content_of, row.cells))
            rows = [cell.estimate if isinstance(cell, Measurement) else cell for cell in cells]
            known = {n for e in rows if isinstance(e, Estimate) for n in (e.value, e.p, e.p_corrected)}
            yield from ((cell, known) for cell in cells if isinstance(cell, float) and cell == cell)


def without_fixed_counts(text: str) -> str:
    return re.sub(
        r"\d+ of \d+ (pairs of groups|markers)|of \d+ markers?|all \d+ markers?|chance (is )?\d+(\.\d)?%",
        "",
        without_fixed(text),
    )


def told(finding: Finding) -> list[str]:
    """Return the numbers of a sentence and its chip that are not counts of sentences or of claims."""
    texts = [without_fixed_counts(text) for text in (finding.text, finding.short)]
    return [number.lstrip("+-") for text in texts for number in NUMBER.findall(text)]


OF_SETS = "influence"
"""Values of single sets, from `pairs.parquet`: tests/topics/test_influence.py recomputes them."""

COUNTED = re.compile(
    r"\d+ (sets|more finding|other difference|faulty rows|rows that are faulty|note)|^Brackets are|undefined for"
    r"|merged with|exactly tied"
)
"""Sentences with counts of sentences, notes or claims: they are not measured."""


@pytest.fixture(params=list(RUNS))
def kind_of_run(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a run of each kind, read from its folder."""
    numbers, choices = RUNS[request.param]
    (tmp_path / "mine.csv").write_text(TABLE)
    monkeypatch.chdir(tmp_path)
    audit(PlantedEngine(**numbers), out=tmp_path / "run", **{**QUICK, **choices})
    return Run(tmp_path / "run")


def test_every_number_of_a_verdict_is_a_row(kind_of_run: Run) -> None:
    run = kind_of_run
    for part, said in zip(run.parts, summary(run).parts, strict=True):
        findings: list[Finding] = [said.verdict.line, *said.verdict.reasons, *said.verdict.findings]
        resting = [finding for finding in findings if finding.rests_on]
        assert resting, "a verdict rests on something"
        for finding in resting:
            check(finding, part, str(len(said.verdict.rests_on)))


def check(finding: Finding, part: Part, *further: str) -> None:
    rows = [part.measured.at(row.metric, row.group) for row in finding.rests_on]
    assert rows == list(finding.rests_on), "a row of measurements.csv, as it is there"
    allowed = {text.lstrip("+-") for row in finding.rests_on for text in printed(row)}
    allowed |= {str(len(finding.rests_on)), "2", *further}  # of counted rows and ways
    assert not [text for text in told(finding) if text not in allowed], (finding.text, finding.short, sorted(allowed))


def test_every_number_of_pages_and_terminals_is_a_row(kind_of_run: Run) -> None:
    run = kind_of_run
    named = {id(row.estimate): (part, row) for part in run.parts for row in part.measured}
    count = 0
    for section in (*sections(run), *sections(run, IN_TERMINAL)):
        for estimate in shown_estimates(section):
            assert id(estimate) in named, (section.title, estimate)
            part, row = named[id(estimate)]
            assert part.measured.at(row.metric, row.group) is row, "found by metric and group"
            count += 1
        if section.id != OF_SETS:
            assert not [number for number, known in lone_numbers(section) if number not in known], section.title
        for finding in section.every(Finding):
            if finding.topic != "verdict" and told(finding) and not COUNTED.search(finding.text):
                assert finding.rests_on, finding.text
                check(finding, run.parts[0])
    assert count > 20


def test_every_number_of_a_comparison_is_a_test_or_a_row(tmp_path: Path) -> None:
    for name, bias in (("one", 0.0), ("other", 2.0)):
        audit(PlantedEngine(strength=1, bias=bias, noise=1), out=tmp_path / name, **QUICK)
    compared = compare([tmp_path / "one", tmp_path / "other"], resamples=50)
    rows = [row for run in compared.runs for part in run.parts for row in part.measured]
    known = {id(row.estimate) for row in (*rows, *(test.row for test in compared.tests))}
    # Where no answer is right, the performance is 1 - certainty.
    turned = {(1 - row.value, 1 - row.high, 1 - row.low) for row in rows if row.metric == "certainty"}
    shown = [*sections(compared, COMPARED), differences.summary(compared)]
    estimates = [(section.title, estimate) for section in shown for estimate in shown_estimates(section)]
    assert len(estimates) > 20 and not [
        found for found in estimates if id(found[1]) not in known and (found[1].value, *found[1].ends) not in turned
    ]


INTERVAL = re.compile(r"[-+]?\d+\.\d+%? \[[-+]?\d+\.\d+%?, [-+]?\d+\.\d+%?\]")


def test_a_terminal_prints_no_interval_that_is_not_a_row(kind_of_run: Run) -> None:
    run = kind_of_run
    console = Console(width=400, record=True, file=StringIO())
    console.print(run_text(run, all_rows=True))
    rows = [row for part in run.parts for row in part.measured]
    ways = ("", "%", "points", "+", "+.3f", ".1%", ".2f")
    known = {re.sub(" points", "", f"{e:{way}}") for row in rows for e in (row.estimate, -row.estimate) for way in ways}
    found = INTERVAL.findall(re.sub(" points", "", console.export_text()))
    assert len(found) > 20 and not [text for text in found if text not in known]


def test_every_number_of_a_leaderboard_is_a_row_or_a_test_of_two_runs(tmp_path: Path) -> None:
    for name, bias in (("one", 0.0), ("other", 2.0)):
        audit(PlantedEngine(strength=1, bias=bias, noise=1), out=tmp_path / name, **QUICK)
    site = Site(read_submissions(run_folders([tmp_path])))
    named = {id(row.estimate): (entry, row) for entry in site.submissions.entries for row in entry.measured}
    orders = [order for board in site.boards for m in site.metrics if (order := board_order(board, m.name))]
    tested = [e for order in orders for e in order.differences.values()]
    ways = [f"{e:{way}}" for difference in tested for e in (difference, -difference) for way in ("", "points")]
    known = {text.replace(" points", "").replace("-0.0 ", "0.0 ") for text in ways}
    count = 0
    for page in pages(site):
        for section in page.sections:
            for estimate in shown_estimates(section):
                entry, row = named[id(estimate)]
                assert entry.measured.at(row.metric, row.group) is row, "found by metric and group"
                count += 1
            assert not [number for number, near in lone_numbers(section) if number not in near], section.title
            for finding in section.every(Finding):
                if finding.topic == "order":
                    told_intervals = INTERVAL.findall(finding.text.replace(" points", ""))
                    assert told_intervals and set(told_intervals) <= known, finding.text
    assert count > 20 and tested


def test_every_count_of_a_histogram_is_that_of_the_items(kind_of_run: Run) -> None:
    run = kind_of_run
    for part in run.parts:
        for chart in histograms(part):
            assert chart.data is not None
            quantity, kind = chart.about["quantity"], chart.about.get("type", "")
            counts = sum(int(str(cell)) for row in chart.data.rows for cell in row.cells[1:])
            if quantity != "U":
                assert 0 < counts <= len(part.of_kind(part.items, kind))
                continue
            pairs = part.of_kind(part.pairs, kind).dropna(subset=main_estimator(part.pairs, "u"))
            values = pairs[main_estimator(part.pairs, "u")]
            row = part.measured.get(part.measured.own("ucerf"), type=kind)
            assert counts == len(values) and (row is None or row.n == pairs["set_id"].nunique())
            for shown in chart.data.rows:
                low, high = map(float, str(shown.cells[0]).split(" to "))
                within = int(((values >= low) & ((values < high) | (high == 1.0))).sum())
                assert shown.cells[1] == within, "counted again from pairs.parquet"
