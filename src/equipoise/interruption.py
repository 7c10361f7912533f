"""Ctrl-C, a closed terminal, a request to end: any number of them, at any moment, end a command with one sentence.

Before a command works, and after it, an interruption ends the process at once. While it works, the first one unwinds
it, so that files, processes and folders are left in order; further ones change nothing. What does not unwind in time,
or swallows the interruption, is ended.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

SENTENCE = "interrupted; finished work is saved, and the same command continues from there"
CODE = 2
GRACE = 10.0
"""Seconds that unwinding may take, such as the end of a local cluster."""

SIGNALS = [number for name in ("SIGINT", "SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None]
SHOW_CURSOR = b"\x1b[?25h"


class Interrupted(BaseException):
    """A signal to end; not KeyboardInterrupt, which typer turns into an exit without a word."""


class _State:
    """Whether a command is at work, whether it was interrupted, and whether that was said."""

    working = False
    interrupted = False
    told_user = False


_state = _State()


def listen() -> None:
    """End with one sentence on every signal to end; one that was to be ignored (nohup) stays so."""
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN or number == signal.SIGINT:
            signal.signal(number, _interrupt)


def ignore() -> None:
    """Ignore every signal to end: all is said and done, and Python is about to take itself down."""
    if threading.current_thread() is threading.main_thread():
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)


@contextmanager
def unwinding() -> Iterator[None]:
    """Let an interruption raise `Interrupted` in what is done meanwhile."""
    listen()
    hook = sys.unraisablehook
    sys.unraisablehook = lambda fault: end_now() if fault.exc_type is Interrupted else hook(fault)
    watching = _watch()
    _state.working, _state.interrupted, _state.told_user = True, False, False
    try:
        yield
    finally:
        _state.working = False
        sys.unraisablehook = hook
        if watching is not None:
            signal.set_wakeup_fd(-1)
            os.close(watching)  # which ends the thread


def interrupted() -> bool:
    """Return whether the command was interrupted."""
    return _state.interrupted


def say() -> None:
    """Say once that the command was interrupted; nobody may be there any more to read it."""
    if not _state.told_user:
        ignore()
        _state.told_user = True
        with suppress(OSError, ValueError, AttributeError):
            place = sys.stderr.fileno()
            os.write(place, (SHOW_CURSOR if os.isatty(place) else b"") + f"equipoise: {SENTENCE}\n".encode())


def end_now() -> None:
    """End the process without unwinding."""
    say()
    os._exit(CODE)


def _interrupt(number: int, frame: Any) -> None:
    if not _state.working:
        end_now()
    if not _state.interrupted:
        _state.interrupted = True
        raise Interrupted


def _watch() -> int | None:
    """Start a thread that ends the process where an interruption has no effect: None where that cannot be done."""
    if os.name == "nt" or threading.current_thread() is not threading.main_thread():
        return None
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)

    def watch() -> None:
        while number := os.read(reading, 1):
            if number[0] in SIGNALS:
                time.sleep(GRACE)
                end_now()
        os.close(reading)

    threading.Thread(target=watch, daemon=True, name="interruption").start()
    return writing
