"""Work that is shared out among the cores."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from equipoise import cores


@pytest.fixture(params=[1, 2, 5])
def count(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """As many cores as the test says, whatever the machine has."""
    monkeypatch.setattr(cores, "wanted", lambda: request.param)
    return int(request.param)


def several(monkeypatch: pytest.MonkeyPatch, count: int = 3) -> None:
    monkeypatch.setattr(cores, "wanted", lambda: count)


@pytest.mark.parametrize("parts", [0, 1, 2, 7, 300])
def test_results_come_in_the_order_of_the_parts(count: int, parts: int) -> None:
    assert cores.shared_out(lambda part: part * part, range(parts)) == [part * part for part in range(parts)]


def test_copies_do_the_work_and_end(monkeypatch: pytest.MonkeyPatch) -> None:
    several(monkeypatch)
    seen = np.arange(1000.0)  # what is computed here is seen by the copies
    barrier = _meeting(3)

    def summed(part: int) -> tuple[int, float]:
        barrier()
        return os.getpid(), float(seen[part:].sum())

    found = cores.shared_out(summed, [0, 10, 20])
    assert [value for _, value in found] == [seen[part:].sum() for part in (0, 10, 20)]
    workers = {process for process, _ in found}
    assert len(workers) == 3
    assert os.getpid() in workers
    for process in workers - {os.getpid()}:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def _meeting(count: int) -> Callable[[], None]:
    """Return a function that returns when as many processes have called it."""
    reading, writing = os.pipe()

    def met() -> None:
        os.write(writing, b"1")
        while int.from_bytes(fcntl.ioctl(reading, termios.FIONREAD, bytes(4)), sys.byteorder) < count:
            time.sleep(0.001)

    return met


def test_no_copy_is_made_when_all_parts_are_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    several(monkeypatch, 9)
    copied, copies = cores._copied, []

    def slowly(*given: Any) -> int:
        copies.append(copied(*given))
        os.waitpid(copies[-1], os.WNOHANG)
        time.sleep(0.2)
        return copies[-1]

    monkeypatch.setattr(cores, "_copied", slowly)
    assert cores.shared_out(abs, range(-12, 0)) == list(range(12, 0, -1))
    assert len(copies) == 1


def test_an_error_is_raised_here_as_it_is(count: int) -> None:
    def failing(part: int) -> int:
        if part == 3:
            raise ZeroDivisionError(f"part {part}")
        return part

    with pytest.raises(ZeroDivisionError, match=r"^part 3$"):
        cores.shared_out(failing, range(5))


def test_what_a_killed_copy_had_begun_is_computed_here(monkeypatch: pytest.MonkeyPatch) -> None:
    several(monkeypatch)
    parent = os.getpid()

    def killed(part: int) -> int:
        if os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return part + 1

    assert cores.shared_out(killed, range(20)) == list(range(1, 21))


def test_copies_are_ended_when_this_process_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    several(monkeypatch, 2)
    parent, copies = os.getpid(), []
    fork = os.fork

    def forked() -> int:
        child = fork()
        if child:
            copies.append(child)
        return child

    def waiting(part: int) -> int:
        if os.getpid() == parent:
            raise KeyboardInterrupt
        signal.pause()
        return part

    monkeypatch.setattr(os, "fork", forked)
    with pytest.raises(KeyboardInterrupt):
        cores.shared_out(waiting, range(2))
    assert len(copies) == 1
    with pytest.raises(ProcessLookupError):
        os.kill(copies[0], 0)


SHARING = """
import os, time
from equipoise import cores

cores.wanted = lambda: 2

def part(number):
    os.write(1, b"%d\\n" % os.getpid())
    time.sleep(60)

