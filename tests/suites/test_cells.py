"""The cells of a suite: checked before anything is loaded, with settings and folders of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from equipoise.records import EquipoiseError
from equipoise.suites.cells import by_model, cells
from equipoise.suites.execution import Choices, plan
from equipoise.suites.suite_file import SuiteError, read_suite

Write = Callable[..., Path]


BASIS = 'models = ["planted"]\ndata = ["builtin"]\ntask = ["next-word"]\n'


def test_every_cell_is_checked_before_anything_is_loaded(suite_file: Write, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("sentence,answer\nThe nurse said that she came.,nurse\n")
    models = f'["planted", "planted:strenth=2", "{tmp_path}/no-model"]'
    data = f'["builtin", "no-data", "{tmp_path}/mine.csv"]'
    tasks = '["next-word", "no-task", "open"]'
    made = cells(read_suite(suite_file(f"models = {models}\ndata = {data}\ntask = {tasks}\n")))
    problems = {cell.name: cell.problem for cell in made}
    assert len(problems) == 27
    assert problems["planted / builtin / next-word"] == ""
    assert "unknown task 'no-task'" in problems["planted / builtin / no-task"]
    left_out = {cell.name: cell.skipped for cell in made if cell.skipped}
    assert list(left_out) == ["planted / builtin / open"]
    assert "a planted engine cannot" in left_out["planted / builtin / open"]
    assert "unknown dataset 'no-data'" in problems["planted / no-data / next-word"]
    assert "mine.csv" in problems[f"planted / {tmp_path}/mine.csv / next-word"]
    assert "unknown setting 'strenth'" in problems["planted:strenth=2 / builtin / next-word"]
    assert "no-model" in problems[f"{tmp_path}/no-model / builtin / next-word"]
    with pytest.raises(SuiteError, match="and 24 more cells"):
        plan(read_suite(suite_file(f"models = {models}\ndata = {data}\ntask = {tasks}\n")), Choices())


def test_overrides_choose_settings_and_leave_cells_out(suite_file: Write) -> None:
    text = (
        'models = ["planted", {model = "planted:bias=2", name = "biased", seed = 3}]\n'
        'data = ["builtin", "sentiment"]\ntask = ["next-word", "mcq"]\n[settings]\n'
        '[[override]]\nmodel = "bia*"\ntask = "mcq"\nlimit = 4\n[[override]]\ndata = "sentiment"\nskip = "later"\n'
    )
    made = {cell.name: cell for cell in cells(read_suite(suite_file(text)))}
    assert made["biased / builtin / mcq"].settings["limit"] == 4
    assert made["biased / builtin / mcq"].prompts == 8
    assert made["biased / builtin / next-word"].prompts == 12
    assert made["planted / builtin / mcq"].settings["limit"] == 6
    assert made["biased / builtin / next-word"].settings["seed"] == 3
    assert [cell.name for cell in made.values() if cell.skipped == "later"] == [
        f"{model} / sentiment / {task}" for model in ("planted", "biased") for task in ("next-word", "mcq")
    ]
    assert [[cell.task for cell in group] for group in by_model([c for c in made.values() if not c.skipped])] == [
        ["next-word", "mcq"],
        ["next-word", "mcq"],
    ]
    only = cells(read_suite(suite_file(text)), only=["biased / * / mcq"])
    assert [cell.name for cell in only] == ["biased / builtin / mcq", "biased / sentiment / mcq"]
    with pytest.raises(EquipoiseError, match="only 'nobody' matches no cell"):
        cells(read_suite(suite_file(text)), only=["nobody"])


def test_a_pattern_names_whole_parts(suite_file: Write) -> None:
    parts = 'data = ["builtin", "sentiment"]\ntask = ["next-word", "mcq", "cloze"]\n[settings]\n'
    suite = read_suite(suite_file(f'models = ["planted", "planted:bias=2"]\n{parts}'))

    def named(pattern: str) -> list[str]:
        return [cell.name for cell in cells(suite, only=[pattern])]

    everything = [cell.name for cell in cells(suite)]
    assert named("*") == named("* / *") == named("* / * / *") == everything
    assert named("mcq") == [name for name in everything if name.endswith("/ mcq")]
    assert named("planted") == everything[:6]
    assert named("planted*") == everything
    assert named("sentiment / mcq") == ["planted / sentiment / mcq", "planted:bias=2 / sentiment / mcq"]
    assert named("planted / sentiment") == everything[3:6]
    for part in ("mc", "next", "word", "planted / mcq", "builtin / sentiment", ""):
        with pytest.raises(EquipoiseError, match="matches no cell"):
            named(part)


def test_another_choice_is_another_folder_and_how_it_is_computed_is_not(suite_file: Write) -> None:
    def folder(settings: str) -> Path:
        return cells(read_suite(suite_file(f"{BASIS}[settings]\n{settings}")))[0].folder

    assert folder("") == folder("timeout = 60.0") == folder('device = "cpu"')
    assert len({folder(choice) for choice in ("", "seed = 1", "level = 0.9", "as_published = true")}) == 4
