"""A run for every cell; failures and kills stay where they happen, and budgets are kept."""

from __future__ import annotations

import json
import multiprocessing
import re
import signal
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from queue import Queue
from typing import Any, ClassVar

import pandas as pd
import pytest
from filelock import FileLock
from tiny import make_model, make_tokenizer

from equipoise.records import EquipoiseError
from equipoise.run import audit
from equipoise.runs import Run
from equipoise.suites import execution
from equipoise.suites.cells import Cell
from equipoise.suites.execution import Choices, plan, run_suite
from equipoise.suites.results import write_results
from equipoise.suites.status import DONE, FAILED, SKIPPED, WAITING, Status
from equipoise.suites.suite_file import Budget, Model, Suite, SuiteError, read_suite

Write = Callable[..., Path]


BASIS = 'models = ["planted"]\ndata = ["builtin"]\ntask = ["next-word"]\n'


def silent(status: Status) -> None:
    pass


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


@pytest.mark.slow
def test_a_cell_ends_when_it_is_settled_and_says_what_it_asked(suite_file: Write) -> None:
    text = BASIS + '[settings]\nuntil = ["flip_rate[type=type2] <= 0.9"]\n'
    choices = Choices(settings={"limit": 200})
    status = run_suite(read_suite(suite_file(text)), choices, show=silent)
    ((_, state, prompts, _, _),) = status.rows()
    asked, all_of_them = (int(number) for number in prompts.split(" of "))
    assert state == DONE and 0 < asked < all_of_them == 400
    (cell,) = status.cells
    assert len(Run(cell.folder).outcomes) == asked
    ((_, _, again, _, _),) = plan(read_suite(suite_file(text)), choices).rows()
    assert again == prompts


@pytest.mark.slow
def test_a_task_that_a_model_cannot_be_asked_is_left_out_and_the_rest_runs(suite_file: Write, tmp_path: Path) -> None:
    model, tokenizer = tmp_path / "plain", make_tokenizer()
    make_model("LlamaConfig", len(tokenizer)).save_pretrained(model)
    tokenizer.save_pretrained(model)
    text = f'models = ["{model}", "planted"]\ndata = ["builtin"]\ntask = ["next-word", "next-word-cot"]\n'
    status = run_suite(read_suite(suite_file(text)), Choices(), show=silent)
    assert [cell.name for cell in status.of(DONE)] == [f"{name} / builtin / next-word" for name in (model, "planted")]
    reasons = {cell.name: status.states[cell.name].note for cell in status.of(SKIPPED)}
    assert "the model has no chat template" in reasons[f"{model} / builtin / next-word-cot"]
    assert "a planted engine cannot" in reasons["planted / builtin / next-word-cot"]
    assert not status.of(FAILED, WAITING)


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


def test_a_budget_may_be_used_up_but_not_exceeded(suite_file: Write) -> None:
    plan(read_suite(suite_file(BASIS + "[settings]\n[budget]\nprompts = 12")), Choices())
    with pytest.raises(SuiteError, match="the cells ask 12 prompts, the budget is 11"):
        plan(read_suite(suite_file(BASIS + "[settings]\n[budget]\nprompts = 11")), Choices())


class Fake:
    """A worker's process: what it says to each cell comes from a script, a number ends it with that code."""

    script: ClassVar[dict[str, list[Any]]] = {}
    first: ClassVar[list[Any]] = []
    made: ClassVar[list[Fake]] = []

    def __init__(self, command: list[str], **given: Any) -> None:
        self.command, self.given, self.asked = command, given, list[dict[str, Any]]()
        self.code: int | None = None
        self.killed = self.closed = False
        self._out: Queue[str | None] = Queue()
        self.stdin, self.stdout = self, iter(self._out.get, None)
        Fake.made.append(self)
        self._say(Fake.first.pop(0) if Fake.first else {"event": "ready"})

    def _say(self, event: Any) -> None:
        if isinstance(event, int):
            self.code = event
            self._out.put(None)
        else:
            self._out.put(event if isinstance(event, str) else json.dumps(event) + "\n")

    def write(self, text: str) -> None:
        self.asked.append(json.loads(text))
        for event in Fake.script[f"{self.asked[-1]['model']} {self.asked[-1]['task'][0]}"]:
            self._say(event)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True
        self._say(0)

    def kill(self) -> None:
        self.killed = True
        self._say(-9)

    def wait(self) -> int:
        return self.code or 0


class Impatient(Queue[Any]):
    """A queue that waits for its next event for some seconds at most: a test that hangs fails."""

    def get(self, *given: Any, **named: Any) -> Any:
        return super().get(timeout=5)


OVER = {"event": "done", "seconds": 2.5}