cores.shared_out(part, range(4))
"""


def test_a_copy_ends_with_a_process_that_is_killed() -> None:
    sharing = subprocess.Popen([sys.executable, "-c", SHARING], stdout=subprocess.PIPE, text=True)
    assert sharing.stdout is not None
    processes = {int(sharing.stdout.readline()) for _ in range(2)}
    sharing.kill()
    sharing.wait()
    # The copy has the other end of the pipe, so the pipe ends with it.
    assert select.select([sharing.stdout], [], [], 20)[0] and sharing.stdout.read() == ""
    assert len(processes) == 2


def test_a_copy_leaves_signals_to_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    several(monkeypatch, 2)
    parent, handled = os.getpid(), []
    fork = os.fork

    def forked() -> int:
        child = fork()
        if not child:
            for number in cores.ENDING:  # they come before the copy is ready for them
                os.kill(os.getpid(), number)
        return child

    def signalled(part: int) -> int:
        if os.getpid() != parent:
            for number in cores.ENDING:
                os.kill(os.getpid(), number)
            return 1
        time.sleep(0.2)  # so that the copy has time to begin a part
        return 0

    monkeypatch.setattr(os, "fork", forked)
    earlier = {number: signal.signal(number, lambda *_: handled.append(_)) for number in cores.ENDING}
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing)
    try:
        assert sum(cores.shared_out(signalled, range(9))) > 0, "a copy answered"
        assert not handled and not select.select([reading], [], [], 0)[0], "this process heard of them"
    finally:
        signal.set_wakeup_fd(before)
        for number, handler in earlier.items():
            signal.signal(number, handler)
        os.close(reading)
        os.close(writing)
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, []) & set(cores.ENDING)


def test_another_thread_computes_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    several(monkeypatch)
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.extend(cores.shared_out(lambda _: os.getpid(), range(9))))
    thread.start()
    thread.join()
    assert found == [os.getpid()] * 9


def test_more_parts_than_a_pipe_holds_are_computed_here(monkeypatch: pytest.MonkeyPatch) -> None:
    several(monkeypatch)
    assert cores.shared_out(lambda _: 1, range(cores.MOST_PARTS + 1)) == [1] * (cores.MOST_PARTS + 1)
    assert cores.shared_out(lambda part: part, range(cores.MOST_PARTS)) == [*range(cores.MOST_PARTS)]


def test_no_file_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    several(monkeypatch)
    before = set(os.listdir("/proc/self/fd"))
    cores.shared_out(lambda part: part, range(10))
    assert len(set(os.listdir("/proc/self/fd"))) == len(before)


@pytest.mark.parametrize(
    ("said", "expected"), [("", None), ("1", 1), ("2", 2), ("0", None), ("many", None), ("-1", None), ("100000", None)]
)
def test_a_user_may_want_fewer_cores(monkeypatch: pytest.MonkeyPatch, said: str, expected: int | None) -> None:
    monkeypatch.setattr(cores, "there", lambda: 4)
    monkeypatch.setenv("OMP_NUM_THREADS", said)
    assert cores.wanted() == (expected or 4)


def test_the_cores_that_are_there() -> None:
    assert cores.there() == len(os.sched_getaffinity(0))


def test_products_take_one_thread_within_and_as_many_as_before_after() -> None:
    def threads() -> list[int]:
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    before = threads()
    with cores.one_thread():
        assert set(threads()) == {1}
    assert threads() == before


def test_the_load_is_that_of_the_last_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (1.5, 2.5, 3.5))
    assert cores.load() == 1.5
    monkeypatch.delattr(os, "getloadavg")
    assert cores.load() == 0.0


def test_a_machine_that_does_not_say_which_cores_may_be_used_has_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    for count, there in ((7, 7), (1, 1), (None, 1)):
        monkeypatch.setattr(os, "cpu_count", lambda count=count: count)
        assert cores.there() == there


def test_something_is_computed_aside_and_waited_for(count: int) -> None:
    with cores.aside(os.getpid) as process:
        assert (process() == os.getpid()) == (count == 1)


def test_what_is_computed_aside_is_ended_with_its_context(monkeypatch: pytest.MonkeyPatch) -> None:
    several(monkeypatch)
    copies, fork = [], os.fork

    def forked() -> int:
        copies.append(fork())
        return copies[-1]

    monkeypatch.setattr(os, "fork", forked)
    with pytest.raises(KeyboardInterrupt), cores.aside(signal.pause):
        raise KeyboardInterrupt
    (copy,) = copies
    with pytest.raises(ProcessLookupError):
        os.kill(copy, 0)


def test_what_a_killed_copy_was_to_compute_aside_is_computed_here(monkeypatch: pytest.MonkeyPatch) -> None:
    several(monkeypatch)
    parent = os.getpid()

    def killed() -> str:
        if os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return "here"

    with cores.aside(killed) as result:
        assert result() == "here"


def test_an_error_aside_is_raised_where_it_is_waited_for(count: int) -> None:
    with pytest.raises(ZeroDivisionError), cores.aside(lambda: 1 / 0) as result:
        result()
