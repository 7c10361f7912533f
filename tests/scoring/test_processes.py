"""A process of our own answers on its line, leaves Ctrl-C to its parent, and ends when it is told to."""

from __future__ import annotations

import os
import signal
import sys
from multiprocessing.connection import Pipe
from pathlib import Path

import pytest

from equipoise.scoring import processes
from equipoise.scoring.processes import ChildProcess, end, line_to_parent

ECHO = """
import os
from equipoise.scoring.processes import line_to_parent

line = line_to_parent()
line.send("ready")
while True:
    line.send((os.environ["GREETING"], line.recv()))
"""


def test_a_child_answers_ignores_an_interruption_and_ends(tmp_path: Path) -> None:
    (tmp_path / "echo_child.py").write_text(ECHO)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    child = ChildProcess("echo_child", PYTHONPATH=path, GREETING="hello")
    try:
        assert child.line.recv() == "ready"
        child.process.send_signal(signal.SIGINT)
        child.line.send(("a", 1))
        assert child.line.recv() == ("hello", ("a", 1))
        assert child.process.poll() is None
    finally:
        end([child])
    assert child.process.returncode == -signal.SIGKILL and child.line.closed


def test_the_line_to_the_parent_is_the_first_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = Pipe()
    monkeypatch.setattr(sys, "argv", ["module", str(os.dup(theirs.fileno())), "9"])
    line = line_to_parent()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    line.send("here")
    assert ours.recv() == "here"
    for end_of_line in (line, ours, theirs):
        end_of_line.close()


def test_how_a_child_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[object, dict[str, object]]] = []

    def popen(command: object, **choices: object) -> str:
        (theirs,) = choices.pop("pass_fds")  # type: ignore[misc]
        os.fstat(theirs)  # it is open while the process starts
        started.append((command, choices))
        return str(theirs)

    monkeypatch.setattr(processes.subprocess, "Popen", popen)
    child = ChildProcess("some.module", GREETING="hello")
    theirs = str(child.process)
    environment = {**os.environ, "GREETING": "hello"}
    choices = {"stdin": processes.subprocess.DEVNULL, "stdout": 2, "env": environment}
    assert started == [([sys.executable, "-m", "some.module", theirs], choices)]
    assert child.line.poll(10), "our copy of its end is closed, so that an end of the process is noticed"
    with pytest.raises(EOFError):
        child.line.recv()
    child.line.close()
