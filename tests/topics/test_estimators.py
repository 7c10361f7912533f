"""Estimators on a run's page, and what studies of them say: sentences, tables and lines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kept_texts import assert_kept

from equipoise.comparing.estimators import EstimatorStudies, estimator_studies
from equipoise.measuring.estimators import CHANGED, OPEN, SAME, Resamples
from equipoise.media.figure import figure
from equipoise.records import Estimate, RunKey
from equipoise.records.showing import Cell, Chart, Dot, Finding, Table, every
from equipoise.report import charts
from equipoise.runs import Run
from equipoise.topics import estimators
from equipoise.topics.estimators import answers, lines, section, sections


@pytest.fixture(scope="module")
def studies(planted_run: Path, mild_run: Path) -> EstimatorStudies:
    return estimator_studies([Run(planted_run), Run(mild_run)], Resamples(resamples=40))


def test_the_section_has_a_chart_for_estimators_and_one_for_wordings(worded_runs: list[Path]) -> None:
    run = Run(worded_runs[0])
    shown = section(run)
    assert shown is not None
    several = list(shown.every(Chart))
    assert {chart.topic for chart in several} == {"estimators", "wordings"}
    names = {name for chart in several for name in chart.panels[0].y.names}
    assert names == {"perplexity", "margin", "prompt-ensemble", "one", "two", "three"}
    measured = run.parts[0].measured.get("ucerf_margin", type="type2")
    assert measured is not None
    dots = [dot for chart in several for panel in chart.panels for dot in panel.marks_of(Dot)]
    assert any(dot.x == measured.estimate and dot.label == "margin" for dot in dots)
    assert {chart.name for chart in several} <= {chart.name for chart in charts(run)}


def test_a_run_with_one_estimator_and_one_wording_has_no_section(planted_run: Path) -> None:
    assert section(Run(planted_run)) is None


def test_two_models_are_ordered_by_each_estimator(studies: EstimatorStudies) -> None:
    shown = list(sections(studies))
    assert [str(list(one.every(Finding))[-1]) for one in shown[:3]] == answers(studies)
    part, (models, agreement) = studies.parts[0], list(shown[0].every(Table))
    assert [row.cells[0] for row in models.rows] == [*part.study.values.estimators, "flip rate (any)"]
    for row in models.rows[:-1]:
        values = [
            cell.content.value for cell in row.cells if isinstance(cell, Cell) and isinstance(cell.content, Estimate)
        ]
        assert values == sorted(values, reverse=True) and len(values) == 2
    assert [column.title for column in agreement.columns][:2] == ["estimators", "tau over models"]
    count = len(part.study.values.estimators)
    assert len(agreement.rows) == count * (count - 1) // 2


def test_lines_show_every_model_under_every_estimator(studies: EstimatorStudies) -> None:
    (chart, *_) = every(sections(studies), Chart)
    assert chart.name == "ucerf-builtin-next-word-type2"
    dots = list(chart.panels[0].marks_of(Dot))
    assert [dot.y for dot in sorted(dots, key=lambda dot: dot.label)] == [
        row.ucerf for row in sorted(studies.parts[0].study.standings, key=lambda row: f"{row.run}, {row.estimator}")
    ]
    assert [key.label for key in chart.legend] == list(studies.parts[0].study.values.runs)
    assert figure(chart, "column").get_figwidth() == 3.25


def test_one_run_compares_its_sets(mild_run: Path) -> None:
    studies = estimator_studies([Run(mild_run)], Resamples(resamples=20))
    assert all("the lowest Kendall's tau" in answer and "sets is" in answer for answer in answers(studies))


def test_labels_of_people_and_conformal_sets_have_their_sentences(cloze_runs: tuple[Path, Path]) -> None:
    studies = estimator_studies([Run(folder) for folder in cloze_runs], Resamples(resamples=40))
    labels, conformal = sections(studies)
    assert labels.title == "planted (far) and people on pairs · cloze"
    (table,) = labels.every(Table)
    assert [column.title for column in table.columns][1:3] == ["AUROC", "ahead of the first"]
    assert table.rows[0].cells[2] is None, "the first estimator is not ahead of itself"
    said = [str(finding) for finding in conformal.every(Finding)]
    assert len(said) == 2 and all("conformal sets hold the right answer in" in text for text in said)


def test_what_is_described_is_as_it_was_kept(worded_runs: list[Path], studies: EstimatorStudies) -> None:
    assert_kept("topics/estimators", section(Run(worded_runs[0])), list(sections(studies)))


def test_a_study_of_all_items_is_named_so(studies: EstimatorStudies) -> None:
    (part, *_) = studies.parts
    assert lines(part).about["type"] == part.kind != "" and lines(replace(part, kind="")).about["type"] == "all"


def test_counts_that_are_equal_are_told_once() -> None:
    assert estimators._range([1200, 1200]) == "1,200" and estimators._range([5, 1200, 3]) == "3 to 1,200"


@pytest.mark.parametrize(
    ("ahead", "behind", "more"),
    [
        (["b"], [], "b tell it better, b best with 0.700 [0.600, 0.800]"),
        ([], ["b"], "no estimator is shown to tell it better; b tell it less well"),
        ([], [], "no estimator is shown to tell it better"),
    ],
)
def test_what_labels_say_of_estimators_is_one_sentence(ahead: list[str], behind: list[str], more: str) -> None:
    def estimate(value: float, n: int = 1200) -> Estimate:
        return Estimate(value, value - 0.1, value + 0.1, 0.95, n, "")

    rows = {name: SimpleNamespace(estimator=name, auroc=estimate(auroc)) for name, auroc in (("a", 0.6), ("b", 0.7))}
    study: Any = SimpleNamespace(
        rows=list(rows.values()),
        ahead=[rows[name] for name in ahead],
        behind=[rows[name] for name in behind],
        agreement=estimate(0.5),
    )
    start = "m and people on d · t: they agree in 0.500 [0.400, 0.600] of 1,200 items. Certainty by a tells where"
    text = f"{start} with an AUROC of 0.600 [0.500, 0.700]; {more}."
    assert estimators.label_answer(RunKey("m", "d", "t"), study).text == text


def test_the_lowest_tau_that_is_known_is_shown_with_its_run() -> None:
    def row(value: float, run: str) -> Any:
        return SimpleNamespace(kendall=Estimate(value, value, value, 0.95, 3, ""), run=run)

    low, high, unknown = row(0.2, "a"), row(0.9, "b"), row(float("nan"), "c")
    assert estimators._lowest([high, low, unknown]) == Cell(low.kendall, after="(a)")
    assert estimators._lowest([unknown, high]) == high.kendall and estimators._lowest([unknown]) is None


def order(first: str, second: str, verdict: str, *, sides: int = 0, **names: tuple[str, ...]) -> Any:
    facts = {"for_first": (), "for_second": (), "open": ()} | names
    return SimpleNamespace(first=first, second=second, verdict=verdict, sets=1200, sides=range(sides), **facts)


def study(orders: list[Any], axis: str = "estimator", calibrated: tuple[str, ...] = ()) -> Any:
    """Return a study of three models by two estimators."""

    def estimate(value: float, n: int = 3) -> Estimate:
        return Estimate(value, value - 0.1, value + 0.1, 0.9, n, "")

    values = SimpleNamespace(
        axis=axis, runs=("x", "y", "z"), estimators=("e", "f"), tested=("e", "f"), sets=1200, calibrated=calibrated
    )
    standings = [
        SimpleNamespace(run=run, estimator=name, ucerf=estimate(value), rank=rank)
        for name in ("e", "f")
        for rank, (run, value) in enumerate((("x", 0.7), ("y", 0.6), ("z", 0.5)), 1)
    ]
    agreements = [
        SimpleNamespace(over=over, first=first, second=second, kendall=estimate(value, n), run=run)
        for over, first, second, value, n, run in (
            ("sets", "e", "f", 0.1, 1200, "x"),
            ("models", "e", "g", 0.9, 3, ""),
            ("models", "e", "f", 0.3, 3, ""),
        )
    ]
    facts = SimpleNamespace(
        orders=orders,
        values=values,
        standings=standings,
        agreements=agreements,
        crossing=[range(3), range(5), range(3)],
        flips=[estimate(0.3), estimate(0.1), estimate(0.2)],
    )
    by_name = lambda name: [row for row in standings if row.estimator == name]  # noqa: E731
    return SimpleNamespace(study=facts, title="d · t", kind="type2", sorted=by_name)


CHANGED_PAIR = order("x", "y", CHANGED, for_first=("e",), for_second=("f", "g"), sides=7)
SAME_PAIR = order("x", "z", SAME, for_first=("e", "f"), sides=2)
OPEN_PAIR = order("y", "z", OPEN, for_second=("e",), open=("f",), sides=2)


def test_three_models_have_their_pairs_counted() -> None:
    text = estimators.answer(study([CHANGED_PAIR, SAME_PAIR, SAME_PAIR, SAME_PAIR, OPEN_PAIR, OPEN_PAIR]))
    assert str(text) == (
        "d · t: of 6 pairs of models, all 2 distinct estimators settle the same order for 3, two estimators settle"
        " opposite orders for 1, and at least one estimator settles no order for 2 (90% for all pairs and estimators"
        " together, 1,200 sets). The lowest Kendall's tau between two estimators over 3 models is 0.30 [0.20, 0.40]"
        " (e and f)."
    )
    assert (text.topic, text.kind) == ("estimators", "type2")
    worded = str(estimators.answer(study([SAME_PAIR, SAME_PAIR], axis="wording")))
    assert "all 2 wordings settle the same order for 2, two wordings settle" in worded
    alone = str(estimators.answer(study([])))
    assert alone == (
        "d · t: the lowest Kendall's tau between two estimators over 1,200 sets is 0.10 [0.00, 0.20] (e and f)."
    )


@pytest.mark.parametrize(
    ("pair", "text"),
    [
        (SAME_PAIR, "x is higher than z under all 2 distinct estimators"),
        (OPEN_PAIR, "z is higher than y under e; no order is settled under f"),
        (CHANGED_PAIR, "x is higher than y under e; y is higher than x under all 2 distinct estimators"),
    ],
)
def test_of_two_models_each_order_is_told_with_its_estimators(pair: Any, text: str) -> None:
    assert str(estimators.answer(study([pair]))) == f"d · t: {text} (90% for all estimators together, 1,200 sets)."


def test_pairs_whose_order_changes_are_told_where_there_are_several() -> None:
    (said,) = estimators.changed_pairs(study([SAME_PAIR, CHANGED_PAIR, OPEN_PAIR]))
    assert str(said) == "x is higher than y under e, and lower under f, g."
    assert (said.topic, said.kind) == ("estimators", "type2")
    assert list(estimators.changed_pairs(study([CHANGED_PAIR]))) == []


def test_sets_that_change_sides_are_counted_for_models_and_for_pairs() -> None:
    start = "Estimators disagree about which quarter of the sets is treated least alike: 3 to 5 of 1,200 sets"
    start += " of a model are in it by one estimator and not by another."
    assert str(estimators.sides(study([]))) == start
    both = str(estimators.sides(study([CHANGED_PAIR, SAME_PAIR])))
    assert both == f"{start} Which of two models treats a set more alike changes in 2 to 7 sets."


def test_an_estimator_with_a_threshold_of_its_own_is_named_under_the_table() -> None:
    plain, calibrated = (estimators.sorted_models(study([], calibrated=names)) for names in ((), ("f", "g")))
    (note,) = plain.notes
    assert note == (
        "A rank is by one estimator alone. The orders in the sentences hold for all at once, so fewer are settled."
    )
    more = " The threshold of f, g is from each run's labels: no order is tested by it."
    assert calibrated.notes == [note + more] and calibrated.rows == plain.rows
    assert [getattr(cell, "after", cell) for cell in plain.rows[-1].cells] == ["flip rate (any)", "y", "z", "x"]
    assert [cell.after for cell in plain.rows[0].cells[1:]] == ["x, rank 1", "y, rank 2", "z, rank 3"]  # type: ignore[union-attr]
    assert [column.title for column in plain.columns] == ["estimator", "1.", "2.", "3."]


def test_choices_that_hardly_differ_are_not_drawn_far_apart() -> None:
    tight: Any = SimpleNamespace(estimate=Estimate(0.5, 0.4999, 0.5001, 0.95, 50, ""))
    part: Any = SimpleNamespace(title=lambda kind: kind, about=lambda kind: {"type": kind})
    (chart,) = estimators._choices(part, "type2", "ucerf", "wording", [("a", tight), ("x", None), ("b", tight)])
    across = chart.panels[0].x
    assert 0.02 <= across.high - across.low < 0.1 and across.label == "UCerF"
    assert list(chart.panels[0].y.names) == ["a", "b"] and chart.topic == "wordings"
    assert list(estimators._choices(part, "type2", "ucerf", "wording", [("a", tight), ("x", None)])) == []
