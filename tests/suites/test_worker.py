"""A worker audits cells one after another, and says how each one ended."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock, Timeout

from equipoise.options import EngineOptions
from equipoise.records import EquipoiseError, TaskNotPossible
from equipoise.runs import Run
from equipoise.suites import worker
from equipoise.suites.worker import Worker, main

FEW = {"limit": 2, "resamples": 10, "metrics": ["flip_rate"], "by": []}


@pytest.fixture(autouse=True)
def own_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the arguments of this process."""
    monkeypatch.setattr(sys, "argv", ["pytest"])


def request(folder: Path, **settings: Any) -> dict[str, Any]:
    about = {"model": "planted", "data": ["builtin"], "task": ["next-word"], "folder": str(folder)}
    return {**about, "settings": settings, "command": ["equipoise", "suite", "x"]}


def events(line: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(text) for text in line.getvalue().splitlines()]


def test_a_cell_is_audited_and_leaves_its_run_and_its_page(tmp_path: Path) -> None:
    line = io.StringIO()
    Worker(line).run(request(tmp_path / "cell", **FEW))
    first, *others, last = events(line)
    assert first == {"event": "progress", "what": "loading the model", "done": 0, "total": 1}
    assert last["event"] == "done" and 0 < last["seconds"] < 60 and set(last) == {"event", "seconds"}
    assert others and all(set(event) == {"event", "what", "done", "total"} for event in others)
    run = Run(tmp_path / "cell")
    assert run.manifest.command == "equipoise suite x" and list(run.manifest.datasets) == ["builtin"]
    assert list((tmp_path / "cell").glob("*.html")) and run.manifest.finished is not None


@pytest.mark.parametrize(
    ("error", "event"),
    [
        (TaskNotPossible("no chat"), {"event": "left out", "reason": "no chat"}),
        (EquipoiseError("wrong"), {"event": "failed", "reason": "wrong"}),
        (OSError("disk"), {"event": "failed", "reason": "disk"}),
        (MemoryError(), {"event": "failed", "reason": "MemoryError"}),
        (ValueError("odd"), {"event": "failed", "reason": "ValueError: odd"}),
    ],
)
def test_what_goes_wrong_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception, event: Any
) -> None:
    def fail(*given: object, **named: object) -> None:
        raise error

    monkeypatch.setattr(worker, "audit", fail)
    line = io.StringIO()
    Worker(line).run(request(tmp_path))
    assert events(line)[1:] == [event]
    assert ("Traceback" in capsys.readouterr().err) == isinstance(error, ValueError)


def test_a_model_is_opened_once_and_settings_of_its_place_are_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[tuple[str, EngineOptions]] = []
    audited: list[tuple[Any, dict[str, Any]]] = []
    monkeypatch.setattr(worker, "open_engine", lambda spec, options: opened.append((spec, options)) or len(opened))
    monkeypatch.setattr(worker, "audit", lambda engine, **given: audited.append((engine, given)))
    monkeypatch.setattr(worker, "write_run_page", lambda run: None)
    line = io.StringIO()
    made = Worker(line)
    place = {"cluster": "auto", "workers": 2, "worker_cores": 1}
    for settings in ({"limit": 3}, {"limit": 4}, {"limit": 3, "dtype": "float32"}, {"limit": 5, **place}):
        made.run(request(tmp_path / "x", **settings))
    made.run({**request(tmp_path / "x", limit=3), "model": "planted:bias=1"})
    assert [engine for engine, _ in audited] == [1, 1, 2, 3, 4] and [spec for spec, _ in opened[-2:]] == [
        "planted",
        "planted:bias=1",
    ]
    assert (opened[0][1], opened[1][1].dtype, opened[2][1].workers) == (EngineOptions(), "float32", 2)
    shared = {"data": ["builtin"], "task": ["next-word"], "out": str(tmp_path / "x"), "progress": made._progress}
    assert [given for _, given in audited] == [
        {**shared, "limit": 3},
        {**shared, "limit": 4},
        {**shared, "limit": 3, "dtype": "float32"},
        {**shared, "limit": 5},
        {**shared, "limit": 3},
    ]
    loading = [event for event in events(line) if event["event"] == "progress"]
    assert len(loading) == 4 and sys.argv == ["equipoise", "suite", "x"]


def test_a_cell_that_is_continued_keeps_the_time_of_its_chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[EngineOptions] = []
    monkeypatch.setattr(worker, "open_engine", lambda spec, options: opened.append(options))
    monkeypatch.setattr(worker, "audit", lambda engine, **given: None)
    monkeypatch.setattr(worker, "write_run_page", lambda run: None)

    class Folder:
        chat_time = "2025-01-02T03:04"

        def __init__(self, path: Path) -> None:
            assert path == tmp_path

    monkeypatch.setattr(worker, "RunFolder", Folder)
    made = Worker(io.StringIO())
    made.run(request(tmp_path))
    made.run(request(tmp_path, chat_time="2024-01-01T00:00"))
    assert opened[0] == replace(EngineOptions(), chat_time="2025-01-02T03:04")
    assert opened[1].chat_time == "2024-01-01T00:00"


def test_progress_is_said_five_times_a_second_and_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(worker.time, "monotonic", lambda: now[0])
    line = io.StringIO()
    made = Worker(line)
    for moment, done in ((100.0, 1), (100.19, 2), (100.2, 3), (100.3, 4), (100.35, 9), (100.54, 8), (100.56, 8)):
        now[0] = moment
        made._progress("a", done, 9)
    assert [event["done"] for event in events(line)] == [1, 3, 9, 8]
    assert events(line)[0] == {"event": "progress", "what": "a", "done": 1, "total": 9}
    monkeypatch.setattr(worker, "REPORT_EVERY", 0.25)
    for moment in (200.0, 200.25, 200.375):
        now[0] = moment
        made._progress("b", 1, 9)
    assert [event["what"] for event in events(line)].count("b") == 2


def test_the_process_audits_what_arrives_and_ends_with_its_input(tmp_path: Path) -> None:
    lock = tmp_path / "place.lock"
    reading, writing = os.pipe(), os.pipe()
    log = os.open(tmp_path / "log", os.O_CREAT | os.O_WRONLY)
    child = os.fork()
    if not child:
        signal.alarm(30)  # a worker that hangs ends
        os.dup2(reading[0], 0)
        os.dup2(writing[1], 1)
        os.dup2(log, 2)
        os.close(reading[1])
        sys.stdin, sys.stdout, sys.argv = os.fdopen(0), os.fdopen(1, "w"), ["worker", str(lock)]

        def audit(engine: Any, **given: Any) -> None:
            print("printed by a library", flush=True)
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
            raise EquipoiseError(str(given["data"]))

        worker.audit = audit  # type: ignore[assignment]
        try:
            main()
        finally:
            os._exit(9)
    os.close(reading[0])
    os.close(writing[1])
    with os.fdopen(writing[0]) as said, os.fdopen(reading[1], "w") as asked:
        assert json.loads(said.readline()) == {"event": "ready"}
        with pytest.raises(Timeout):
            FileLock(lock, timeout=0).acquire()
        for data in ("a", "b"):
            asked.write(json.dumps({**request(tmp_path / "x"), "data": [data]}) + "\n")
            asked.flush()
            told = [json.loads(said.readline())]
            while told[-1]["event"] == "progress":
                told.append(json.loads(said.readline()))
            assert told[-1] == {"event": "failed", "reason": f"['{data}']"}
        asked.close()
        assert said.read() == ""
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    os.close(log)
    assert (tmp_path / "log").read_text() == "printed by a library\n" * 2
