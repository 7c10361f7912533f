"""Tables for a paper: Markdown, LaTeX (booktabs) and CSV. No name of a model, group or dataset can break one."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ...metrics import METRICS
from ...records import EquipoiseError
from ...runs.measurements import ARROWS, interval, kind_title, span
from ...runs.run import Part, Run
from ..behaviour.views import Estimated, occupations
from ..calibration import views as calibration_views
from ..categories import views as category_views
from ..comparison.compare import Comparison
from ..comparison.page import leaderboard, shown_metrics
from ..identities import views as identity_views

NOTHING = "–"


@dataclass(frozen=True)
class PublishedTable:
    """A table of texts: `name` is its file's, and the first `words` columns are words, the others numbers."""

    name: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1


def run_tables(run: Run) -> Iterator[PublishedTable]:
    """Yield the tables of a run: metrics, groups and occupations of every dataset and task."""
    for part in run.parts:
        stem = f"{part.dataset}-{part.task}"
        yield _metrics(part, f"metrics-{stem}")
        groups = list(_group_rows(part))
        if groups:
            columns = ["type", "group", "n", "accuracy ↑", "certainty", "desirability ↑"]
            yield PublishedTable(f"groups-{stem}", f"{run.name} by group, {part}.", columns, groups, words=2)
        rows = [
            [view.kind, row.name, "" if row.share is None else f"{row.share}", _cell(row.ucerf), _cell(row.odds)]
            for view in occupations(part)
            for row in view.rows
        ]
        if rows:
            columns = ["type", "occupation", "women (%)", f"ucerf {ARROWS['higher']}", f"eo_sum {ARROWS['lower']}"]
            yield PublishedTable(f"occupations-{stem}", f"{run.name} by occupation, {part}.", columns, rows, words=2)
        yield from _categories(part, stem)
        yield from _calibration(part, stem)
        yield from _identities(part, stem)


def _categories(part: Part, stem: str) -> Iterator[PublishedTable]:
    """Yield the metrics by category, nothing for data without categories."""
    table = category_views.run_table(part)
    if table is not None:
        caption = f"{part.run.name} by category on {part}, with {100 * part.run.level:g}% intervals."
        yield PublishedTable(f"categories-{stem}", caption, ["metric", *table.categories], list(_category_rows(table)))


def _category_rows(table: category_views.CategoryTable) -> Iterator[list[str]]:
    for row in table.rows:
        cells = [NOTHING if cell is None else f"{span(cell)} (n = {cell.n})" for cell in row.cells]
        yield [f"{row.label} {ARROWS[row.better]}".strip(), *cells]


def _calibration(part: Part, stem: str) -> Iterator[PublishedTable]:
    """Yield the calibration of every group, nothing where it was not measured."""
    if not calibration_views.is_calibrated(part.measured):
        return
    names = calibration_views.BY_GROUP
    columns = ["group", "n", *(f"{name} {ARROWS[METRICS[name].better]}".strip() for name in names)]
    rows = [
        [row.group or "all", f"{row.n}", *(NOTHING if cell is None else span(cell) for cell in row.cells)]
        for row in calibration_views.group_rows(part.measured)
    ]
    caption = f"Calibration of {part.run.name} on {part}, with {100 * part.run.level:g}% intervals."
    yield PublishedTable(f"calibration-{stem}", caption, columns, rows)


