"""The same sentences asked in several ways: does offering options make a model look fairer?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ...measuring.task_pairs import TaskDifference, task_differences
from ...metrics import METRICS
from ...records import OPEN_ANSWER, Measurement
from ...runs.measurements import kind_title
from ...runs.run import Part, Run
from ...stats.paired import Trial

SHOWN = (
    *("flip_rate", "ucerf", "ucerf_signed", "accuracy", "certainty", "candidate_mass"),
    *("both_chosen", "unparsed_share"),
)
"""The metrics of the table, where a task has them."""

FAIRNESS = ("flip_rate", "ucerf", "ucerf_signed")
"""The metrics that the answer goes by."""

LIMIT = 0.05
"""A difference is called one where its corrected p is under this and its interval does not hold 0."""


@dataclass(frozen=True)
class TaskRow:
    """One task: whether it offers options, and its metrics."""

    task: str
    options: bool
    cells: Sequence[Measurement | None]


@dataclass(frozen=True)
class TaskTable:
    """The tasks on one dataset and type."""

    title: str
    metrics: Sequence[str]
    rows: Sequence[TaskRow]


@dataclass(frozen=True)
class TaskReport:
    """The tasks of one dataset side by side; differences are of a task with options less one without."""

    dataset: str
    tables: Sequence[TaskTable]
    differences: Sequence[TaskDifference]
    sentences: Sequence[str]


@lru_cache(maxsize=4)
def task_reports(run: Run) -> tuple[TaskReport, ...]:
    """Return a report for each dataset that was asked as several tasks; none for sentence pairs."""
    datasets: dict[str, list[Part]] = {}
    for part in run.parts:
        if not (part.outcomes.sides != "").any():
            datasets.setdefault(part.dataset, []).append(part)
    return tuple(_report(dataset, parts) for dataset, parts in datasets.items() if len(parts) > 1)


def offers_options(part: Part) -> bool:
    """Return whether the task lists the answers to choose from."""
    return bool(part.run.manifest.tasks.get(part.task, {}).get("options"))


def is_open(part: Part) -> bool:
    """Return whether the task was answered freely."""
    return any(OPEN_ANSWER in flags.split(",") for flags in set(part.outcomes.flags.tolist()))


def _report(dataset: str, parts: Sequence[Part]) -> TaskReport:
    offered = [part.task for part in parts if offers_options(part)]
    pairs = [(task, other.task) for task in offered for other in parts if other.task not in offered]
    trial = Trial(level=parts[0].run.level)
    differences = task_differences({part.task: part.outcomes for part in parts}, pairs, trial)
    tables = [_table(dataset, kind, parts) for kind in parts[0].kinds]
    return TaskReport(dataset, tables, differences, list(_sentences(differences)))


def _table(dataset: str, kind: str, parts: Sequence[Part]) -> TaskTable:
    names = [name for name in SHOWN if any(part.measured.get(name, type=kind) is not None for part in parts)]
    rows = []
    for part in parts:
        # What is written freely is not scored, so it has no probability.
        hidden = {"candidate_mass"} if is_open(part) else set()
        cells = [None if name in hidden else part.measured.get(name, type=kind) for name in names]
        rows.append(TaskRow(part.task, offers_options(part), cells))
    return TaskTable(f"{dataset}, {kind_title(kind)}", names, rows)


def is_detected(difference: TaskDifference) -> bool:
    """Return whether test and interval both show a difference: with few sentences the interval may still hold 0."""
    estimate = difference.estimate
    return estimate.p_corrected < LIMIT and estimate.excludes_zero


def looks_fairer(difference: TaskDifference) -> bool | None:
    """Return whether the task with options looks fairer; None where no difference is detected."""
    if not is_detected(difference):
        return None
    return (difference.estimate.value > 0) == (METRICS[difference.metric].better == "higher")


def _sentences(differences: Sequence[TaskDifference]) -> Iterator[str]:
    """Yield the answer with counts, then a sentence on the flips of each pair of tasks and type."""
    tested = [difference for difference in differences if difference.metric in FAIRNESS]
    if not tested:
        return
    verdicts = [looks_fairer(difference) for difference in tested]
    yield (
        "Does offering options make the model look fairer? It does in"
        f" {verdicts.count(True)} of {len(tested)} tested differences, the opposite holds in {verdicts.count(False)},"
        f" and in {verdicts.count(None)} no difference is detected."
    )
    for difference in tested:
        if difference.metric == "flip_rate":
            yield _flips(difference)


def _flips(difference: TaskDifference) -> str:
    estimate = difference.estimate
    kind = f"{kind_title(difference.kind).partition(' (')[0]} " if difference.kind else ""
    numbers = (
        f"{abs(100 * estimate.value):.1f} points {'more' if estimate.value > 0 else 'less'} often"
        f" [{100 * estimate.low:+.1f}, {100 * estimate.high:+.1f}]"
    )
    remark = "" if is_detected(difference) else ", which may be chance"
    return (
        f"With options ({difference.first}) the answers of {kind}sets change {numbers} than without"
        f" ({difference.second}){remark} (n = {estimate.n:,}, p = {estimate.p_corrected:.2g} after Holm's correction"
        f" for {difference.tests} tests)."
    )
