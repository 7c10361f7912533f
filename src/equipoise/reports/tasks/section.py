"""The section of a run's page on the tasks side by side."""

from __future__ import annotations

from ...metrics import METRICS
from ...runs.run import Run
from ..page.rendering import Section, render
from .views import is_detected, looks_fairer, task_reports


def tasks(run: Run) -> Section | None:
    """Return the tasks side by side with tested differences; None where no dataset was asked as several tasks."""
    reports = task_reports(run)
    if not reports:
        return None
    better = {name: metric.better for name, metric in METRICS.items()}
    labels = {name: metric.label for name, metric in METRICS.items()}
    tests = {"looks_fairer": looks_fairer, "is_detected": is_detected}
    body = render("tasks.html", reports=reports, better=better, labels=labels, level=run.level, **tests)
    return Section("tasks", "The same sentences, asked in several ways", body)
