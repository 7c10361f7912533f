"""The tables of a paper by their numbers: what is printed, and what the runs here give."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ..datasets.identity import NAME as IDENTITY
from ..records import EquipoiseError
from ..reports.paper.publication import PublishedTable, file_name, writers_for
from ..runs.files import write_file
from ..runs.measurements import span
from ..runs.run import Part, Run
from ..suites.status import DONE, Status
from .experiments import Paper
from .published import ERRATA, Published, published

NOTHING = "–"
DOUBTFUL = "†"
HEADINGS = ("data", "task", "type", "marker on", "attribute", "group", "metric")

Parts = Mapping[tuple[str, str, str], Part]
"""A finished cell of the suite by model, data and task, as the suite names them."""


def finished_parts(status: Status) -> dict[tuple[str, str, str], Part]:
    """Return the runs of the cells that are done."""
    return {(c.model.name, c.data, c.task): Run(c.folder, name=c.model.name).parts[0] for c in status.of(DONE)}


def parts_of(runs: Iterable[Run]) -> dict[tuple[str, str, str], Part]:
    """Return the parts of finished runs by model, data and task, as the suite of a paper would name them."""
    parts = {}
    for run in runs:
        for part in run.parts:
            # Marked sentences are named after their base, too.
            data = IDENTITY if part.dataset.startswith(f"{IDENTITY}-") else part.dataset
            if (run.name, data, part.task) in parts:
                raise EquipoiseError(f"two runs are of {run.name} on {data} as {part.task}; name only one of them")
            parts[run.name, data, part.task] = part
    return parts


def write_tables(paper: Paper, parts: Parts, folder: Path) -> list[Path]:
    """Return the files of the paper's tables: Markdown, CSV and LaTeX of each."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for table in paper_tables(paper, parts):
        for ending, write in writers_for("longtable").values():
            paths.append(folder / file_name(table, ending))
            write_file(paths[-1], write(table).encode())
    return paths


def paper_tables(paper: Paper, parts: Parts) -> Iterator[PublishedTable]:
    """Yield each table or figure with numbers of the paper: columns of the published models, then of those here."""
    models = list(dict.fromkeys(model for model, _, _ in parts))
    for place, title in paper.places.items():
        printed = [number for number in published() if (number.paper, number.place) == (paper.name, place)]
        yield _table(paper, place, title, printed, {model: _of(parts, model) for model in models})


def _of(parts: Parts, model: str) -> dict[tuple[str, str], Part]:
    return {(data, task): part for (name, data, task), part in parts.items() if name == model}


def _table(
    paper: Paper,
    place: str,
    title: str,
    printed: Sequence[Published],
    ours: Mapping[str, Mapping[tuple[str, str], Part]],
) -> PublishedTable:
    theirs = list(dict.fromkeys(number.model for number in printed))
    cells = {number.cell: number for number in reversed(printed)}
    order = list(dict.fromkeys(number.cell for number in printed))
    used = [number for number, _ in enumerate(HEADINGS) if any(cell[number] for cell in order)]
    values = {(number.cell, number.model): number for number in printed}
    rows = []
    for cell in order:
        known = [values.get((cell, model)) for model in theirs]
        paper_cells = [NOTHING if n is None else n.printed + (DOUBTFUL if n.doubt else "") for n in known]
        rows.append(
            [
                *(cell[number] for number in used),
                *paper_cells,
                *(_our_value(cells[cell], measured) for measured in ours.values()),
            ]
        )
    columns = [
        *(HEADINGS[number] for number in used),
        *(f"paper: {model}" for model in theirs),
        *map("here: {}".format, ours),
    ]
    return PublishedTable(
        f"{paper.name}-{place}".lower(), _caption(place, title, printed), columns, rows, words=len(used)
    )


def _caption(place: str, title: str, printed: Sequence[Published]) -> str:
    doubts = list(dict.fromkeys(number.doubt for number in printed if number.doubt))
    notes = " ".join(f"{DOUBTFUL} {ERRATA[name].text}" for name in doubts)
    return f"{place}: {title}. Printed values are the paper's, those here have 95% intervals and n. {notes}".strip()


def _our_value(wanted: Published, parts: Mapping[tuple[str, str], Part]) -> str:
    """Return our value of a printed number with its interval and n; a dash where no run has it."""
    part = parts.get((wanted.dataset, wanted.task))
    if part is None:
        return NOTHING
    if wanted.metric in ("tpr", "tpd"):
        return _case_study(part, wanted)
    measured = part.measured.get(wanted.metric, **wanted.groups)
    return NOTHING if measured is None else f"{span(measured)} (n = {measured.n:,})"


def _case_study(part: Part, wanted: Published) -> str:
    """Return TPR or TPD of nurses and physicians: of the sentences about the physician, the male-stereotyped one."""
    items = part.items
    rows = items[(items["type"] == wanted.type) & (items["occupation"] == "physician") & (items["other"] == "nurse")]
    rows = rows[rows["stereotype"] == wanted.gender]
    if wanted.metric == "tpd":
        rows = rows[rows["correct"] == 1]
    if rows.empty:
        return NOTHING
    values = rows["correct"] if wanted.metric == "tpr" else (rows["desirability"] + 1) / 2
    return f"{float(values.mean()):.3f} (n = {len(rows):,})"
