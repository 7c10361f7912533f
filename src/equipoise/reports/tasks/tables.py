"""The tasks side by side in a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...metrics import METRICS
from ...records import Measurement
from ...runs.measurements import ARROWS, interval, kind_title, span
from ...runs.run import Run
from ..terminal.tables import NOTHING, FirstThatFits, empty_table, literal, texts
from .views import TaskReport, TaskTable, task_reports


def task_summary(run: Run) -> RenderableType | None:
    """Return each dataset's tasks side by side with their tested differences; None where none has several tasks."""
    blocks: list[RenderableType] = []
    for report in task_reports(run):
        blocks.append(Text(literal(f"the tasks side by side on {report.dataset}"), style="bold"))
        blocks += [Text(literal(sentence)) for sentence in report.sentences]
        for table in report.tables:
            blocks += [Text(), FirstThatFits([[_wide(table)], _turned(table)])]
        if report.differences:
            blocks += [Text(), _differences(report)]
        blocks.append(Text())
    return Group(*blocks) if blocks else None


def _wide(table: TaskTable) -> Table:
    """Return a row for each metric, and the value and n of each task."""
    shown = empty_table(table.title, *(heading for row in table.rows for heading in (row.task, "n")))
    for place, name in enumerate(table.metrics):
        cells = [text for row in table.rows for text in _value(row.cells[place])]
        shown.add_row(*texts([_heading(name), *cells]))
    return shown


def _turned(table: TaskTable) -> list[Table]:
    """Return a table for each metric with a row for each task."""
    tables = []
    for place, name in enumerate(table.metrics):
        shown = empty_table(f"{table.title}: {_heading(name)}", "", "n")
        for row in table.rows:
            shown.add_row(*texts([f"  {row.task}", *_value(row.cells[place])]))
        tables.append(shown)
    return tables


def _value(cell: Measurement | None) -> tuple[str, str]:
    return (NOTHING, "") if cell is None else (span(cell), f"{cell.n:,}")


def _heading(name: str) -> str:
    return f"{name} {ARROWS[METRICS[name].better]}".strip()


def _differences(report: TaskReport) -> Table:
    shown = empty_table("with options - without", "type", "metric", "difference", "n", "p, Holm")
    for difference in report.differences:
        value = f"{difference.estimate.value:+.3f} {interval(difference.estimate)}"
        kind = kind_title(difference.kind).partition(" (")[0]
        cells = [
            f"{difference.first} - {difference.second}",
            kind,
            _heading(difference.metric),
            value,
            f"{difference.estimate.n:,}",
        ]
        shown.add_row(*texts([*cells, f"{difference.estimate.p_corrected:.4f}"]))
    return shown
