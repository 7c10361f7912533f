"""The standings of runs: ranks, performance, distributions of D and U, TPR beside TPD, and calibration."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from kept_texts import assert_kept

import equipoise
from equipoise.comparing.comparison import Choices, Comparison, compare
from equipoise.comparing.values import rates
from equipoise.datasets.builtin import load_builtin
from equipoise.datasets.dataset import Dataset
from equipoise.records.showing import Axis, Cell, Chart, Dot, Finding, Line, Note, Table
from equipoise.run import audit
from equipoise.runs.measurements import Measurements
from equipoise.scoring.planted import PlantedEngine
from equipoise.topics.comparison import standings
from equipoise.topics.occupations import occupations


@pytest.fixture(scope="module")
def compared(planted_run: Path, mild_run: Path) -> Comparison:
    return compare([planted_run, mild_run], Choices(permutations=20, resamples=20))


def test_a_board_has_every_value_with_its_rank_best_ucerf_first(compared: Comparison) -> None:
    (matched,) = compared.matches
    table = standings.board(matched, compared.names, "type2")
    assert [column.title for column in table.columns] == ["metric", "planted (mild)", "planted (strong)"]
    assert table.name == "leaderboard-builtin-next-word-type2"
    rows = {row.cells[0]: row for row in table.rows}
    for place, measured in ((1, matched.measured[1]), (2, matched.measured[0])):
        cell = rows["ucerf"].cells[place]
        assert isinstance(cell, Cell) and cell.content == measured.get("ucerf", type="type2")
        assert (cell.after, cell.strong) == (f"({place})", place == 1)
    flip_bias = rows["flip_bias"].cells[1]
    assert isinstance(flip_bias, Cell) and flip_bias.after == "" and not flip_bias.strong
    assert rows["ucerf"].better == "higher" and rows["eo_sum"].better == "lower"
    assert rows["rank, from eo_sum to ucerf"].cells[1:] == ("same", "same")
    ambiguous = standings.board(matched, compared.names, "type1")
    assert "rank, from eo_sum to ucerf" not in [row.cells[0] for row in ambiguous.rows]


def test_a_rank_moves_from_equalized_odds_to_ucerf(compared: Comparison) -> None:
    (matched,) = compared.matches
    # UCerF turned round: what has more of it has less.
    turned = [
        Measurements(
            replace(row, estimate=replace(row.estimate, value=1 - row.value)) if row.metric == "ucerf" else row
            for row in measured
        )
        for measured in matched.measured
    ]
    table = standings.board(replace(matched, measured=turned), compared.names, "type2")
    assert [column.title for column in table.columns[1:]] == ["planted (strong)", "planted (mild)"]
    assert table.rows[-1].cells[1:] == ("up 1", "down 1")


def test_a_value_that_only_one_run_has_is_not_ranked(compared: Comparison) -> None:
    (matched,) = compared.matches
    first, second = matched.measured
    fewer = replace(matched, measured=[first, Measurements(row for row in second if row.metric != "ucerf")])
    table = standings.board(fewer, compared.names, "type2")
    (cells,) = [row.cells[1:] for row in table.rows if row.cells[0] == "ucerf"]
    assert [(cell.after, cell.strong) for cell in cells if isinstance(cell, Cell)] == [("", False)] * 2
    assert isinstance(cells[1], Cell) and cells[1].content is None
    assert len(standings.places_of(fewer, compared.names, "type2")) == 1


def test_ranks_are_followed_and_ties_are_drawn_apart(compared: Comparison) -> None:
    (matched,) = compared.matches
    chart = standings.rank_chart(matched, compared.names, "type2")
    assert chart is not None and list(chart.panels[0].x.names) == ["accuracy", "eo_sum", "ucerf", "fp"]
    for number, line in enumerate(chart.panels[0].marks_of(Line)):
        expected = [matched.ranks(name, "type2")[number] for name in chart.panels[0].x.names]
        assert [y + 1 for _, y in line.points] == expected
        assert list(chart.table().rows[number].cells) == [compared.names[number], *expected]
    tied = standings.rank_chart(replace(matched, measured=[matched.measured[0]] * 2), compared.names, "type2")
    assert tied is not None and len({line.points[0][1] for line in tied.panels[0].marks_of(Line)}) == 2


def test_performance_is_accuracy_or_doubt_and_lines_are_of_equal_product(compared: Comparison) -> None:
    (matched,) = compared.matches
    _, performance, _ = standings.places_of(matched, compared.names, "type1")["planted (strong)"]
    certainty = matched.measured[0].get("certainty", type="type1")
    assert performance.value == pytest.approx(1 - certainty.value)
    assert performance.low == pytest.approx(1 - certainty.high) and performance.low < performance.high
    section = standings.scatter(compared)
    assert section is not None
    chart = next(chart for chart in section.every(Chart) if chart.name == "scatter-builtin-next-word-type2")
    (panel,) = chart.panels
    wanted = [[m.get(name, type="type2").estimate for name in ("accuracy", "ucerf")] for m in matched.measured]
    assert [[dot.x, dot.y] for dot in panel.marks_of(Dot)] == wanted
    for line, note in zip(panel.marks_of(Line), panel.marks_of(Note), strict=True):
        products = [x * y for x, y in line.points]
        assert products == pytest.approx([float(note.text.removeprefix("FP "))] * len(products))
    assert chart.legend[0].label == f"planted (strong): FP {wanted[0][0].value * wanted[0][1].value:.3f}"


def test_the_estimator_s_own_ucerf_is_tested_shown_and_drawn_by_its_name(tmp_path: Path) -> None:
    quick = {"resamples": 40, "limit": 30, "progress": False, "estimators": ["renyi"], "metrics": ["ucerf", "eo_sum"]}
    runs = [equipoise.audit(f"planted:strength=1,bias={b}", out=tmp_path / str(b), **quick) for b in (0.3, 2)]
    comparison = compare(runs, metrics=("ucerf",), resamples=40, permutations=40, progress=False)
    assert {test.row.metric for test in comparison.tests} == {"ucerf_renyi"}
    values = [run.parts[0].measured.get("ucerf_renyi", type="type2") for run in runs]
    (test,) = [t for t in comparison.tests if "type2" in t.row.group]
    assert values[0] is not None and values[1] is not None
    assert abs(test.difference.value - (values[0].value - values[1].value)) < 1e-9
    board = standings.board(comparison.matches[0], comparison.names, "type2")
    assert "ucerf_renyi" in [row.cells[0] for row in board.rows]
    ranks = standings.rank_chart(comparison.matches[0], comparison.names, "type2")
    assert ranks is not None and list(ranks.panels[0].x.names) == ["eo_sum", "ucerf_renyi"]
    titles = [chart.title for chart in occupations(runs[0].parts[0])]
    assert titles and all("UCerF by renyi" in title for title in titles)


def spreads(comparison: Comparison) -> dict[str, Chart]:
    section = standings.spreads(comparison)
    assert section is not None
    return {chart.name: chart for chart in section.every(Chart)}


def test_runs_are_spread_as_their_tables_say(compared: Comparison) -> None:
    charts = spreads(compared)
    names = ["D-builtin-next-word-type2", "U-builtin-next-word-type2"]
    names += ["certainty-builtin-next-word-type1", "U-builtin-next-word-type1"]
    assert set(charts) == {f"spread-{name}" for name in names}, "one dataset has nothing to be compared with"
    items, chart = compared.runs[0].outcomes, charts["spread-D-builtin-next-word-type2"]
    expected = items[items["type"] == "type2"]["desirability"].to_numpy()
    assert sum(row.cells[1] for row in chart.table().rows) == pytest.approx(1.0)
    line = next(chart.panels[0].marks_of(Line))
    assert line.points[-2] == (1.0, pytest.approx(np.mean(expected >= 0.95)))
    assert chart.legend[0].label == f"planted (strong): mean {expected.mean():.3f} (n = {len(expected):,})"


def test_datasets_are_spread_against_each_other(tmp_path: Path) -> None:
    resolvable = [example for example in load_builtin().examples if example.answerable]
    # In the second dataset every right answer goes against the stereotype.
    against = [example for example in resolvable if example.groups["stereotype"] == "anti"]
    data = [Dataset("both", tuple(resolvable[:24])), Dataset("against", tuple(against[:12]))]
    audit(PlantedEngine(bias=3.0), data=data, out=tmp_path / "run", resamples=20, by=[])
    charts = spreads(compare([tmp_path / "run"], alone=True, progress=False))
    chart = charts["spread-of-datasets-D-planted-next-word-type2"]
    assert chart.title == "D: planted · next-word, resolvable (type 2)"
    means = {key.label.split(":")[0]: float(key.label.split("mean ")[1].split()[0]) for key in chart.legend}
    assert means["against"] < means["both"]


def test_tpr_is_drawn_beside_tpd(compared: Comparison) -> None:
    section = standings.odds(compared)
    assert section is not None
    (chart,) = section.every(Chart)
    for panel, run in zip(chart.panels, compared.runs, strict=True):
        sizes = [right.n for _, right, _ in rates(run.parts[0])]
        assert panel.title == run.name
        assert list(panel.y.names) == [f"with (n = {sizes[0]})", f"against (n = {sizes[1]})"]
        both = [value for _, *values in rates(run.parts[0]) for value in values]
        assert [dot.x for dot in panel.marks_of(Dot)] == both


def test_calibration_of_two_runs_is_drawn_upon_each_other(cloze_runs: tuple[Path, Path]) -> None:
    comparison = compare(list(cloze_runs), permutations=20, resamples=20, progress=False)
    section = standings.calibrations(comparison)
    assert section is not None
    (chart,) = section.every(Chart)
    assert [key.label.split(" (n")[0] for key in chart.legend] == comparison.names
    told = [finding.text for finding in section.every(Finding)]
    for run in comparison.runs:
        ece = run.parts[0].measured.get("ece")
        assert any(text.startswith(f"{run.name}: ") and f"off by {100 * ece.value:.1f} points" in text for text in told)
    assert standings.calibrations(compare(list(cloze_runs[:1]), alone=True, progress=False)) is None


def test_every_run_says_how_it_was_made(compared: Comparison) -> None:
    tables = list(standings.runs(compared).every(Table))
    assert [table.title for table in tables] == compared.names
    facts = {row.cells[0]: row.cells[1] for row in tables[0].rows}
    assert facts["Finished"] == compared.runs[0].manifest.finished and "equipoise" in facts["Versions"]
    assert standings.facts(compared)[1] == ("Compared on", "builtin · next-word (160 items)")


def test_what_is_described_is_as_it_was_kept(compared: Comparison, cloze_runs: tuple[Path, Path]) -> None:
    pairs = compare(list(cloze_runs), permutations=20, resamples=20, progress=False)
    shown = [standings.leaderboard(compared), standings.ranks(compared), standings.scatter(compared)]
    more = [standings.odds(compared), standings.spreads(compared), standings.calibrations(pairs)]
    assert_kept("topics/standings", standings.facts(compared), *shown, *more, standings.leaderboard(pairs))


@pytest.mark.parametrize(
    ("ranks", "usable", "among"),
    [
        ([1, 2, 3], [True, True, True], [1, 2, 3]),
        ([1, 2, 3], [False, True, True], [None, 1, 2]),
        ([3, 1, 1], [True, False, True], [2, None, 1]),
        ([1, None, 2], [True, True, False], [1, None, 2]),
        ([2, 2, 1], [True, True, False], [1, 1, None]),
        ([1, 2], [], [1, 2]),
    ],
)
def test_ranks_are_among_the_runs_that_are_usable(ranks: list[Any], usable: list[bool], among: list[Any]) -> None:
    assert standings._among(ranks, usable) == among


def test_a_rank_that_moves_is_told_by_how_far() -> None:
    moves = [standings._moved(*both) for both in ((1, 1), (3, 1), (1, 4), (None, 1), (1, None))]
    assert moves == ["same", "up 2", "down 3", "", ""]
    assert [standings._ranked(None, rank, runs) for rank, runs in ((1, 2), (1, 1), (2, 2), (None, 2))] == [
        *(Cell(None, strong=True, after="(1)"), Cell(None, after="(1)"), Cell(None, after="(2)"), Cell(None)),
    ]


@pytest.mark.parametrize(("leading", "added"), [(None, ""), ([1], " (added)"), ([], " (none added)")])
def test_a_run_says_whether_a_token_was_added(compared: Comparison, leading: Any, added: str) -> None:
    engine: dict[str, Any] = {"engine": "hf", "dtype": "bfloat16", "bos": "auto"}
    engine |= {} if leading is None else {"leading_ids": leading}
    versions = {"equipoise": "1", "platform": "x", "torch": "2"}
    facts = {"engine": engine, "versions": versions, "finished": "", "command": "c"}
    run: Any = SimpleNamespace(name="m", manifest=SimpleNamespace(**facts))
    rows = {row.cells[0]: row.cells[1] for row in standings._facts(run).rows}
    assert rows["Engine"] == f"hf, bfloat16, begin-of-text: auto{added}" and rows["Versions"] == "equipoise 1, torch 2"
    assert rows["Weights"] == Cell("–", code=True) and "Finished" not in rows


def test_runs_that_share_a_rank_are_drawn_beside_each_other() -> None:
    ranks = {"accuracy": [1, 1, 3], "ucerf": [1, 1, 1]}
    match: Any = SimpleNamespace(
        measured=[SimpleNamespace(own=lambda name: name), SimpleNamespace(own=lambda name: f"{name}_other")],
        ranks=lambda name, kind: ranks.get(name, [None] * 3) if kind == "type2" else [None] * 3,
        title=lambda kind: f"of {kind}",
        about=lambda kind: {"type": kind},
    )
    chart = standings.rank_chart(match, ["a", "b", "c"], "type2")
    assert chart is not None and list(chart.panels[0].x.names) == ["accuracy", "ucerf"]
    lines = [[y for _, y in line.points] for line in chart.panels[0].marks_of(Line)]
    assert [line[0] for line in lines] == pytest.approx([-0.13, 0.13, 2.0])
    assert [line[1] for line in lines] == pytest.approx([-0.26, 0.0, 0.26])
    assert standings.rank_chart(match, ["a", "b", "c"], "type1") is None


def test_without_a_chart_there_is_no_section(
    planted_run: Path, mild_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    comparison = compare([planted_run, mild_run], Choices(permutations=20, resamples=20))
    for draw, name in ((standings.odds, "odds_chart"), (standings.ranks, "rank_chart")):
        found = draw(comparison)
        assert found is not None and list(found.every(Chart))
        monkeypatch.setattr(standings, name, lambda *_: None)
        assert draw(comparison) is None


def test_lines_of_equal_product_are_at_round_values_within_the_chart() -> None:
    x, y = Axis("", 0.2, 0.8), Axis("", 0.5, 1.0)
    marks = list(standings._contours(x, y))
    lines, notes = marks[::2], marks[1::2]
    levels = Axis("", 0.1, 0.8).ticks(6)
    assert all(isinstance(line, Line) and line.dashed and line.tone == "quiet" for line in lines)
    found = {note.text: line.points for line, note in zip(lines, notes, strict=True)}  # type: ignore[union-attr]
    assert set(found) <= {f"FP {level:g}" for level in levels} and len(found) >= len(levels) - 2 > 2
    for text, points in found.items():
        level = float(text.removeprefix("FP "))
        assert len(points) > 3 and all(across * up == pytest.approx(level) for across, up in points)
        assert all(0.2 <= across <= 0.8 and 0.5 <= up <= 1.0 for across, up in points)
    assert [(note.x, note.y) for note in notes] == [line.points[-1] for line in lines]  # type: ignore[union-attr]
    crossing = [mark for mark in standings._contours(Axis("", 0.0, 1.0), Axis("", 0.0, 1.0)) if isinstance(mark, Line)]
    assert all(line.points[0][0] > 0 for line in crossing) and len(crossing) > 2, "nothing is divided by 0"


def test_the_diagram_of_runs_has_the_bins_of_all_sentences_alone(
    cloze_runs: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    comparison = compare(list(cloze_runs), permutations=20, resamples=20, progress=False)
    drawn: list[Any] = []
    table = pd.DataFrame({"group": ["all", "side=male", "all"], "n": [1, 2, 3]})
    monkeypatch.setattr(standings.calibration, "reliability_table", lambda *_, **__: table)
    monkeypatch.setattr(standings.calibration, "diagram", lambda *given, **more: drawn.append((*given, more)))
    assert standings.calibrations(comparison) is not None
    ((lines, more),) = drawn
    first, second = comparison.names
    assert lines.to_numpy().tolist() == [[first, 1], [first, 3], [second, 1], [second, 3]]
    part = comparison.runs[0].parts[0]
    about = {"dataset": part.dataset, "task": part.task}
    side = standings.calibration.first_side(part)
    assert more == {"side": side, "about": about, "title": f"{part.dataset} · {part.task}"}
    monkeypatch.setattr(standings.calibration, "reliability_table", lambda *_, **__: table[:0])
    assert standings.calibrations(comparison) is None and len(drawn) == 1
