"""Pairs of groups: each stands on page and in terminal with its interval, its difference and its corrected p."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from equipoise.reports.page.html import run_page
from equipoise.reports.pairs.section import pairs
from equipoise.reports.pairs.tables import pair_summary
from equipoise.reports.pairs.views import pair_tables
from equipoise.reports.terminal.tables import run_summary
from equipoise.run import audit
from equipoise.runs.run import Run

METRICS = ["flip_rate", "ucerf", "ucerf_signed", "certainty", "accuracy", "certainty_difference"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("pairs") / "run"
    model = "planted:strength=1,bias=1,noise=0.3"
    return audit(model, pronouns=["he", "she", "they"], limit=80, resamples=40, metrics=METRICS, out=folder)


def test_the_pairs_are_those_that_were_measured(run: Run) -> None:
    tables = list(pair_tables(run.parts[0]))
    assert [[row.name for row in table.rows] for table in tables] == [["he – she", "he – they", "she – they"]] * 2
    ambiguous = tables[1]
    assert list(ambiguous.metrics) == ["flip_rate", "ucerf", "ucerf_signed"]
    difference = ambiguous.rows[1].differences[0]
    # With he the stereotype decides, with they nothing does.
    assert difference is not None and difference.detected and difference.value.value > 0
    same = ambiguous.rows[0].differences[0]
    assert same is not None and not same.detected


@pytest.mark.parametrize("width", [100, 300])
def test_the_terminal_shows_all_of_them_and_no_empty_rows(run: Run, width: int) -> None:
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=None)
    console.print(run_summary(run))
    assert "he|she" not in out.getvalue()
    console.print(pair_summary(run))
    for table in pair_tables(run.parts[0]):
        for row in table.rows:
            for cell in row.cells:
                assert cell is not None and f"{cell.value:.3f} [{cell.low:.3f}, {cell.high:.3f}]" in out.getvalue()


def test_the_page_has_the_section_only_with_more_than_two_groups(run: Run, planted_run: Path) -> None:
    assert 'id="pairs"' in run_page(run) and "she – they" in run_page(run)
    assert pairs(Run(planted_run)) is None and pair_summary(Run(planted_run)) is None
