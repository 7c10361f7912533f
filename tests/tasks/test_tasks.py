"""A task is opened by its name, with its options."""

from __future__ import annotations

import pytest
from kept_texts import assert_kept

from equipoise.records import EquipoiseError
from equipoise.tasks import TASKS, WORDED, TaskOptions, open_task, open_tasks, read_wordings
from equipoise.tasks.chat import Chat
from equipoise.tasks.multiple_choice import MultipleChoice
from equipoise.tasks.next_word import NextWord
from equipoise.tasks.p_true import SelfChecked


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


def test_tasks_are_one_or_several_by_name_or_as_they_are() -> None:
    own = NextWord("mean")
    assert open_tasks("mcq") == [MultipleChoice()] and open_tasks(own) == [own]
    assert open_tasks(["mcq", own]) == open_tasks(("mcq", own)) == [MultipleChoice(), own]
    assert open_tasks(["mcq"], TaskOptions(seeds=(3,))) == [MultipleChoice((3,))]
    names = "next-word, mcq, open, cloze, sentence, next-word-cot, mcq-cot"
    for nothing in ([], ()):
        with pytest.raises(EquipoiseError, match=f"^name at least one task: {names}$"):
            open_tasks(nothing)


def test_wordings_are_for_three_tasks_and_plain_questions_for_all() -> None:
    wordings = read_wordings("built-in")
    for name in TASKS:
        if name in WORDED:
            assert open_task(name, TaskOptions(questions=wordings)).name == name
        else:
            with pytest.raises(
                EquipoiseError, match=f"^task '{name}' has one wording; wordings are for: next-word, mcq, open$"
            ):
                open_task(name, TaskOptions(questions=wordings))
        open_task(name, TaskOptions(questions=("{text} Who?",)))


def test_a_chat_is_around_the_check_and_the_check_around_the_task() -> None:
    chosen = TaskOptions(chat=True, system="Be brief.", p_true=True, reasoning_tokens=9)
    assert open_task("mcq", chosen) == Chat(SelfChecked(MultipleChoice()), "Be brief.", 9)
    assert open_task("mcq", TaskOptions(p_true=True)) == SelfChecked(MultipleChoice())


def test_an_unknown_task_is_called_so_whatever_the_questions_are() -> None:
    with pytest.raises(EquipoiseError, match=r"^unknown task 'clooze'; did you mean 'cloze'\?$"):
        open_task("clooze", TaskOptions(questions=read_wordings("built-in")))
