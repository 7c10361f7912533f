"""What `equipoise study wording` says of wordings and `equipoise study temperature` of seeds: sentences and tables."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from kept_texts import assert_kept
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.comparing.wordings import wording_parts
from equipoise.measuring.drawn_answers import Drawn
from equipoise.measuring.estimators import Resamples
from equipoise.records import Estimate
from equipoise.records.showing import Cell, Dot, Finding, Table
from equipoise.runs import Run
from equipoise.topics import wordings
from equipoise.topics.wordings import FIRST, drawn_answer, drawn_section, section, spread_chart


def test_sentences_name_the_worst_wording_the_shares_and_the_order(worded_runs: list[Path]) -> None:
    part = wording_parts([Run(folder) for folder in worded_runs], Resamples(resamples=40))[0]
    said = [str(finding) for finding in section(part).every(Finding)]
    robust = part.worded.robust[0]
    assert f"is {robust.mean} over 3 wordings, and {robust.worst} in the worst ({robust.wording})" in said[0]
    assert "is the wording" in said[2] and "for all wordings together" in said[-1]
    for run, sentence in zip(part.part.study.values.runs, said[-3:-1], strict=True):
        held = [apart for apart in part.worded.apart if apart.run == run and apart.detected]
        assert sentence.startswith(f"{run}: {'The wording matters' if held else 'It is not shown'}")
        assert f"of 3 pairs of wordings {len(held)} differ" in sentence
    spreads, components = section(part).every(Table)
    assert [column.title for column in spreads.columns] == ["metric", "model", "mean", "lowest", "highest", "sd"]
    main = [spread for spread in part.spreads if spread.metric in FIRST]
    for row, spread in zip(spreads.rows, main, strict=True):
        lowest = row.cells[3]
        assert isinstance(lowest, Cell) and lowest.content == spread.lowest[1] and spread.lowest[0] in lowest.after
    shares = [cell for cell in components.rows[0].cells if isinstance(cell, Estimate)]
    assert sum(share.value for share in shares) == pytest.approx(1)


def test_sensitivity_prints_them_and_writes_its_files(worded_runs: list[Path], tmp_path: Path) -> None:
    words = ["study", "wording", *map(str, worded_runs), "--out", str(tmp_path), "--resamples", "40"]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    printed = " ".join(result.output.split())
    assert "in the worst (" in printed and "is the wording" in printed and "for all wordings together" in printed
    assert "share of the variance" in printed and "U differs by" in printed
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {
        *("wordings.csv", "wording_ucerf.csv", "wording_differences.csv", "components.csv", "wording_orders.csv")
    }


def test_drawn_answers_vary_and_the_most_probable_do_not(planted_run: Path) -> None:
    shown = drawn_section([Run(planted_run)], [1.0], draws=20, seed=0)
    (table,) = shown.every(Table)
    rows = [row.cells for row in table.rows if "resolvable" in str(row.cells[1])]
    (still, drawn) = rows
    assert (still[2], drawn[2]) == ("most probable", "1")
    assert isinstance(still[9], Cell) and still[9].after == "± 0.000" and still[9].content == still[5]
    assert isinstance(drawn[9], Cell) and drawn[9].after != "± 0.000"
    answers = [str(finding) for finding in shown.every(Finding)]
    assert len(answers) == 2 and all("over all draws" in answer for answer in answers)


def test_what_is_described_is_as_it_was_kept(worded_runs: list[Path], planted_run: Path) -> None:
    runs = [Run(folder) for folder in worded_runs]
    described = [section(part) for part in wording_parts(runs, Resamples(resamples=40))]
    drawn = drawn_section([Run(planted_run)], [0.5, 1.0], draws=20, seed=0)
    assert_kept("topics/wordings", described, spread_chart(runs[0].parts[0]), drawn)


@pytest.mark.parametrize(
    ("answerable", "signed"),
    [([True, True], False), ([True, False], False), ([False, True], False), ([False, False], True)],
)
def test_signed_values_are_told_where_no_sentence_has_an_answer(answerable: list[bool], signed: bool) -> None:
    outcomes = SimpleNamespace(
        answerable=np.array([*answerable, not answerable[0]]), group=lambda _: np.array(["a", "a", "b"])
    )
    part: Any = SimpleNamespace(outcomes=outcomes, run=SimpleNamespace(name="mine"), title=lambda kind: f"of {kind}")
    heats = [
        Drawn("a", heat, 1200, 0.5, odds, 0.2, math.nan if heat == 1.5 else 0.3, 0.4 + heat, (0.5, 0.1), one)
        for heat, odds, one in ((0.0, 0.9, (0.9, 0.0)), (1.5, 0.1, (0.7, 0.05)), (0.5, 0.2, (math.nan, 0.0)))
    ]
    said = drawn_answer(part, heats)
    moved = "eo_sum goes from 0.200 to 0.100, the share of answers that the group word changes from 0.200 to 0.200"
    moved += ", UCerF, signed from 0.900 to 1.900" if signed else ""
    assert said.text == (
        f"mine, of a: From temperature 0.5 to 1.5, over all draws, {moved}. A single draw at 1.5 has an eo_sum of"
        " 0.700 ± 0.050: what is above 0.100 is noise."
    )
    assert (said.topic, said.kind) == ("temperature", "a")
    assert (
        drawn_answer(part, [heats[0], heats[2]]).text.endswith(".")
        and "single" not in drawn_answer(part, [heats[0], heats[2]]).text
    )


def test_drawn_values_that_are_not_known_are_left_empty() -> None:
    part: Any = SimpleNamespace(run=SimpleNamespace(name="mine"), title=lambda kind: f"of {kind}")
    known = Drawn("a", 0.5, 12, 0.1, 0.2, 0.3, 0.4, 0.5, (0.6, 0.1), (0.7, 0.05))
    single = Cell(0.7, after="± 0.050")
    assert wordings._drawn_row(part, known).cells == ("mine", "of a", "0.5", 12, 0.1, 0.2, 0.3, 0.4, 0.5, single)
    unknown = Drawn("a", 0.0, 12, *[math.nan] * 5, (0.6, 0.1), (math.nan, 0.0))
    assert wordings._drawn_row(part, unknown).cells == ("mine", "of a", "most probable", 12, *[None] * 6)


def test_answers_are_drawn_as_often_and_by_the_seed_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    monkeypatch.setattr(wordings, "drawn_answers", lambda *about, **how: given.append((about, how)) or [])
    runs: Any = [SimpleNamespace(parts=[SimpleNamespace(outcomes=name) for name in names]) for names in ("ab", "c")]
    shown = drawn_section(runs, [0.5, 1.0], draws=7, seed=3)
    assert given == [((name, [0.5, 1.0]), {"draws": 7, "seed": 3}) for name in "abc"]
    (table,) = shown.every(Table)
    assert table.rows == [] and list(shown.every(Finding)) == []


def test_wordings_that_hardly_differ_are_not_drawn_far_apart() -> None:
    tight = {name: Estimate(0.5, 0.499, 0.501, 0.95, 50, "") for name in ("a", "b")}
    panel = wordings._by_wording("ucerf", tight, ["b", "c", "a"], 3)
    assert panel.x.high - panel.x.low >= 0.1 and panel.x.label == "UCerF"
    assert [(dot.label, dot.y, dot.tone) for dot in panel.marks_of(Dot)] == [("b", 0.0, 3), ("a", 2.0, 3)]
    assert wordings._by_wording("unheard", tight, ["a"], 0).x.label == "unheard"
