"""A task is opened by its name, with its options."""

from __future__ import annotations

import pytest
from kept_texts import assert_kept

from equipoise.records import EquipoiseError
from equipoise.tasks import TASKS, TaskOptions, open_task, read_wordings
from equipoise.tasks.multiple_choice import MultipleChoice
from equipoise.tasks.next_word import NextWord


def test_a_task_with_one_wording_refuses_several() -> None:
    with pytest.raises(EquipoiseError, match="task 'cloze' has one wording"):
        open_task("cloze", TaskOptions(questions=read_wordings("built-in")))


def test_a_system_prompt_needs_a_chat() -> None:
    with pytest.raises(EquipoiseError, match="chat must be set, too: system is its system prompt"):
        TaskOptions(system="Be brief.")
    assert open_task("mcq", TaskOptions(chat=True)).name == "mcq-chat"


def test_multiple_choice_is_opened_by_name_with_its_options() -> None:
    assert open_task("mcq", TaskOptions(seeds=(1, 2), answer_space="apart")) == MultipleChoice(
        seeds=(1, 2), answer_space="apart"
    )
    assert open_task("mcq") == MultipleChoice()


def test_next_word_is_opened_by_name_with_its_options() -> None:
    assert open_task("next-word") == NextWord(token_aggregate="sum")
    assert open_task("next-word", TaskOptions(token_aggregate="pmi")) == NextWord(token_aggregate="pmi")
    assert open_task("next-word", TaskOptions(token_aggregate="mean")).settings["token_aggregate"] == "mean"
    with pytest.raises(EquipoiseError, match="unknown task 'next-wrd'; did you mean 'next-word'"):
        open_task("next-wrd")


def test_every_task_takes_its_options_as_it_was_kept() -> None:
    chosen = {
        "reasoning_tokens": 77,
        "answer_turn": "user",
        "both": True,
        "token_aggregate": "mean",
        "temperature": 0.7,
    }
    options = TaskOptions(seeds=(5, 6), drawn_reasonings=2, **chosen)
    opened = {name: open_task(name, options) for name in TASKS}
    assert_kept("tasks/options", {name: [task.name, task.settings, task] for name, task in opened.items()})