def _identities(part: Part, stem: str) -> Iterator[PublishedTable]:
    """Yield the disparities of every type, augmentation and attribute, nothing without marked sentences."""
    frame = part.identities
    if not identity_views.has_markers(frame):
        return
    rows = []
    for kind in identity_views.kinds_of(frame):
        for way in identity_views.ways_of(frame):
            part_rows = frame[(frame["type"] == kind) & (frame["augmentation"] == way)]
            for disparity in identity_views.disparities(part_rows):
                cells = [disparity.cells.get(name) for name in identity_views.MEASURES]
                n = next((f"{cell.n}" for cell in cells if cell is not None), "")
                p = disparity.p.get(identity_views.MEASURES[0])
                values = [NOTHING if cell is None else span(cell) for cell in cells]
                rows.append(
                    [kind_title(kind), way, disparity.attribute, n, *values, NOTHING if p is None else f"{p:.4f}"]
                )
    headings = [f"{identity_views.HEADINGS[name]} {ARROWS['lower']}" for name in identity_views.MEASURES]
    columns = ["type", "augmentation", "attribute", "n", *headings, "p (Holm)"]
    caption = f"Confidence disparities of {part.run.name} on {part}, with {100 * part.run.level:g}% intervals."
    yield PublishedTable(f"disparities-{stem}", caption, columns, rows, words=3)


def _metrics(part: Part, name: str) -> PublishedTable:
    kinds = part.kinds
    rows = []
    for metric in part.measured.metrics:
        cells = [part.measured.get(metric, type=kind) for kind in kinds]
        if any(cell is not None for cell in cells):
            better = next(cell.better for cell in cells if cell is not None)
            values = [NOTHING if cell is None else f"{span(cell)} (n = {cell.n})" for cell in cells]
            rows.append([f"{metric} {ARROWS[better]}".strip(), *values])
    caption = f"{part.run.name} on {part}, with {100 * part.run.level:g}% intervals from resampling pairs."
    return PublishedTable(name, caption, ["metric", *map(kind_title, kinds)], rows)


def _group_rows(part: Part) -> Iterator[list[str]]:
    for kind in part.kinds:
        for key in part.run.groups:
            if key in ("type", "occupation"):
                continue
            for value, label in part.measured.values_of(key, kind).items():
                cells = [part.measured.at(name, label) for name in ("accuracy", "certainty", "desirability")]
                if any(cell is not None for cell in cells):
                    values = [NOTHING if cell is None else span(cell) for cell in cells]
                    n = next(f"{cell.n}" for cell in cells if cell is not None)
                    yield [kind_title(kind), f"{key}: {value}", n, *values]


def comparison_tables(comparison: Comparison) -> Iterator[PublishedTable]:
    """Yield the tables of a comparison: a leaderboard for each dataset, task and type, and all paired differences."""
    for matched in comparison.matches:
        for kind in matched.kinds:
            metrics = shown_metrics(matched, kind)
            rows = []
            for row in leaderboard(matched, comparison.names, kind):
                rows.append([row["name"], *(_ranked(cell, rank) for cell, rank in row["cells"])])
            name = f"leaderboard-{matched.dataset}-{matched.task}-{kind or 'all'}"
            yield PublishedTable(name, f"Runs on {matched}, {kind_title(kind)}.", ["run", *metrics], rows)
        measured = dict(zip(comparison.names, matched.measured, strict=True))
        for number, table in enumerate(category_views.model_tables(str(matched), measured), start=1):
            name = f"categories-{matched.dataset}-{matched.task}-{number}"
            yield PublishedTable(name, f"{table.title}.", ["run", *table.categories], list(_category_rows(table)))
    rows = [
        [
            test.runs,
            test.data,
            test.metric,
            f"{test.difference.value:+.3f} {interval(test.difference)}",
            f"{test.difference.p:.4f}",
            f"{test.corrected:.4f}",
        ]
        for test in comparison.tests
    ]
    caption = f"Paired differences; p-values corrected by {comparison.choices.correction} over {len(rows)} comparisons."
    yield PublishedTable(
        "differences", caption, ["runs", "data", "metric", "difference", "p", "p corrected"], rows, words=3
    )


def _ranked(cell: Any, rank: int | None) -> str:
    if cell is None:
        return NOTHING
    return f"{cell.value:.3f}" + (f" ({rank})" if rank else "")


def _cell(estimate: Estimated | None) -> str:
    return NOTHING if estimate is None else span(estimate)


