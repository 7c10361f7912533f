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
from kept_texts import assert_kept
from sample_sections import TABLES

from equipoise.media.cells import PlainColumn, PlainTable, plain
from equipoise.media.markdown import table as markdown
from equipoise.media.paper import comma_separated, figure_files, file_stem, latex, table_files
from equipoise.records import EquipoiseError
from equipoise.records.showing import Chart, Column, Row, Table
from equipoise.report import run_figures, run_tables, tables
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
        made = [plain(table) for run in runs for table in tables(Run(run))]
        text = PAPER % "\\clearpage\n".join(latex(table, fit=fit) for table in made)
        (tmp_path / f"{name}.tex").write_text(text, encoding="utf-8")
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", f"{name}.tex"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True)
        log = done.stdout.decode(errors="replace")
        assert done.returncode == 0, log[-2000:]
        # A hostile name may be wider than a line of its caption.
        assert name == "hostile" or "Overfull \\hbox" not in log


def test_calibration_has_tables_and_figures(cloze_runs: tuple[Path, Path]) -> None:
    run = Run(cloze_runs[0])
    table = plain(next(table for table in tables(run) if table.topic == "calibration"))
    ece = run.parts[0].measured.get("ece")
    assert [column.title for column in table.columns[:2]] == ["group", "ece ↓"]
    assert table.rows[0][1] == f"{ece}" and table.rows[0][-1] == f"{ece.n}"
    names = {name.split("-")[0] for name, _ in run_figures(run, formats=("svg",))}
    assert {"reliability", "workforce"} <= names


def test_every_table_of_a_run_in_every_format(planted_run: Path) -> None:
    run = Run(planted_run)
    made = {table.name: plain(table) for table in tables(run)}
    assert {"metrics-builtin-next-word", "groups-builtin-next-word-type2"} <= set(made)
    row = run.parts[0].measured.get("ucerf", type="type2")
    for table in made.values():
        latex_is_sound(latex(table), len(table.columns), len(table.rows))
        assert len(markdown(table).splitlines()) == len(table.rows) + 4
        read = list(csv.reader(io.StringIO(comma_separated(table))))
        assert read[0] == [column.title for column in table.columns] and len(read) == len(table.rows) + 1
    metrics = made["metrics-builtin-next-word"]
    assert ["ucerf ↑", f"{row}"] in [list(cells[:2]) for cells in metrics.rows]
    assert f"{row}".replace("[", "{[}").replace("]", "{]}") in latex(metrics)
    files = dict(run_tables(run, formats=("markdown", "latex", "csv")))
    assert set(files) == {f"{name}{ending}" for name in made for ending in (".md", ".tex", ".csv")}
    assert files["metrics-builtin-next-word.csv"].decode() == comma_separated(metrics)


def test_hostile_names_break_no_table(hostile_run: Path) -> None:
    for table in map(plain, tables(Run(hostile_run))):
        latex_is_sound(latex(table), len(table.columns), len(table.rows))
        lines = markdown(table).splitlines()[: len(table.rows) + 2]
        assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {len(table.columns) + 1}
        assert "<script" not in markdown(table)
        assert "/" not in file_stem(table.name) and ".." not in file_stem(table.name)


def test_latex_has_the_letters_up_to_latin_extended_a_and_no_other() -> None:
    letters = [chr(code) for code in range(0xA0, 0x2000) if chr(code).isalpha()]
    table = PlainTable("", [PlainColumn("a", words=True), PlainColumn("b")], [["".join(letters), ""]], name="letters")
    (shown,) = re.findall(r"^(.*) & ", latex(table).partition("\\midrule")[2], re.M)
    last = "\N{LATIN SMALL LETTER LONG S}"  # of the block Latin Extended-A
    assert dict(zip(letters, shown, strict=True)) == {letter: letter if letter <= last else "?" for letter in letters}


@given(st.lists(st.text(max_size=30), min_size=2, max_size=2))
def test_any_text_at_all_is_a_cell(cells: list[str]) -> None:
    table = PlainTable(cells[0], [PlainColumn("a", words=True), PlainColumn("b")], [cells], name="any")
    latex_is_sound(latex(table), 2, 1)
    lines = markdown(table).splitlines()
    assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", lines[2])) == 3
    read = list(csv.reader(io.StringIO(comma_separated(table))))
    assert len(read) == 2 and len(read[1]) == 2
    for cell in read[1]:
        assert not re.match(r"[=@+-]", cell) or re.fullmatch(r"[-+]?[\d.]+.*", cell)


@pytest.mark.slow
@pytest.mark.parametrize(("width", "inches"), [("column", 3.25), ("page", 6.75)])
def test_every_figure_of_a_run_is_exactly_as_wide_as_asked(
    planted_run: Path, cloze_runs: tuple[Path, Path], width: str, inches: float
) -> None:
    for path in (planted_run, cloze_runs[0]):
        drawn = dict(run_figures(Run(path), width=width))
        assert drawn
        for content in drawn.values():
            assert float(re.findall(rb"/MediaBox \[ 0 0 ([\d.]+)", content)[0]) == pytest.approx(72 * inches, abs=0.01)


@pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="needs pdflatex: apt-get install texlive-latex-recommended"
)
@pytest.mark.parametrize("columns", ["onecolumn", "twocolumn"])
def test_a_table_longer_than_a_page_goes_over_several(tmp_path: Path, columns: str) -> None:
    rows = [Row((f"metric {number}", number / 200)) for number in range(200)]
    long = Table("All metrics", (Column("metric", words=True), Column("value")), rows, "all")
    short = Table("Some", long.columns, rows[:20], "some")
    files = {name: content.decode() for name, content in table_files([long, short], ("latex",))}
    assert r"\begin{longtable}" in files["all.tex"] and r"\begin{longtable}" not in files["some.tex"]
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    (tmp_path / "paper.tex").write_text(
        PAPER.replace("twocolumn", columns) % "Before.\n\\input{all}\n\\input{some}\nAfter.", encoding="utf-8"
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout[-600:]
    pages = re.search(r"Output written on paper.pdf \((\d+) pages", made.stdout)
    assert pages is not None and int(pages.group(1)) >= 3
    assert "Overfull \\vbox" not in made.stdout


def test_unknown_choices_are_one_sentence(planted_run: Path) -> None:
    with pytest.raises(EquipoiseError, match="format must be one of pdf, svg, png"):
        list(run_figures(Run(planted_run), formats=("gif",)))
    with pytest.raises(EquipoiseError, match="fit must be one of column, page, longtable, not 'poster'"):
        list(table_files([], ("csv",), "poster"))
    with pytest.raises(EquipoiseError, match="unknown format 'word'"):
        list(table_files([], ("word",)))


def test_hostile_names_are_drawn_as_they_are(hostile_run: Path) -> None:
    for name, content in run_figures(Run(hostile_run), formats=("svg",)):
        ElementTree.fromstring(content)
        assert re.fullmatch(r"[\w.+-]+\.svg", name)


def test_a_heading_over_rows_is_in_each_of_them_in_a_sheet() -> None:
    columns = (PlainColumn("metric", words=True), PlainColumn("value"))
    table = PlainTable("t", columns, [["first"], ["ucerf", "0.9"], ["fp", "0.8"], ["second"], ["ucerf", "0.7"]])
    rows = list(csv.reader(io.StringIO(comma_separated(table))))
    assert rows == [
        ["of", "metric", "value"],
        ["first", "ucerf", "0.9"],
        ["first", "fp", "0.8"],
        ["second", "ucerf", "0.7"],
    ]


def test_tables_are_written_as_they_were_kept() -> None:
    for fit in ("column", "page", "longtable"):
        files = {name: text.decode() for name, text in table_files(TABLES, ("latex",), fit)}
        assert_kept(f"media/paper-{fit}", "\n\n".join(f"==== {name}\n{text}" for name, text in files.items()))
    files = {name: text.decode() for name, text in table_files(TABLES, ("markdown", "csv"))}
    assert_kept("media/paper", "\n\n".join(f"==== {name}\n{text}" for name, text in files.items()))
    assert [name for name, _ in table_files(TABLES, ("csv",))] == ["metrics-d-t.csv", "models.csv", "many.csv"]


@pytest.mark.parametrize(("rows", "is_long"), [(60, False), (61, True)])
def test_a_table_that_just_fits_on_a_page_is_whole(rows: int, is_long: bool) -> None:
    table = PlainTable("t", [PlainColumn("a", words=True)], [["x"]] * rows)
    assert (r"\begin{longtable}" in latex(table)) == is_long and (
        r"\begin{longtable}" in latex(table, fit="page")
    ) == is_long


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        *((text, text) for text in ("-0.5", "+0.5", "-1,234", "-5%", "-0.1 [-0.2, 0.1]", "-0.5 (n = 7)", "-0.5 (7)")),
        *((text, f"'{text}") for text in ("=1+1", "+a", "-a", "@x", "-0.5a", "-1 [0] x", "--1")),
        *((text, text) for text in ("a=1", "a", "", "0.5", " \u2192 b".strip())),
    ],
)
def test_a_formula_is_quoted_and_a_number_is_not(text: str, cell: str) -> None:
    sheet = comma_separated(PlainTable("", [PlainColumn("a"), PlainColumn("b")], [[text, "x"]]))
    assert list(csv.reader(io.StringIO(sheet)))[1][0] == cell


@pytest.mark.parametrize(
    ("name", "stem"),
    [("a b/c", "a-b-c"), ("../x", "x"), ("a.b+c-d_e", "a.b+c-d_e"), ("-é·漢.", "é-漢"), ("a  b", "a-b")],
)
def test_a_file_name_is_plain(name: str, stem: str) -> None:
    assert file_stem(name) == stem


def test_only_charts_with_a_name_have_files_as_wide_as_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(
        "equipoise.media.figure.files", lambda *given, **named: (asked.append((given, named)), [("png", b"1")])[1]
    )
    chart, unnamed = Chart("", [], "a b"), Chart("", [])
    assert list(figure_files([chart, unnamed], ("png",), "page", title=True)) == [("a-b.png", b"1")]
    assert list(figure_files([chart], ("svg",), "column")) == [("a-b.png", b"1")]
    assert asked == [((chart, ("png",), "page"), {"title": True}), ((chart, ("svg",), "column"), {"title": False})]
