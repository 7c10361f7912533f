"""The how-to's dataset works exactly as printed."""

from __future__ import annotations

import shlex

import pandas as pd
import pytest


@pytest.fixture
def clinic(guide):
    return guide("plug-ins.md", "A dataset")


@pytest.mark.slow
def test_the_commands_of_the_page_work(clinic) -> None:
    lists, show, check, audit = [shlex.split(command)[1:] for command in clinic.commands]
    assert "clinic" in lists_row(clinic.run(*lists).stdout) and "(CC0-1.0)." in lists_row(clinic.run(*lists).stdout)
    assert "4 in 2" in clinic.run(*show).stdout
    assert "no faults found" in clinic.run(*check).stdout
    ran = clinic.run("audit", "planted:strength=2", *audit[1:], "--out", "run", "--resamples", "20", "--no-html")
    assert ran.returncode == 0, ran.stderr
    assert "on clinic · next-word" in ran.stdout
    asked = pd.read_parquet(clinic.folder / "run" / "examples.parquet")["text"]
    assert len(asked) == 6 and asked.str.contains("because they had").sum() == 2


def lists_row(output: str) -> str:
    return next(line for line in output.splitlines() if line.startswith("clinic "))


def test_a_plug_in_that_cannot_be_loaded_is_listed_with_the_reason(clinic) -> None:
    (clinic.folder / "clinic.py").write_text("import nothing_of_that_name")
    listed = clinic.run("data", "list")
    assert listed.returncode == 0 and "No module named 'nothing_of_that_name'" in lists_row(listed.stdout)
    failed = clinic.run("audit", "planted", "--data", "clinic")
    assert failed.returncode == 2 and "No module named 'nothing_of_that_name'" in failed.stderr
