"""The cores of this machine: how many may be used, and work that is shared out among them."""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import cache
from typing import Any, BinaryIO, TypeVar

from threadpoolctl import ThreadpoolController

MOST_PARTS = 2**15
"""As many numbers as a pipe holds."""

ENDING = [number for name in ("SIGINT", "SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None]
"""Signals that ask a program to end."""

KILLED_WITH_PARENT = 1
"""PR_SET_PDEATHSIG: the signal that a process gets when the one that made it has ended, however it ended."""

Part = TypeVar("Part")
Result = TypeVar("Result")


def there() -> int:
    """Return how many cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def wanted() -> int:
    """Return how many cores to compute on: all, or fewer if OMP_NUM_THREADS says so, as torch and numpy read it."""
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(there(), int(limit)) if limit.isdecimal() and int(limit) else there()


def load() -> float:
    """Return how many programs wanted a core in the last minute, on average; 0 where the machine does not say."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def one_thread() -> AbstractContextManager[object]:
    """Return a context in which products take one thread: with several, sums round by the number of threads."""
    limited: AbstractContextManager[object] = _libraries().limit(limits=1, user_api="blas")
    return limited


@cache
def _libraries() -> ThreadpoolController:
    """Return what computes products; looking for it takes a millisecond."""
    return ThreadpoolController()


def shared_out(function: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
    """Return the function of each part, computed by copies of this process, one for each core.

    A copy sees all that this process holds, and sends back what the function returns. So the results do not depend on
    the number of cores, as long as the parts do not. What a copy does not answer is computed here: it may have been
    ended for want of memory, or the function raised an error. Where a process cannot be copied, all is computed here.
    """
    copies = min(wanted(), len(parts)) - 1
    if copies < 1 or len(parts) > MOST_PARTS or not _is_copied():
        return [function(part) for part in parts]
    # Several copies with several threads each would wait for each other.
    with one_thread(), _copies(function, parts, copies) as (numbers, answers):
        results = {number: function(parts[number]) for number in numbers}
        results.update(answers)
    return [results[number] if number in results else function(part) for number, part in enumerate(parts)]


@contextmanager
def aside(function: Callable[[], Result]) -> Iterator[Callable[[], Result]]:
    """Compute something in a copy of this process while this one does something else; the callable waits for it.

    The copy is ended with the context. What it does not answer is computed here, as by `shared_out`.
    """
    if wanted() < 2 or not _is_copied():
        yield function
        return
    with _copies(lambda _: function(), [None], 1) as (_, answers):

        def result() -> Result:
            answered = dict(answers)
            return answered[0] if answered else function()

        yield result


def _is_copied() -> bool:
    """Return whether this process may be copied here: the thread that asks is the only one in a copy."""
    return sys.platform == "linux" and threading.current_thread() is threading.main_thread()


@contextmanager
def _copies(
    function: Callable[[Part], Result], parts: Sequence[Part], count: int
) -> Iterator[tuple[Iterator[int], Iterator[tuple[int, Result]]]]:
    """Start copies of this process that compute parts; give the numbers that are left, and what the copies answer."""
    with ExitStack() as opened:
        reading, writing = os.pipe()
        opened.callback(os.close, reading)
        os.write(writing, b"".join(number.to_bytes(2, "big") for number in range(len(parts))))
        os.close(writing)
        children: dict[int, BinaryIO] = {}
        opened.callback(_end, children)
        for _ in range(count):
            if not _left(reading):
                break  # copying a large process takes time, and those that there are have begun all parts
            answers = opened.enter_context(os.fdopen(os.memfd_create("answers"), "w+b"))
            children[_copied(function, parts, reading, answers)] = answers
        yield _numbers(reading), _answers(children)


def _copied(function: Callable[[Part], Result], parts: Sequence[Part], reading: int, answers: BinaryIO) -> int:
    """Return the number of a copy of this process, which computes parts until none is left, and ends."""
    child = _forked()
    if child:
        return child
    try:
        for number in _numbers(reading):
            pickle.dump((number, function(parts[number])), answers, protocol=pickle.HIGHEST_PROTOCOL)
        answers.flush()
    finally:
        os._exit(0)


def _forked() -> int:
    """Return the number of a copy of this process; in it 0. The copy leaves signals to this process, and ends with it.

    A signal that reached the copy before it leaves them would unwind it as if it were this process.
    """
    parent, request = os.getpid(), _kernel_request()
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        with warnings.catch_warnings():
            # Threads of this process are not in the copy, which does nothing but compute.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if not child:
            for number in ENDING:
                signal.signal(number, signal.SIG_IGN)
            request(KILLED_WITH_PARENT, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(0)
        return child
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


@cache
def _kernel_request() -> Callable[[int, int], object]:
    """Return `prctl`, which asks Linux to treat this process differently; without it, a function that does nothing."""
    return getattr(ctypes.CDLL(None), "prctl", lambda option, value: None)


def _left(reading: int) -> int:
    """Return how many bytes of a pipe nobody has read."""
    # Here, because Windows has neither, and copies no process.
    import fcntl
    import termios

    return int.from_bytes(fcntl.ioctl(reading, termios.FIONREAD, bytes(4)), sys.byteorder)


def _numbers(reading: int) -> Iterator[int]:
    """Yield the numbers of parts that no process has begun; each is read once."""
    while taken := os.read(reading, 2):
        yield int.from_bytes(taken, "big")


def _answers(children: dict[int, BinaryIO]) -> Iterator[tuple[int, Any]]:
    """Yield what the copies have computed, as soon as each has ended."""
    while children:
        child, answered = children.popitem()
        os.waitpid(child, 0)
        answered.seek(0)
        yield from _received(answered)


def _received(answers: BinaryIO) -> Iterator[tuple[int, Result]]:
    """Yield what a copy has computed; it may have been ended in the midst of an answer."""
    with suppress(EOFError, pickle.UnpicklingError):
        while True:
            yield pickle.load(answers)


def _end(children: dict[int, BinaryIO]) -> None:
    """End the copies that are still at work."""
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
