"""The guide's engine works exactly as printed."""

from __future__ import annotations

import shlex

import pytest


@pytest.fixture
def page(guide):
    installed = guide("plug-ins.md", "An engine")
    (installed.folder / "corpus.txt").write_text("the nurse and the driver and the nurse " * 5)
    return installed


@pytest.mark.slow
def test_the_engine_is_listed_audits_and_refuses_to_write(page) -> None:
    engines, audit = [shlex.split(command)[1:] for command in page.commands]
    assert (
        "word-counts:  Word frequencies of a text file, as a baseline: `word-counts:FILE`." in page.run(*engines).stdout
    )
    ran = page.run(*audit, "--limit", "4", "--out", "run", "--resamples", "20")
    assert ran.returncode == 0, ran.stderr
    assert "word-counts" in ran.stdout
    missing = page.run("audit", "word-counts:none.txt")
    assert missing.returncode == 2 and "word-counts: none.txt is not a file" in missing.stderr
    silent = page.run(*audit, "--task", "next-word-cot", "--limit", "2", "--out", "x")
    assert silent.returncode == 2 and "word-counts cannot write text" in silent.stderr


def test_a_plug_in_that_cannot_be_loaded_is_listed_with_the_reason(page) -> None:
    (page.folder / "word_counts.py").write_text("import nothing_of_that_name")
    listed = page.run("list", "engines")
    assert listed.returncode == 0 and "No module named 'nothing_of_that_name'" in listed.stdout
