"""A process of our own answers on its line, leaves Ctrl-C to its parent, and ends when it is told to."""

from __future__ import annotations

import os
import signal
import sys
from multiprocessing.connection import Pipe
from pathlib import Path

import pytest

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
