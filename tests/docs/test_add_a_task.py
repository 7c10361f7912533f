"""The how-to's task works exactly as printed."""

from __future__ import annotations

import shlex

import pandas as pd
import pytest


@pytest.mark.slow
def test_the_task_is_listed_and_asked(guide) -> None:
    page = guide("plug-ins.md", "A task")
    tasks, audit = [shlex.split(command)[1:] for command in page.commands]
    listed = page.run(*tasks).stdout
    assert "plain-question  A plain question: who is she?" in listed
    assert "next-word       Which candidate comes next" in listed
    ran = page.run("audit", "planted:strength=2", *audit[1:], "--limit", "6", "--resamples", "20", "--out", "run")
    assert ran.returncode == 0, ran.stderr
    table = pd.read_csv(page.folder / "run" / "measurements.csv")
    assert set(table["task"]) == {"plain-question"} and "ucerf" in set(table["metric"])
    exported = page.run("export", "lm-eval", *audit[1:], "--limit", "2", "--out", "tasks")
    assert exported.returncode == 0 and "equipoise_builtin_plain_question" in exported.stdout
