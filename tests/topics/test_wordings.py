"""What `equipoise study wording` says of wordings and `equipoise study temperature` of seeds: sentences and tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from kept_texts import assert_kept
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.comparing.wordings import wording_parts
from equipoise.measuring.estimators import Resamples
from equipoise.records import Estimate
from equipoise.records.showing import Cell, Finding, Table
from equipoise.runs import Run
from equipoise.topics.wordings import FIRST, drawn_section, section, spread_chart


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
