"""A command that is interrupted, by whichever signals and how often, ends with one sentence."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from equipoise.interruption import SENTENCE

LINE = f"equipoise: {SENTENCE}\n"

WORK = """
import os, signal, sys, time
from equipoise import interruption
from equipoise.cli.errors import clear_errors
interruption.GRACE = 1.0

class Swallowing:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)

def swallowing():
    while True:
        try:
            time.sleep(0.05)
        except BaseException:
            pass

def hindered():
    try:
        time.sleep(30)
    finally:
        raise KeyError("a worker is gone")

with clear_errors():
    print("at work", flush=True)
    {body}
"""


def _as_in_a_terminal() -> None:
    """Let signals work in the child, also where the tests run under nohup or in the background."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL if number != signal.SIGINT else signal.default_int_handler)


def interrupted(body: str, signals: list[signal.Signals], pause: float = 0.0) -> tuple[int, str]:
    """Return the exit code and what was said on standard error by a process that got these signals at work."""
    command = [sys.executable, "-c", WORK.format(body=body)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, preexec_fn=_as_in_a_terminal, **pipes) as process:
        assert process.stdout is not None and process.stdout.readline() == "at work\n"
        for number in signals:
            process.send_signal(number)
            time.sleep(pause)
        _, said = process.communicate(timeout=60)
    return process.returncode, said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_each_signal_ends_with_one_sentence(number: signal.Signals) -> None:
    assert interrupted("time.sleep(30)", [number]) == (2, LINE)


def test_many_signals_end_with_one_sentence() -> None:
    assert interrupted("time.sleep(30)", [signal.SIGINT] * 20, pause=0.002) == (2, LINE)


@pytest.mark.parametrize("body", ["swallowing()", "Swallowing(); time.sleep(30)"])
def test_an_interruption_that_is_swallowed_ends_all_the_same(body: str) -> None:
    assert interrupted(body, [signal.SIGTERM]) == (2, LINE)


def test_what_goes_wrong_because_of_it_is_not_told() -> None:
    assert interrupted("hindered()", [signal.SIGINT, signal.SIGINT]) == (2, LINE)


def test_a_closed_terminal_that_is_to_be_ignored_is_ignored() -> None:
    body = "signal.signal(signal.SIGHUP, signal.SIG_IGN); interruption.listen(); os.kill(os.getpid(), signal.SIGHUP)"
    assert interrupted(body, []) == (0, "")


@pytest.mark.slow
def test_ctrl_c_at_twenty_moments_of_an_audit(tmp_path: Path) -> None:
    rng = random.Random(20261117)
    words = ["audit", "planted:noise=1", "--limit", "60", "--no-html", "--quiet", "--out", str(tmp_path / "run")]
    # Python itself takes a moment before anything of ours is there to listen.
    waiting = "import time; from equipoise.__main__ import listen, main; listen(); print('here', flush=True); main()"
    command = [sys.executable, "-c", waiting, *words]
    ends = []
    for _ in range(20):
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen(command, text=True, preexec_fn=_as_in_a_terminal, **pipes) as process:
            assert process.stdout is not None and process.stdout.readline() == "here\n"
            time.sleep(rng.uniform(0, 3))
            for _ in range(rng.randint(1, 5)):
                process.send_signal(signal.SIGINT)
                time.sleep(rng.choice((0, 0.001, 0.02, 0.05)))
            _, said = process.communicate(timeout=60)
        ends.append((process.returncode, said))
    assert set(ends) <= {(2, LINE), (0, "")} and (2, LINE) in ends
    assert os.path.lexists(tmp_path)
