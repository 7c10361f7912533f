"""Wordings from a file: every sentence in every one, each a prompt of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.datasets import open_dataset
from equipoise.records import EquipoiseError
from equipoise.tasks import TaskOptions, open_task, read_wordings

EXAMPLE = open_dataset("builtin").examples[0]
TWO = """
[[wording]]
name = "a"
beginning = "{text} Here {pronoun} is the"
choice = "{text} Here {pronoun} is"
[[wording]]
name = "b"
beginning = "{text} And {pronoun} means the"
choice = "{text} And {pronoun} means"
instruction = "Choose."
"""


@pytest.mark.parametrize(("task", "field"), [("next-word", "beginning"), ("mcq", "choice")])
def test_the_package_has_at_least_eight_wordings_of_each_question(task: str, field: str) -> None:
    wordings = read_wordings("built-in")
    assert len({getattr(wording, field) for wording in wordings}) == len(wordings) >= 8
    prompts = open_task(task, TaskOptions(questions=wordings)).prompts(EXAMPLE)  # type: ignore[attr-defined]
    assert len({prompt.context for prompt in prompts}) == len(wordings)
    assert len({prompt.key("engine") for prompt in prompts}) == len(wordings), "a wording is part of the key"
    assert {prompt.variant.split("wording=")[1] for prompt in prompts} == {wording.name for wording in wordings}
    assert all(EXAMPLE.text in prompt.context for prompt in prompts)


@pytest.mark.parametrize("task", ["next-word", "mcq"])
def test_the_first_wording_asks_as_the_paper_does(task: str) -> None:
    usual = open_task(task).prompts(EXAMPLE)[0]  # type: ignore[attr-defined]
    worded = open_task(task, TaskOptions(questions=read_wordings("built-in"))).prompts(EXAMPLE)[0]  # type: ignore[attr-defined]
    assert (worded.context, worded.continuations) == (usual.context, usual.continuations)


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(TWO, encoding="utf-8")
    prompts = open_task("mcq", TaskOptions(questions=read_wordings(file))).prompts(EXAMPLE)  # type: ignore[attr-defined]
    assert [prompt.context.split("\n")[0] for prompt in prompts] == [
        "Choose the right option for the question using the context below.",
        "Choose.",
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("wording = 3", "at least two tables"),
        (TWO.replace('"b"', '"a"'), "duplicate name 'a'"),
        (TWO.replace('"b"', '"b=c"'), "must not have any of"),
        (TWO.replace("{text} And {pronoun} means the", "Who?"), "needs the slot {text}"),
        (TWO.replace("instruction", "instructions"), "unknown key 'instructions'"),
        (TWO.replace('choice = "{text} Here {pronoun} is"', ""), "wording 1: choice is missing"),
        ("[[wording", "is not TOML"),
    ],
)
def test_a_faulty_file_is_refused_with_the_reason(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(EquipoiseError, match=reason):
        read_wordings(file)
