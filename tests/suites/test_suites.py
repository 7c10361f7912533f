"""Suites: checked before anything is loaded, a run for every cell, failures and kills that stay where they happen."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.records import EquipoiseError
from equipoise.run import audit
from equipoise.runs import Run
from equipoise.suites.cells import by_model, cells
from equipoise.suites.execution import Choices, plan, run_suite
from equipoise.suites.forecast import forecast, parameters
from equipoise.suites.rehearsal import Rehearsal
from equipoise.suites.results import write_results
from equipoise.suites.status import DONE, FAILED, WAITING, Status, duration
from equipoise.suites.suite_file import SuiteError, read_suite

Write = Callable[..., Path]
BASIS = 'models = ["planted"]\ndata = ["builtin"]\ntask = ["next-word"]\n'


def silent(status: Status) -> None:
    pass


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("models = [", "is not a TOML file"),
        ('data = ["builtin"]\ntask = ["mcq"]', "models must be a list with at least one entry"),
        (BASIS + 'modles = ["x"]', "unknown key 'modles'; did you mean 'models'?"),
        ('models = ["a", "a"]\ndata = ["builtin"]\ntask = ["mcq"]', "models names 'a' twice"),
        ('models = [{name = "a"}]\ndata = ["builtin"]\ntask = ["mcq"]', "entry 1 must be a name or a table"),
        (BASIS + "[settings]\nlimt = 5", "settings: unknown key 'limt'; did you mean 'limit'?"),
        (BASIS + '[settings]\nlimit = "5"', "settings: limit must be a whole number, not '5'"),
        (BASIS + "[settings]\nlimit = true", "settings: limit must be a whole number, not True"),
        (BASIS + '[settings]\nby = "gender"', "settings: by must be a list of texts"),
        (BASIS + "[[override]]\nlimit = 5", "override 1 names no model, data or task"),
        (BASIS + '[[override]]\nmodel = "*"', "override 1 sets nothing"),
        (BASIS + '[[override]]\nmodel = "*"\nskip = "no"\nlimit = 5', "it can do only one"),
        (BASIS + "[budget]\nhours = 0", "budget: hours must be a number above 0, not 0"),
        (BASIS + '[gate]\nrequire = ["ucerf >= 1"]\nundecided = "maybe"', "undecided must be pass or fail"),
    ],
)
def test_a_mistake_in_the_file_is_one_sentence(tmp_path: Path, text: str, fault: str) -> None:
    (tmp_path / "suite.toml").write_text(text)
    with pytest.raises(SuiteError) as raised:
        read_suite(tmp_path / "suite.toml")
    assert str(raised.value).startswith(str(tmp_path / "suite.toml")) and fault in str(raised.value)


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
    assert "a planted engine cannot" in problems["planted / builtin / open"]
    assert "unknown dataset 'no-data'" in problems["planted / no-data / next-word"]
    assert "mine.csv" in problems[f"planted / {tmp_path}/mine.csv / next-word"]
    assert "unknown setting 'strenth'" in problems["planted:strenth=2 / builtin / next-word"]
    assert "no-model" in problems[f"{tmp_path}/no-model / builtin / next-word"]
    with pytest.raises(SuiteError, match="and 25 more cells"):
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
    only = cells(read_suite(suite_file(text)), only=["biased / *mcq"])
    assert [cell.name for cell in only] == ["biased / builtin / mcq", "biased / sentiment / mcq"]
    with pytest.raises(EquipoiseError, match="only 'nobody' matches no cell"):
        cells(read_suite(suite_file(text)), only=["nobody"])


def test_another_choice_is_another_folder_and_how_it_is_computed_is_not(suite_file: Write) -> None:
    def folder(settings: str) -> Path:
        return cells(read_suite(suite_file(f"{BASIS}[settings]\n{settings}")))[0].folder

    assert folder("") == folder("timeout = 60.0") == folder('device = "cpu"')
    assert len({folder(choice) for choice in ("", "seed = 1", "level = 0.9", "as_published = true")}) == 4


@pytest.mark.slow
def test_budgets_are_kept(suite_file: Write) -> None:
    with pytest.raises(SuiteError, match="the cells ask 12 prompts, the budget is 5"):
        plan(read_suite(suite_file(BASIS + "[settings]\n[budget]\nprompts = 5")), Choices())
    with pytest.raises(SuiteError, match=r"the budget is 0\.001 GB"):
        plan(read_suite(suite_file(BASIS + "[settings]\n[budget]\ndisk_gb = 0.001")), Choices())
    with pytest.raises(SuiteError, match="several jobs would each start a cluster"):
        plan(read_suite(suite_file(BASIS)), Choices(jobs=2, settings={"cluster": "auto"}))
    late = read_suite(suite_file(BASIS + "[settings]\n[budget]\nhours = 1e-9"))
    status = run_suite(late, Choices(), show=silent)
    assert [cell.name for cell in status.of(WAITING)] == ["planted / builtin / next-word"]


def _run(path: Path) -> None:
    run_suite(read_suite(path), Choices(), show=silent)


@pytest.mark.slow
@pytest.mark.usefixtures("faulty")
def test_a_suite_that_is_killed_goes_on_and_a_cell_that_always_dies_is_the_only_one_lost(
    suite_file: Write, tmp_path: Path
) -> None:
    events = tmp_path / "events"
    models = [f"faulty:events={events},parent=2", "faulty:poison=The"]
    text = (
        f'models = {json.dumps(models)}\ndata = ["builtin"]\ntask = ["next-word", "mcq"]\n'
        f'[[override]]\nmodel = "{models[1]}"\ntask = "mcq"\nskip = "one is enough"\n'
    )
    path = suite_file(text)
    codes = []
    for _ in range(2):
        process = multiprocessing.get_context("fork").Process(target=_run, args=(path,))
        process.start()
        process.join(600)
        codes.append(process.exitcode)
    assert codes == [-signal.SIGKILL, 0]
    suite = read_suite(path)
    status = plan(suite, Choices())
    assert len(status.of(DONE)) == 2 and len(status.of(WAITING)) == 1  # what failed is tried again the next time
    kept = json.loads((suite.out / "status.json").read_text())["cells"]
    (reason,) = [state["note"] for state in kept.values() if state["state"] == FAILED]
    assert "its process ended with signal SIGKILL" in reason
    # Three batches for each cell; at most the one in work when the suite died was scored twice.
    assert 6 <= events.stat().st_size <= 7
    for cell in status.of(DONE):
        whole = audit("faulty:", "builtin", cell.task, out=tmp_path / cell.task, **cell.settings)
        for name in ("scores.jsonl", "measurements.csv", "outcomes.parquet"):
            assert (cell.folder / name).read_bytes() == (whole.path / name).read_bytes()
    results = write_results(suite, status)
    assert results is not None and (results.site / "index.html").is_file()
    rows = [len(Run(cell.folder).measurements) for cell in status.of(DONE)]
    assert len(pd.read_parquet(results.measurements)) == sum(rows)


@pytest.mark.slow
def test_on_a_cluster_the_cells_are_the_same(suite_file: Write) -> None:
    pytest.importorskip("ray")
    text = 'models = ["planted"]\ndata = ["builtin"]\ntask = ["next-word", "mcq"]\n'
    plain, spread = (read_suite(suite_file(text, name)) for name in ("plain", "spread"))
    run_suite(plain, Choices(), show=silent)
    status = run_suite(spread, Choices(settings={"cluster": "auto", "workers": 2}), show=silent)
    assert len(status.of(DONE)) == 2, status.line()
    for cell in status.of(DONE):
        assert Run(cell.folder).manifest.engine["workers"] == 2
        for name in ("scores.jsonl", "measurements.csv", "outcomes.parquet"):
            alone = plain.out / "cells" / cell.folder.name / name
            assert (cell.folder / name).read_bytes() == alone.read_bytes()


def test_the_command_line(suite_file: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()

    def run(text: str, *options: str) -> Any:
        return runner.invoke(app, ["suite", str(suite_file(text)), *options])

    require = '[settings]\n[gate]\nrequire = ["ucerf[type=type2] >= 0.01", "flip_rate[type=type1] <= -1"]\n'
    dry = run(BASIS + require, "--dry-run")
    assert (
        dry.exit_code == 0
        and "12 prompts" in dry.output
        and "about 5 s left" in dry.output
        and not (tmp_path / "suite" / "cells").exists()
    )
    assert run('models = ["planted"]\ndata = ["builtin"]\ntask = ["open"]\n', "--dry-run").exit_code == 2
    ended = run(BASIS + require)
    assert ended.exit_code == 1, ended.output
    assert "1 done" in ended.output and "1 of 2 requirements failed" in ended.output
    assert (tmp_path / "suite" / "gates.xml").is_file()
    command = Run(next((tmp_path / "suite" / "cells").iterdir())).manifest.command
    assert command.startswith("equipoise suite") and "planted / builtin / next-word" in command
    unknown = run(BASIS + '[settings]\n[gate]\nrequire = ["of_nobody >= 1"]\n')
    assert isinstance(unknown.exception, SuiteError) and "matches nothing in the 1 finished cells" in str(
        unknown.exception
    )


def test_the_time_is_estimated_before_a_model_is_seen(tmp_path: Path) -> None:
    asked = Rehearsal(prompts=1000, texts=0, characters=160_000)
    assert forecast("planted", asked, device="auto") == pytest.approx(5.2)
    small = forecast("smollm2", asked, device="cpu")
    (tmp_path / "config.json").write_text('{"torch_dtype": "float32"}')
    (tmp_path / "model.safetensors").write_bytes(bytes(4 * 1000))
    assert parameters(str(tmp_path)) == 1000
    # 40,000 tokens x 135 million parameters x 2 on the cores of this machine.
    assert small == pytest.approx(5 + 2 * 135e6 * 40_000 / (1.3e11 * (os.cpu_count() or 1)))
    assert forecast("hf:owner/name", asked, device="cpu") is None
    assert forecast("smollm2", Rehearsal(prompts=0, texts=3), device="cpu") is None


def test_times_in_words() -> None:
    assert [duration(seconds) for seconds in (40, 720, 12_600)] == ["40 s", "12 min", "3.5 h"]
