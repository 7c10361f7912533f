"""Tables and figures for papers: complete, of the size asked for, and not to be broken by any name."""

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from equipoise.records import EquipoiseError
from equipoise.reports.behaviour.figures import run_figures
from equipoise.reports.comparison.compare import Choices, compare
from equipoise.reports.comparison.figures import comparison_figures
from equipoise.reports.paper.publication import (
    PublishedTable,
    comma_separated,
    comparison_tables,
    file_name,
    latex,
    markdown,
    run_tables,
)
from equipoise.runs.run import Run

HARMLESS = {
    *("textbackslash", "textasciitilde", "textasciicircum", "textless", "textgreater", "textbar"),
    *("textperiodcentered", "uparrow", "downarrow", "begin", "end", "centering", "caption"),
    *(
        "toprule",
        "midrule",
        "bottomrule",
        "label",
        "small",
        "sbox",
        "ifdim",
        "wd",
        "columnwidth",
        "resizebox",
        "usebox",
    ),
    *("else", "fi", "textwidth", "begingroup", "endgroup", "scriptsize", "endhead"),
}


def latex_is_sound(text: str, columns: int, rows: int) -> None:
    """Fail where LaTeX would: an unknown command, a brace too many, a row with too many cells, an open formula."""
    body = "\n".join(line for line in text.splitlines() if not line.startswith("% needs"))
    assert set(re.findall(r"\\([a-zA-Z]+)", body)) <= HARMLESS
    bare = re.sub(r"\\\\", "\n", body)  # the end of a row
    bare = re.sub(r"\\[&%$#_{}]", "", bare)  # what is escaped
    assert "%" not in bare and "#" not in bare and "_" not in bare and "~" not in bare and "^" not in bare
    assert bare.count("$") % 2 == 0
    depth = 0
    for character in bare:
        depth += (character == "{") - (character == "}")
        assert depth >= 0
    assert depth == 0
    assert bare.isascii() or all(ord(one) < 0x180 for one in bare)
    inside = bare.split("toprule")[1].split("bottomrule")[0]
    lines = [line for line in inside.splitlines() if "&" in line]
    assert len(lines) == rows + 1 and all(line.count("&") == columns - 1 for line in lines)


PAPER = r"""\documentclass[twocolumn]{article}
\usepackage[T1]{fontenc}
\usepackage{booktabs,graphicx,longtable}
\begin{document}
%s
\end{document}
"""


@pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="needs pdflatex: apt-get install texlive-latex-recommended"
)
@pytest.mark.parametrize("fit", ["column", "page"])
def test_latex_compiles_and_no_table_is_too_wide(
    planted_run: Path, cloze_runs: tuple[Path, Path], hostile_run: Path, tmp_path: Path, fit: str
) -> None:
    for name, runs in {"usual": (planted_run, cloze_runs[0]), "hostile": (hostile_run,)}.items():
        tables = [table for run in runs for table in run_tables(Run(run))]
        text = PAPER % "\\clearpage\n".join(latex(table, fit=fit) for table in tables)
        (tmp_path / f"{name}.tex").write_text(text, encoding="utf-8")
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", f"{name}.tex"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True)
        log = done.stdout.decode(errors="replace")
        assert done.returncode == 0, log[-2000:]
        # A hostile name may be wider than a line of its caption.
        assert name == "hostile" or "Overfull \\hbox" not in log


def test_calibration_has_tables_and_figures(cloze_runs: tuple[Path, Path]) -> None:
    run = Run(cloze_runs[0])
    table = next(table for table in run_tables(run) if table.name.startswith("calibration-"))
    ece = run.parts[0].measured.get("ece")
    assert table.columns[:3] == ["group", "n", "ece ↓"]
    assert table.rows[0][1:3] == [f"{ece.n}", f"{ece.value:.3f} [{ece.low:.3f}, {ece.high:.3f}]"]
    names = {drawn.name.split("-")[0] for drawn in run_figures(run, formats=("svg",))}
    assert {"reliability", "workforce"} <= names