@pytest.fixture
def faked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Suite, Status]]:
    """Return a function that makes a suite of some cells, whose workers follow a script."""
    monkeypatch.setattr("equipoise.suites.execution.subprocess.Popen", Fake)
    monkeypatch.setattr("equipoise.suites.execution.Queue", Impatient)
    monkeypatch.setattr("equipoise.suites.execution.asked_prompts", lambda cell, folder: len(folder.path.name))
    Fake.script, Fake.first, Fake.made = {}, [], []

    def make(script: dict[str, list[Any]], first: list[Any] | None = None, **more: Any) -> tuple[Suite, Status]:
        Fake.script, Fake.first = script, list(first or [])
        path = tmp_path / "suite.toml"
        path.write_text(BASIS)
        suite = replace(read_suite(path), out=tmp_path / "deep" / "out", **more)
        made = [
            Cell(
                Model(spec, spec.upper()),
                "builtin",
                task,
                {"limit": 3},
                tmp_path / "deep" / "out" / "cells" / spec,
                prompts=4,
            )
            for spec, task in (name.split() for name in script)
        ]
        return suite, Status(made, suite.out / "status.json")

    return make


def told(status: Status) -> list[tuple[str, str, int, float, str]]:
    states = [(cell.name, status.states[cell.name]) for cell in status.cells]
    return [(name.replace(" / builtin / ", " "), s.state, s.asked, s.seconds, s.note) for name, s in states]


