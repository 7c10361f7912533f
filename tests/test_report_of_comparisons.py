"""What a comparison shows in each medium: a page in a real browser, a terminal, figures, tables and a notebook."""

from __future__ import annotations

import csv
import io
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pages import charts_without_values
from PIL import Image
from rich.console import Console

import equipoise
from equipoise.comparing.comparison import Choices, Comparison, compare
from equipoise.records import EquipoiseError
from equipoise.records.showing import Finding
from equipoise.report import (
    comparison_figures,
    comparison_page,
    comparison_tables,
    comparison_text,
    write_page,
)
from equipoise.topics.comparison.differences import findings


@pytest.fixture(scope="module")
def compared(planted_run: Path, mild_run: Path) -> Comparison:
    return compare([planted_run, mild_run], Choices(permutations=400, resamples=100))


def test_the_page_opens_quietly_and_holds_no_sentence(browser: Any, compared: Comparison, tmp_path: Path) -> None:
    content = comparison_page(compared)
    assert not [text for text in compared.runs[0].examples["text"] if text in content]
    assert not re.search(r"\b(un)?fair\b", content, re.IGNORECASE)
    tab = browser.new_page(viewport={"width": 390, "height": 844})
    troubles: list[str] = []
    tab.on("console", lambda message: troubles.append(message.text))
    tab.on("pageerror", lambda error: troubles.append(str(error)))
    tab.goto(write_page(tmp_path / "compare.html", content).as_uri())
    assert tab.locator("main > section").count() == 9
    assert tab.locator("svg.chart").count() == 15
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    drawn = tab.locator("svg.chart").evaluate_all("(all) => all.map((one) => one.getBBox().width)")
    assert np.all(np.array(drawn) <= 440)
    assert charts_without_values(tab) == []
    assert troubles == []
    tab.close()


def test_a_hostile_name_stays_text_in_the_page(hostile_run: Path, browser: Any) -> None:
    copy = Path(shutil.copytree(hostile_run, hostile_run.with_name("hostile-copy"), dirs_exist_ok=True))
    content = comparison_page(compare([hostile_run, copy], Choices(permutations=20, resamples=20)))
    tab = browser.new_page()
    tab.set_content(content)
    assert tab.evaluate("window.hacked") is None
    assert tab.locator("img").count() == 0
    assert "<script>window.hacked" in tab.inner_text("h1")
    tab.close()


def test_a_terminal_shows_sentences_and_what_differs(compared: Comparison) -> None:
    console = Console(width=200, file=io.StringIO())
    console.print(comparison_text(compared))
    text = console.file.getvalue()
    assert "planted (strong) − planted (mild) on builtin · next-word, resolvable (type 2)" in text
    for test in compared.tests:
        shown = (
            rf"^{test.row.metric}[ ↑↓]+{re.escape(f'{test.row:+}')} +{test.row.n} +{test.difference.p_corrected:.4f}$"
        )
        assert bool(re.search(shown, text, re.MULTILINE)) == test.detected, test.row.metric
    held = sum(test.detected for test in compared.tests)
    assert f"{held} of {len(compared.tests)} differences hold after correction (holm)" in text


def test_figures_are_of_every_chart_and_as_wide_as_asked(compared: Comparison) -> None:
    drawn = dict(comparison_figures(compared, width="page", formats=("png",)))
    topics = sorted(name.removesuffix(".png").split("-")[0] for name in drawn)
    assert topics == ["differences"] * 2 + ["odds", "order"] + ["ranks"] * 2 + ["scatter"] * 2 + ["spread"] * 4
    assert {Image.open(io.BytesIO(content)).width for content in drawn.values()} == {round(6.75 * 300)}
    with pytest.raises(EquipoiseError, match="width must be one of column, page"):
        list(comparison_figures(compared, width="poster"))


def test_tables_have_every_run_and_test_in_every_format(compared: Comparison) -> None:
    files = dict(comparison_tables(compared, formats=("csv", "latex", "markdown")))
    boards = {f"leaderboard-builtin-next-word-{kind}" for kind in ("type1", "type2")}
    stems = {*boards, "differences", "overlap"}
    assert set(files) == {f"{stem}.{ending}" for stem in stems for ending in ("csv", "tex", "md")}
    head, *rows = csv.reader(io.StringIO(files["differences.csv"].decode()))
    assert head == ["of", "metric", "difference", "n", "p", "p, corrected", "better"]
    assert len(rows) == len(compared.tests) and all(len(row) == len(head) for row in rows)
    for row, test in zip(rows, compared.tests, strict=True):
        assert row[0] == f"{test.row.model}, {test.data}" and row[2] == f"{test.row:+}" and row[3] == f"{test.row.n}"
    head, *rows = csv.reader(io.StringIO(files["leaderboard-builtin-next-word-type2.csv"].decode()))
    assert head == ["metric", "planted (mild)", "planted (strong)", "n"]
    (ucerf,) = [row for row in rows if row[0] == "ucerf ↑"]
    assert ucerf[1].endswith("] (1)") and ucerf[2].endswith("] (2)")


def test_a_comparison_shows_itself_in_a_notebook(planted_run: Path, mild_run: Path) -> None:
    comparison = equipoise.compare([equipoise.load(planted_run), mild_run], permutations=99, resamples=50)
    html = comparison._repr_html_()
    for test in comparison.tests:
        p, corrected = test.difference.p, test.difference.p_corrected
        cells = (f"{test.row:+}", f"{test.row.n:,}", f"{p:.4f}", f"{corrected:.4f}")
        assert "".join(f"<td>{cell}</td>" for cell in cells) in html
    section = findings(comparison)
    assert section is not None and all(str(finding) in html for finding in section.every(Finding))
    assert html.count("data:image/svg+xml;base64,") == 3
