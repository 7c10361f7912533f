"""Files for a paper: figures as PDF, SVG and PNG, tables as LaTeX (booktabs), Markdown and CSV.

No name of a model, group or dataset can break one.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from ..catalog import find
from ..records import EquipoiseError
from ..records.showing import Chart, Table
from .cells import PlainTable, StrongText, plain
from .markdown import one_line
from .markdown import table as markdown

FITS = ("column", "page", "longtable")
"""How wide a LaTeX table may be."""

PAGE_ROWS = 60
"""Rows that a page of a paper has room for: a longer table goes over several pages."""

TABLE_FORMATS = ("markdown", "latex", "csv")


def figure_files(
    charts: Iterable[Chart], formats: Sequence[str], width: str, *, title: bool = False
) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of every file of the charts that have a name; a figure to look at has a `title`."""
    from .figure import files

    for chart in charts:
        if chart.name:
            drawn = files(chart, formats, width, title=title)
            yield from ((f"{file_stem(chart.name)}.{ending}", content) for ending, content in drawn)


def table_files(tables: Iterable[Table], formats: Sequence[str], fit: str = "column") -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of every file of the tables that have a name."""
    if fit not in FITS:
        raise EquipoiseError(f"fit must be one of {', '.join(FITS)}, not {fit!r}")
    writers: dict[str, tuple[str, Callable[[PlainTable], str]]] = {
        "markdown": (".md", markdown),
        "latex": (".tex", partial(latex, fit=fit)),
        "csv": (".csv", comma_separated),
    }
    chosen = [find(name, writers, kind="format") for name in formats]
    for table in tables:
        if table.name:
            content = plain(table)
            yield from ((file_stem(table.name) + ending, write(content).encode()) for ending, write in chosen)


def file_stem(name: str) -> str:
    """Return a file name without path or ending, whatever a dataset or model is called."""
    return re.sub(r"[^\w.+-]+", "-", name).strip("-.")


_ONE_COLUMN = (
    r"\makeatletter\if@twocolumn\onecolumn\let\columnsafter\twocolumn\else\let\columnsafter\relax\fi\makeatother"
)
"""A longtable needs pages of one column: those of a paper with two go on after it."""


def latex(table: PlainTable, *, fit: str = "column") -> str:
    """Return the table in LaTeX with the rules of booktabs, shrunk to one column or a page, or as a longtable.

    A table that is narrower than the column keeps its size. One that is longer than a page is a longtable, whatever was
    asked for: else its end would be cut.
    """
    if len(table.rows) > PAGE_ROWS:
        fit = "longtable"
    columns = "".join("l" if column.words else "r" for column in table.columns)
    rows = [_latex_row(row, len(table.columns)) for row in table.rows]
    head = " & ".join(_latex(column.title) for column in table.columns) + r" \\"
    caption = " ".join([f"{table.title}.", *table.notes])
    named = rf"\caption{{{_latex(caption)}}}\label{{tab:{re.sub(r'[^a-zA-Z0-9-]+', '-', table.name).strip('-')}}}"
    body = [r"\toprule", head, r"\midrule"]
    if fit == "longtable":
        lines = [_ONE_COLUMN, r"\begingroup\scriptsize", rf"\begin{{longtable}}{{{columns}}}", named + r" \\", *body]
        lines += [r"\endfirsthead", *body, r"\endhead", *rows]
        lines += [r"\bottomrule", r"\end{longtable}", r"\endgroup", r"\columnsafter"]
        return "% needs \\usepackage{booktabs,longtable}\n" + "\n".join(lines) + "\n"
    frame, width = ("table", r"\columnwidth") if fit == "column" else ("table*", r"\textwidth")
    box = rf"\sbox0{{\begin{{tabular}}{{{columns}}}"
    shrink = rf"\ifdim\wd0>{width}\resizebox{{{width}}}{{!}}{{\usebox0}}\else\usebox0\fi"
    lines = [rf"\begin{{{frame}}}", r"\centering", r"\small", named, box, *body, *rows, r"\bottomrule"]
    lines += [r"\end{tabular}}", shrink, rf"\end{{{frame}}}"]
    return "% needs \\usepackage{booktabs,graphicx}\n" + "\n".join(lines) + "\n"


def _latex_row(row: Sequence[str], columns: int) -> str:
    if len(row) == 1 < columns:
        return rf"\multicolumn{{{columns}}}{{l}}{{\emph{{{_latex(row[0])}}}}} \\"
    cells = (rf"\textbf{{{_latex(cell)}}}" if isinstance(cell, StrongText) else _latex(cell) for cell in row)
    return " & ".join(cells) + r" \\"


_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "{''}",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "–": "--",
    "−": "$-$",
    "·": r"\textperiodcentered{}",
    "[": "{[}",
    "]": "{]}",
    "\N{REPLACEMENT CHARACTER}": "?",
}
"""What LaTeX would take for a command; a bracket after a row's end would be read as its height."""


def _latex(text: str) -> str:
    # Letters of Latin alphabets are set up in every LaTeX; any other would end pdflatex with an error.
    return "".join(
        _LATEX.get(
            character, character if character.isascii() or (character.isalpha() and ord(character) < 0x180) else "?"
        )
        for character in one_line(text)
    )


def comma_separated(table: PlainTable) -> str:
    """Return the table as CSV; a name that a spreadsheet would take for a formula is quoted.

    A heading over several rows is in a first column of each of them.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    is_heading = [len(row) == 1 < len(table.columns) for row in table.rows]
    above = [""] if any(is_heading) else []
    writer.writerow([*(["of"] if above else []), *(_cell(column.title) for column in table.columns)])
    for row, heads in zip(table.rows, is_heading, strict=True):
        cells = [_cell(cell) for cell in row]
        if heads:
            above = cells
        else:
            writer.writerow([*above, *cells])
    return out.getvalue()


def _cell(text: str) -> str:
    cell = one_line(text)
    number = re.fullmatch(r"[-+]?[\d.,]+%?( \[.*\])?( \((n = )?\d+\))?", cell)
    return f"'{cell}" if cell[:1] in ("=", "+", "-", "@") and not number else cell