def test_each_model_has_a_worker_and_each_cell_ends_as_its_worker_says(faked: Any) -> None:
    half = {"event": "progress", "what": "asking", "done": 2, "total": 4}
    suite, status = faked(
        {
            "abc x": [
                {**half, "total": 1},
                half,
                {**half, "what": "measuring", "done": 9, "total": 9},
                "not json\n",
                OVER,
            ],
            "abc y": [{"event": "left out", "reason": "no chat"}],
            "d x": [{"event": "failed", "reason": "a  b\nc"}],
            "d y": [OVER],
        }
    )
    seen: list[tuple[str, int, str]] = []

    def show(now: Status) -> None:
        seen.extend((s.state, s.asked, s.note) for s in now.states.values() if s.state == "running" and s.note)

    assert run_suite(suite, Choices(), show=show, status=status) is status
    assert told(status) == [
        ("ABC x", "done", 3, 2.5, ""),
        ("ABC y", "left out", 0, 0.0, "no chat"),
        ("D x", "failed", 0, 0.0, "a b c"),
        ("D y", "done", 1, 2.5, ""),
    ]
    assert seen == [("running", 0, "asking"), ("running", 2, "asking"), ("running", 2, "measuring")]
    first, second = Fake.made
    assert [request["task"] for request in first.asked + second.asked] == [["x"], ["y"], ["x"], ["y"]]
    command = ["equipoise", "suite", str(suite.path), "--only", "ABC / builtin / x"]
    about = {"model": "abc", "data": ["builtin"], "task": ["x"], "folder": str(suite.out / "cells" / "abc")}
    assert first.asked[0] == {**about, "settings": {"limit": 3}, "command": command}
    assert first.command[1:] == ["-m", "equipoise.suites.worker", str(suite.out / ".worker-0.lock")]
    log = first.given.pop("stderr")
    assert first.given == {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    assert log.name == str(suite.out / "logs" / "abc.log") and log.mode == "ab"
    assert first.closed and second.closed and not first.killed and second.command == first.command
    assert sorted(file.name for file in (suite.out / "logs").iterdir()) == ["abc.log", "d.log"]
    kept = json.loads((suite.out / "status.json").read_text())
    assert kept["cells"]["D / builtin / y"] == {"state": "done", "asked": 1, "seconds": 2.5, "note": ""}
    assert kept["speeds"] == {"ABC / x": 4 / 2.5, "D / y": 4 / 2.5}


@pytest.mark.parametrize(("code", "name"), [(3, "code 3"), (-9, "signal SIGKILL")])
def test_a_worker_that_dies_takes_one_cell_with_it(faked: Any, code: int, name: str) -> None:
    suite, status = faked({"a x": [OVER], "a y": [code], "a z": [OVER]})
    run_suite(suite, Choices(), show=silent, status=status)
    log = suite.out / "logs" / "a.log"
    assert told(status) == [
        ("A x", "done", 1, 2.5, ""),
        ("A y", "failed", 0, 0.0, f"its process ended with {name}; see {log}"),
        ("A z", "done", 1, 2.5, ""),
    ]
    assert [len(worker.asked) for worker in Fake.made] == [2, 1]


def test_a_worker_that_dies_before_it_is_ready_loses_its_first_cell_only(faked: Any) -> None:
    suite, status = faked({"a x": [OVER], "a y": [OVER]}, first=[1])
    run_suite(suite, Choices(), show=silent, status=status)
    assert [(name, state) for name, state, *_ in told(status)] == [("A x", "failed"), ("A y", "done")]
    assert len(Fake.made) == 2


def test_several_models_run_at_once_where_that_is_asked_for(faked: Any) -> None:
    suite, status = faked({"a x": [OVER], "b x": [OVER], "c x": [OVER]})
    run_suite(suite, Choices(jobs=2), show=silent, status=status)
    locks = [worker.command[-1].rpartition("/")[2] for worker in Fake.made]
    assert sorted(locks[:2]) == [".worker-0.lock", ".worker-1.lock"] and len(locks) == 3
    assert {state for _, state, *_ in told(status)} == {"done"}
    with pytest.raises(EquipoiseError, match=r"^jobs must be at least 1, not 0$"):
        Choices(jobs=0)


def test_no_cell_begins_when_the_time_is_up(faked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    suite, status = faked({"a x": [OVER], "a y": [OVER], "b x": [OVER]}, budget=Budget(hours=0.5))
    calls: list[float] = []

    def clock() -> float:
        # The first call sets the end; the second cell would begin at the very moment at which the time is up.
        calls.append(0.0 if not calls else 1800.0 if status.of(DONE) else 1799.9)
        return calls[-1]

    monkeypatch.setattr("equipoise.suites.execution.time.monotonic", clock)
    run_suite(suite, Choices(), show=silent, status=status)
    assert [(name, state) for name, state, *_ in told(status)] == [
        ("A x", "done"),
        ("A y", "waiting"),
        ("B x", "waiting"),
    ]
    assert len(Fake.made) == 1 and Fake.made[0].closed


def test_an_interruption_ends_the_workers_and_cells_wait_again(faked: Any) -> None:
    suite, status = faked({"a x": [], "a y": [OVER]})

    def show(seen: Status) -> None:
        if seen.of("running"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_suite(suite, Choices(), show=show, status=status)
    assert Fake.made[0].killed and [state for _, state, *_ in told(status)] == ["waiting", "waiting"]


def test_a_suite_is_run_by_one_command_at_a_time(faked: Any) -> None:
    suite, status = faked({"a x": [OVER]})
    suite.out.mkdir(parents=True)
    with (
        FileLock(suite.out / ".suite.lock"),
        pytest.raises(
            SuiteError, match=rf"^another command is running this suite into {re.escape(str(suite.out))}; wait"
        ),
    ):
        run_suite(suite, Choices(), show=silent, status=status)
    assert not Fake.made


def test_what_cannot_run_or_does_not_fit_is_refused_before_anything_runs(
    suite_file: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = suite_file('models = ["planted"]\ndata = ["builtin"]\ntask = ["no-task", "none", "next-word"]\n')
    with pytest.raises(SuiteError) as error:
        plan(read_suite(path), Choices())
    assert str(error.value).startswith(f"{path}: planted / builtin / no-task: unknown task 'no-task'")
    assert str(error.value).endswith(" (and 1 more cells; --dry-run lists them)")
    with pytest.raises(SuiteError) as error:
        plan(read_suite(path), Choices(only=["no-task"]))
    assert "more cells" not in str(error.value)
    path = suite_file(BASIS)
    size = 1_500_000 + 700 * 12
    for gigabytes, fits in ((size / 1e9, True), ((size - 1) / 1e9, False)):
        suite = replace(read_suite(path), budget=Budget(disk_gb=gigabytes))
        if fits:
            assert len(plan(suite, Choices()).cells) == 1
        else:
            with pytest.raises(SuiteError, match=rf"the cells take 0\.00 GB, the budget is {gigabytes:g} GB$"):
                plan(suite, Choices())
    usage = type("Usage", (), {"free": 1.2 * size - 1})
    monkeypatch.setattr("equipoise.suites.execution.shutil.disk_usage", lambda place: usage)
    reason = "the cells need 0.00 GB of disk space, 0.00 GB are free at "
    with pytest.raises(SuiteError, match=re.escape(reason)):
        plan(read_suite(path), Choices())
    usage.free = 1.2 * size
    assert plan(read_suite(path), Choices(settings={"limit": 6})).cells[0].settings["limit"] == 6


def test_several_jobs_need_a_cluster_that_is_there(faked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    suite, status = faked({"a x": [OVER], "a y": [OVER]})
    spread = [status.cells[0], replace(status.cells[1], settings={"cluster": "auto"})]
    for several, jobs, address, refused in (
        (spread, 2, "", True),
        (spread, 1, "", False),
        (spread, 2, "127.0.0.1:6379", False),
        (status.cells, 2, "", False),
    ):
        monkeypatch.setenv("RAY_ADDRESS", address)
        monkeypatch.setattr("equipoise.suites.execution.cells", lambda suite, several=several, **given: several)
        if not refused:
            assert plan(suite, Choices(jobs=jobs)).cells == several
            continue
        text = "several jobs would each start a cluster; start one (`ray start --head`) and give its address as cluster"
        with pytest.raises(SuiteError, match=rf"^{re.escape(f'{suite.path}: {text}')}$"):
            plan(suite, Choices(jobs=jobs))


def test_the_log_of_a_worker_has_the_name_of_its_first_cell(faked: Any, tmp_path: Path) -> None:
    several = [Cell(Model("m", "m"), "builtin", name, {}, tmp_path / name) for name in ("first", "last")]
    assert execution._Place(3, several, tmp_path).log == tmp_path / "logs" / "first.log"
