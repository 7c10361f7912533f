"""A command that is interrupted, by whichever signals and how often, ends with one sentence."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from equipoise import interruption
from equipoise.interruption import SENTENCE, SIGNALS, Interrupted

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


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what would be done to the process, in place of ending it."""
    done: list[str] = []

    def ended(code: int) -> None:
        done.append(f"ended with {code}")
        raise SystemExit(code)

    monkeypatch.setattr(interruption.os, "_exit", ended)
    monkeypatch.setattr(interruption, "ignore", lambda: done.append("ignored"))
    for name, value in (("working", False), ("interrupted", False), ("told_user", False)):
        monkeypatch.setattr(interruption._state, name, value)
    return done


def test_the_sentence_is_said_once(quiet: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with open(tmp_path / "said", "w+") as screen:
        monkeypatch.setattr(interruption.sys, "stderr", screen)
        for terminal in (True, False):
            monkeypatch.setattr(interruption.os, "isatty", lambda place, terminal=terminal: terminal)
            monkeypatch.setattr(interruption._state, "told_user", False)
            interruption.say()
            interruption.say()
    assert (tmp_path / "said").read_bytes() == b"\x1b[?25h" + LINE.encode() + LINE.encode()
    assert quiet == ["ignored", "ignored"]
    monkeypatch.setattr(interruption._state, "told_user", False)
    monkeypatch.setattr(interruption.sys, "stderr", None)
    interruption.say()  # nobody is there to read it


def test_outside_of_work_a_signal_ends_and_within_it_only_the_first_unwinds(
    quiet: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interruption, "say", lambda: quiet.append("said"))
    with pytest.raises(SystemExit):
        interruption._interrupt(2, None)
    assert quiet == ["said", "ended with 2"] and not interruption.interrupted()
    monkeypatch.setattr(interruption._state, "working", True)
    with pytest.raises(Interrupted):
        interruption._interrupt(2, None)
    assert interruption.interrupted()
    interruption._interrupt(2, None)  # further ones change nothing
    assert quiet == ["said", "ended with 2"]


def test_work_begins_anew_and_leaves_everything_as_it_was(quiet: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    hook = sys.unraisablehook
    interruption._state.interrupted = interruption._state.told_user = True
    with interruption.unwinding():
        assert interruption._state.working and not interruption.interrupted() and not interruption._state.told_user
        assert sys.unraisablehook is not hook
        assert signal.set_wakeup_fd(-1) > 0, "the thread that watches is told of signals"
        assert [thread.name for thread in threading.enumerate()].count("interruption") == 1
    assert not interruption._state.working and sys.unraisablehook is hook
    deadline = time.monotonic() + 20
    while any(thread.name == "interruption" for thread in threading.enumerate()):
        assert time.monotonic() < deadline, "the thread ends with the work"
        time.sleep(0.01)


def test_what_swallows_an_interruption_is_ended_and_other_faults_are_told(quiet: list[str]) -> None:
    told: list[object] = []
    before, sys.unraisablehook = sys.unraisablehook, told.append
    try:
        with interruption.unwinding():
            other = SimpleNamespace(exc_type=ValueError)
            sys.unraisablehook(other)  # type: ignore[arg-type]
            assert told == [other] and quiet == []
            interruption._state.told_user = True
            with pytest.raises(SystemExit):
                sys.unraisablehook(SimpleNamespace(exc_type=Interrupted))  # type: ignore[arg-type]
            assert quiet == ["ended with 2"]
    finally:
        sys.unraisablehook = before


def test_which_signals_are_listened_to_and_ignored() -> None:
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    interruption.listen()
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    assert handlers.pop(signal.SIGINT) is interruption._interrupt
    assert set(handlers.values()) == {signal.SIG_IGN}, "what was to be ignored stays so"
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    interruption.listen()
    assert {signal.getsignal(number) for number in SIGNALS} == {interruption._interrupt}
    interruption.ignore()
    assert {signal.getsignal(number) for number in SIGNALS} == {signal.SIG_IGN}
    thread = threading.Thread(target=interruption.ignore)
    thread.start()
    thread.join()


def test_a_thread_that_is_not_the_first_watches_nothing() -> None:
    found: list[int | None] = []
    thread = threading.Thread(target=lambda: found.append(interruption._watch()))
    thread.start()
    thread.join()
    assert found == [None]


def test_a_signal_that_has_no_effect_ends_the_process_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    ended, slept = threading.Event(), []
    monkeypatch.setattr(interruption, "end_now", ended.set)
    monkeypatch.setattr(interruption.time, "sleep", slept.append)
    before = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()
    writing = interruption._watch()
    assert writing is not None and not os.get_blocking(writing)
    (thread,) = [thread for thread in threading.enumerate() if thread.name == "interruption"]
    assert thread.daemon
    try:
        assert signal.set_wakeup_fd(-1) == writing
        os.write(writing, bytes([signal.SIGUSR1]))
        assert not ended.wait(0.05), "another signal is none of ours"
        os.write(writing, bytes([signal.SIGINT]))
        assert ended.wait(10) and slept == [interruption.GRACE]
    finally:
        os.close(writing)
    thread.join(10)
    assert not thread.is_alive()
    if before:
        assert len(set(os.listdir("/proc/self/fd"))) == len(before), "both ends are closed"


def test_work_that_cannot_be_watched_is_done_all_the_same(quiet: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    monkeypatch.setattr(interruption, "_watch", lambda: None)
    monkeypatch.setattr(interruption.signal, "set_wakeup_fd", told.append)
    with interruption.unwinding():
        assert interruption._state.working
    assert not interruption._state.working and told == []
