"""The cells of a suite: checked before anything is loaded, with settings and folders of their own."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from equipoise.datasets import open_dataset
from equipoise.options import DatasetOptions
from equipoise.records import EquipoiseError
from equipoise.scoring.opening import open_engine
from equipoise.settings import Settings
from equipoise.suites.cells import Cell, Shelf, _find_model, _folder_name, by_model, cells
from equipoise.suites.execution import Choices, plan
from equipoise.suites.forecast import Workload
from equipoise.suites.suite_file import Model, SuiteError, read_suite

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
    with pytest.raises(
        EquipoiseError, match=r"^only 'nobody' matches no cell; the first is 'planted / builtin / next-word'$"
    ):
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


def test_a_cell_says_what_it_is_and_takes(suite_file: Write, tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    text = 'models = ["planted", "planted:bias=2"]\ndata = ["builtin"]\ntask = ["next-word"]\n[settings]\n'
    suite = read_suite(suite_file(text))
    first, second = cells(suite, progress=lambda *step: told.append(step))
    assert told == [("checking cells", 1, 2), ("checking cells", 2, 2)]
    assert (first.name, first.prompts, first.size) == ("planted / builtin / next-word", 12, 1_500_000 + 700 * 12)
    assert first.seconds == pytest.approx(5 + 12 / 5000) and first.folder.parent == suite.out / "cells"
    assert re.fullmatch(r"planted--builtin--next-word-[0-9a-f]{10}", first.folder.name)
    assert re.fullmatch(r"planted-bias-2--builtin--next-word-[0-9a-f]{10}", second.folder.name)
    digest = second.folder.name[-10:]
    long = replace(second, model=Model("planted:bias=2", "x" * 200))
    assert (
        _folder_name(long, Settings(**long.settings), open_dataset("builtin", DatasetOptions(limit=6)))
        == f"{'x' * 100}-{digest}"
    )


@pytest.mark.parametrize(
    ("spec", "settings", "found"),
    [
        ("any", {"server": "http://127.0.0.1:1"}, "any is served by http://127.0.0.1:1"),
        ("planted:bias=2", {}, None),
        ("planted", {"server": "http://127.0.0.1:1"}, "planted is served by http://127.0.0.1:1"),
        ("mine:model", {}, "mine:model is a plug-in's"),
        ("mine:model", {"adapter": "none"}, "mine:model is a plug-in's"),
        ("hf:x", {"adapter": "no-adapter"}, EquipoiseError("the adapter no-adapter does not exist")),
        ("hf:x", {"adapter": "."}, "located hf:x"),
        ("hf:x", {}, "located hf:x"),
        ("gguf:x", {}, "located gguf:x"),
        ("default:", {}, "located default:"),
        ("plain", {}, "located plain"),
    ],
)
def test_a_model_is_found_without_being_loaded(
    monkeypatch: pytest.MonkeyPatch, spec: str, settings: dict[str, Any], found: Any
) -> None:
    monkeypatch.setattr("equipoise.suites.cells.locate_model", lambda spec: f"located {spec}")
    if isinstance(found, Exception):
        with pytest.raises(EquipoiseError, match=f"^{found}$"):
            _find_model(spec, Settings(**settings))
    elif found is None:
        assert _find_model(spec, Settings(**settings)) == open_engine(spec).name
    else:
        assert _find_model(spec, Settings(**settings)) == found


def test_a_path_with_a_colon_is_no_plug_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equipoise.suites.cells.locate_model", lambda spec: "located")
    (tmp_path / "a:b").mkdir()
    assert _find_model(str(tmp_path / "a:b"), Settings()) == "located"


def test_what_cells_share_is_made_once_and_its_error_too() -> None:
    shelf, made = Shelf(), []
    for _ in range(2):
        assert shelf._once("a", lambda: made.append(1) or 5) == 5
        for error in (EquipoiseError("x"), ValueError("y"), OSError("z")):
            with pytest.raises(type(error), match=str(error)):
                shelf._once(str(error), lambda error=error: raised(made, error))
    assert made == [1, "x", "y", "z"]


def raised(made: list[Any], error: Exception) -> None:
    made.append(str(error))
    raise error


def test_cells_of_one_model_are_those_that_are_loaded_alike(tmp_path: Path) -> None:
    def cell(model: Model, **settings: Any) -> Cell:
        return Cell(model, "d", "t", settings, tmp_path)

    a, b = Model("a", "a"), Model("a", "b")
    several = [cell(a), cell(b), cell(a, limit=3), cell(a, dtype="float32"), cell(b)]
    assert list(by_model(several)) == [[several[0], several[2]], [several[1], several[4]], [several[3]]]


def test_a_model_that_thinks_is_asked_for_texts(suite_file: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    monkeypatch.setattr("equipoise.suites.cells.thinks", lambda spec, options: True)
    monkeypatch.setattr(
        "equipoise.suites.cells.workload", lambda task, dataset, *, thinks: asked.append(thinks) or Workload(3, 0)
    )
    monkeypatch.setattr("equipoise.suites.cells.locate_model", lambda spec: spec)
    tasks = 'data = ["builtin"]\ntask = ["next-word", "open"]\n[settings]\n'
    served = cells(read_suite(suite_file(f'models = ["m"]\n{tasks}server = "http://127.0.0.1:1"\n')))
    assert asked == [False, True] and [cell.seconds for cell in served] == [None, None]
    cells(read_suite(suite_file(f'models = ["m"]\n{tasks}chat = true\n')))
    assert asked[2:] == [True, True]


@pytest.mark.parametrize(
    ("spec", "task", "left_out"),
    [
        ("planted", "open", True),
        ("planted:bias=2", "open", True),
        ("planted:bias=2", "next-word", False),
        ("planted-forests/llama", "open", False),
        ("my-planted", "open", False),
    ],
)
def test_only_a_planted_engine_cannot_write(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spec: str, task: str, left_out: bool
) -> None:
    monkeypatch.setattr("equipoise.suites.cells.locate_model", lambda spec: f"located {spec}")
    monkeypatch.setattr("equipoise.suites.cells.thinks", lambda *_: False)
    monkeypatch.setattr("equipoise.suites.cells.forecast", lambda *_, **__: 7.0)
    made = Shelf().check(Cell(Model(spec, "m"), "builtin", task, {"limit": 4}, tmp_path), tmp_path)
    said = f"{task} needs a model that writes, and a planted engine cannot" if left_out else ""
    assert (made.skipped, made.problem) == (said, "")
    assert made.seconds == (None if left_out else 7.0)


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (EquipoiseError("no data"), "no data"),
        (EquipoiseError(), "EquipoiseError"),
        (TypeError(), "TypeError"),
        (ValueError(), "ValueError"),
        (OSError(), "OSError"),
    ],
)
def test_an_error_without_words_is_told_by_its_kind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: Exception, problem: str
) -> None:
    def refused(*_: Any) -> None:
        raise error

    monkeypatch.setattr("equipoise.suites.cells.check_groups", refused)
    cell = Cell(Model("planted", "m"), "builtin", "next-word", {"limit": 4}, tmp_path)
    assert Shelf().check(cell, tmp_path) == replace(cell, problem=problem)