def markdown(table: PublishedTable) -> str:
    """Return the table in Markdown's pipes."""
    rule = ["---" if number < table.words else "---:" for number in range(len(table.columns))]
    lines = [
        [_markdown(name) for name in table.columns],
        rule,
        *([_markdown(cell) for cell in row] for row in table.rows),
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + f"\n\n{_markdown(table.caption)}\n"


def latex(table: PublishedTable, *, fit: str = "column") -> str:
    """Return the table in LaTeX with the rules of booktabs, shrunk to one column or a page, or as a longtable.

    A table that is narrower than the column keeps its size.
    """
    if fit not in FITS:
        raise EquipoiseError(f"fit must be one of {', '.join(FITS)}, not {fit!r}")
    columns = "l" * table.words + "r" * (len(table.columns) - table.words)
    rows = [" & ".join(map(_latex, row)) + r" \\" for row in table.rows]
    head = " & ".join(map(_latex, table.columns)) + r" \\"
    named = rf"\caption{{{_latex(table.caption)}}}\label{{tab:{_label(table.name)}}}"
    body = [r"\toprule", head, r"\midrule"]
    if fit == "longtable":
        lines = [
            r"\begingroup\scriptsize",
            rf"\begin{{longtable}}{{{columns}}}",
            named + r" \\",
            *body,
            r"\endhead",
            *rows,
        ]
        lines += [r"\bottomrule", r"\end{longtable}", r"\endgroup"]
        return "% needs \\usepackage{booktabs,longtable}\n" + "\n".join(lines) + "\n"
    frame, width = ("table", r"\columnwidth") if fit == "column" else ("table*", r"\textwidth")
    box = rf"\sbox0{{\begin{{tabular}}{{{columns}}}"
    shrink = rf"\ifdim\wd0>{width}\resizebox{{{width}}}{{!}}{{\usebox0}}\else\usebox0\fi"
    lines = [rf"\begin{{{frame}}}", r"\centering", r"\small", named, box, *body, *rows, r"\bottomrule"]
    lines += [r"\end{tabular}}", shrink, rf"\end{{{frame}}}"]
    return "% needs \\usepackage{booktabs,graphicx}\n" + "\n".join(lines) + "\n"


FITS = ("column", "page", "longtable")
"""How wide a LaTeX table may be."""


def _label(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9-]+", "-", name).strip("-")


def comma_separated(table: PublishedTable) -> str:
    """Return the table as CSV; a name that a spreadsheet would take for a formula is quoted."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([_plain_cell(name) for name in table.columns])
    writer.writerows([_plain_cell(cell) for cell in row] for row in table.rows)
    return out.getvalue()


WRITERS: Mapping[str, tuple[str, Callable[[PublishedTable], str]]] = {
    "markdown": (".md", markdown),
    "latex": (".tex", latex),
    "csv": (".csv", comma_separated),
}
"""Format -> the ending of its files, and how a table is written in it."""


def writers_for(fit: str) -> Mapping[str, tuple[str, Callable[[PublishedTable], str]]]:
    """Return the formats, with LaTeX tables as wide as asked for."""
    return {**WRITERS, "latex": (".tex", partial(latex, fit=fit))}


def file_name(table: PublishedTable, ending: str) -> str:
    """Return a name for the table's file that holds no path, whatever the dataset is called."""
    return re.sub(r"[^\w.+-]+", "-", table.name).strip("-.") + ending


def _one_line(text: str) -> str:
    """Return the text on one line, without what is not a character of a text."""
    joined = " ".join(text.split())
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in joined)


def _markdown(text: str) -> str:
    # Angle brackets too: Markdown passes HTML through.
    escaped = re.sub(r"([\\`*_{}\[\]|#~])", r"\\\1", _one_line(text))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


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
        for character in _one_line(text)
    )


def _plain_cell(text: str) -> str:
    cell = _one_line(text)
    number = re.fullmatch(r"[-+]?[\d.]+( \[.*\])?( \((n = )?\d+\))?", cell)
    return f"'{cell}" if cell[:1] in ("=", "+", "-", "@") and not number else cell
