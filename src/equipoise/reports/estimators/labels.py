"""Which estimator agrees best with people: runs on data with human labels in, tables and sentences out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...catalog import find
from ...measuring.estimators import Resamples, usable_estimators
from ...measuring.human_labels import LabelStudy, is_labelled_by_people, label_study
from ...measuring.items import Items
from ...records import UndefinedMetric
from ...runs.measurements import span
from ...runs.run import Run
from ...stats.bounded import ENOUGH_UNITS
from ...uncertainty import ESTIMATORS
from ..comparison.matching import named_apart
from ..terminal.tables import NOTHING, empty_table, literal, texts
from .studies import estimate_columns


@dataclass(frozen=True)
class LabelPart:
    """The study of one run on one dataset and task."""

    run: str
    dataset: str
    task: str
    study: LabelStudy

    @property
    def title(self) -> str:
        """What the study is about, in words."""
        return f"{self.run} and people on {self.dataset} · {self.task}"


def label_parts(
    runs: Sequence[Path], plan: Resamples | None = None, *, estimators: Sequence[str] | None = None
) -> list[LabelPart]:
    """Return the studies of all parts that people have labelled; empty where there are none."""
    plan = plan or Resamples()
    parts = []
    for run in named_apart([Run(path) for path in runs]):
        for part in run.parts:
            items = Items(part.outcomes)
            if not is_labelled_by_people(items) or len(set(part.outcomes.cluster_id.tolist())) < ENOUGH_UNITS:
                continue
            chosen = [find(name, ESTIMATORS, kind="estimator") for name in estimators or ()]
            try:
                studied = label_study(items, chosen or usable_estimators([items]), plan)
            except UndefinedMetric:
                continue
            parts.append(LabelPart(run.name, part.dataset, part.task, studied))
    return parts


def label_answer(part: LabelPart) -> str:
    """Return whether any estimator tells better than the first one where the model agrees with people."""
    study = part.study
    first = study.rows[0]
    best = max(study.rows, key=lambda row: row.auroc.value)
    sentence = (
        f"{part.title}: they agree in {span(study.agreement)} of {study.agreement.n:,} items. Certainty by"
        f" {first.estimator} tells where with an AUROC of {span(first.auroc)}"
    )
    if study.ahead:
        names = ", ".join(row.estimator for row in study.ahead)
        return f"{sentence}; {names} tell it better, {best.estimator} best with {span(best.auroc)}."
    lower = f"; {', '.join(row.estimator for row in study.behind)} tell it less well" if study.behind else ""
    return f"{sentence}; no estimator is shown to tell it better{lower}."


def label_report(part: LabelPart) -> RenderableType:
    """Return the answer, and each estimator's AUROC and calibration."""
    heading = Text(literal(part.title), style="bold")
    return Group(heading, Text(literal(label_answer(part))), Text(), _table(part), Text())


def _table(part: LabelPart) -> Table:
    table = empty_table("estimator", "n", "AUROC", "ahead of the first", "calibration error", "overconfidence")
    for row in part.study.rows:
        ahead = NOTHING if row.ahead is None else span(row.ahead)
        cells = [span(row.auroc), ahead, span(row.calibration_error), span(row.overconfidence)]
        table.add_row(*texts([row.estimator, f"{row.auroc.n:,}", *cells]))
    return table


def label_table(parts: Sequence[LabelPart]) -> pd.DataFrame:
    """Return the rows of `human.csv`."""
    rows = []
    for part in parts:
        named = {"dataset": part.dataset, "task": part.task, "model": part.run}
        rows.append({**named, "estimator": "", "statistic": "agreement", **estimate_columns(part.study.agreement)})
        for row in part.study.rows:
            for statistic in ("auroc", "calibration_error", "overconfidence", "ahead"):
                estimate = getattr(row, statistic)
                if estimate is not None:
                    values = estimate_columns(estimate)
                    rows.append({**named, "estimator": row.estimator, "statistic": statistic, **values})
    return pd.DataFrame(rows)