def test_every_table_of_a_run_in_every_format(planted_run: Path) -> None:
    run = Run(planted_run)
    tables = {table.name: table for table in run_tables(run)}
    assert set(tables) == {f"{kind}-builtin-next-word" for kind in ("metrics", "groups", "occupations")}
    row = run.parts[0].measured.get("ucerf", type="type2")
    expected = f"{row.value:.3f} [{row.low:.3f}, {row.high:.3f}]"
    for table in tables.values():
        latex_is_sound(latex(table), len(table.columns), len(table.rows))
        assert len(markdown(table).splitlines()) == len(table.rows) + 4
        read = list(csv.reader(io.StringIO(comma_separated(table))))
        assert read[0] == list(table.columns) and len(read) == len(table.rows) + 1
    metrics = tables["metrics-builtin-next-word"]
    assert ["ucerf ↑", f"{expected} (n = {row.n})"] in [list(one[:2]) for one in metrics.rows]
    assert expected.replace("[", "{[}").replace("]", "{]}") in latex(metrics)


def test_tables_of_a_comparison_have_every_run_and_test(planted_run: Path, mild_run: Path) -> None:
    compared = compare([planted_run, mild_run], Choices(permutations=20, resamples=20))
    tables = {table.name: table for table in comparison_tables(compared)}
    assert len(tables["differences"].rows) == len(compared.tests)
    board = tables["leaderboard-builtin-next-word-type2"]
    assert [row[0] for row in board.rows] == ["planted (mild)", "planted (strong)"]
    assert board.rows[0][1].endswith("(1)") and board.rows[1][1].endswith("(2)")
    for table in tables.values():
        latex_is_sound(latex(table), len(table.columns), len(table.rows))


def test_hostile_names_break_no_table(hostile_run: Path) -> None:
    for table in run_tables(Run(hostile_run)):
        latex_is_sound(latex(table), len(table.columns), len(table.rows))
        lines = markdown(table).splitlines()[: len(table.rows) + 2]
        assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {len(table.columns) + 1}
        assert "<script" not in markdown(table)
        assert "/" not in file_name(table, ".tex") and ".." not in file_name(table, "")


@given(st.lists(st.text(max_size=30), min_size=2, max_size=2))
def test_any_text_at_all_is_a_cell(cells: list[str]) -> None:
    table = PublishedTable("any", cells[0], ["a", "b"], [cells])
    latex_is_sound(latex(table), 2, 1)
    lines = markdown(table).splitlines()
    assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", lines[2])) == 3
    read = list(csv.reader(io.StringIO(comma_separated(table))))
    assert len(read) == 2 and len(read[1]) == 2
    for cell in read[1]:
        assert not re.match(r"[=@+-]", cell) or re.fullmatch(r"[-+]?[\d.]+.*", cell)


def test_every_figure_is_as_wide_as_asked_with_its_fonts_inside(planted_run: Path) -> None:
    drawn = {one.name: one.content for one in run_figures(Run(planted_run), formats=("pdf", "svg", "png"))}
    assert len(drawn) == 3 * 7
    assert {name.split("-")[0] for name in drawn} == {"scale", "histogram", "occupations"}
    for name, content in drawn.items():
        if name.endswith(".png"):
            assert Image.open(io.BytesIO(content)).width == round(3.25 * 300)
        elif name.endswith(".pdf"):
            assert content.startswith(b"%PDF") and b"/FontFile2" in content
            assert float(re.findall(rb"/MediaBox \[ 0 0 ([\d.]+)", content)[0]) == pytest.approx(3.25 * 72, abs=0.5)
        else:
            root = ElementTree.fromstring(content)
            assert root.get("width") == "234pt"
            assert not list(root.iter("{http://www.w3.org/2000/svg}text"))


def test_figures_of_a_comparison_and_of_a_page(planted_run: Path, mild_run: Path) -> None:
    compared = compare([planted_run, mild_run], Choices(permutations=10, resamples=10))
    drawn = {one.name: one.content for one in comparison_figures(compared, width="page", formats=("png",))}
    assert sorted(name.split("-")[0] for name in drawn) == ["ranks", "ranks", "scatter", "scatter"]
    assert {Image.open(io.BytesIO(content)).width for content in drawn.values()} == {round(6.75 * 300)}
    with pytest.raises(EquipoiseError, match="width must be one of column, page"):
        list(comparison_figures(compared, width="poster"))
    with pytest.raises(EquipoiseError, match="format must be one of pdf, svg, png"):
        list(run_figures(Run(planted_run), formats=("gif",)))


def test_hostile_names_are_drawn_as_they_are(hostile_run: Path) -> None:
    for one in run_figures(Run(hostile_run), formats=("svg",)):
        ElementTree.fromstring(one.content)
        assert re.fullmatch(r"[\w.+-]+\.svg", one.name)
