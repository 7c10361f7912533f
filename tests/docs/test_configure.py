"""The commands of "Configure" work exactly as printed."""

from __future__ import annotations

import shlex
import tomllib

import pytest


@pytest.mark.slow
def test_the_file_and_the_commands_of_the_page_work(guide) -> None:
    page = guide("configure.md")
    init, audit, shown, doctor, completion = [shlex.split(command)[1:] for command in page.commands]
    ran = page.run(*audit, "--resamples", "20", "--no-html", "--out", "run")
    assert ran.returncode == 0, ran.stderr
    assert "next-word" in ran.stdout and "mcq" in ran.stdout
    values = tomllib.loads(page.run(*shown).stdout)
    assert (values["limit"], values["orders"], values["task"]) == (20, 2, ["next-word", "mcq"])
    assert page.run(*doctor, "planted").returncode == 0
    assert completion == ["--install-completion"]  # changes the user's shell, so it is not run
    assert page.run(*init, "--force").returncode == 0
