"""The connection to Ray: an existing cluster, or a local one that is started here and stopped in the end."""

from __future__ import annotations

import atexit
import gc
import logging
import os
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import ray
import ray._private.worker as ray_worker

from ...options import EngineOptions
from ...records import ModelError

LOCAL = "local"
"""What Ray calls a cluster of its own on this machine."""

ANSWER_SECONDS = 5.0
"""How long an address may take to accept a connection."""

AUTO = "auto"
"""The cluster that RAY_ADDRESS names, or a local one where it names none."""

WATCH_SECONDS = 2.0
"""How often the head of a cluster is looked for."""

GONE_SECONDS = 10.0
"""How long it may not be there. Ray itself ends the whole process after a minute, with a line of its own."""

PRINTER = "print_to_stdstream"
"""Ray's function that prints what its daemons report, such as the last lines of a lost node's log, to the terminal."""

_log = logging.getLogger("equipoise.cluster")
_lock = threading.RLock()  # an engine that is freed while the lock is held disconnects, too
_users = 0
_started_here = False
_address = ""
_printer: Any = None
_ended = threading.Event()
"""Set once this process has left the cluster that it started or joined."""


@dataclass(frozen=True)
class Resources:
    """What a cluster has."""

    cores: int
    gpus: int


class _Head:
    """The process that a cluster cannot do without, looked for while it is used."""

    address = ""
    gone = False

    def watch(self, address: str) -> None:
        """Look for the head at an address until it is left."""
        self.address, self.gone = address, False
        threading.Thread(target=self._watch, args=(address,), daemon=True, name="cluster head").start()

    def _watch(self, address: str) -> None:
        seen = time.monotonic()
        while self.address == address and not self.gone:
            try:
                check_listening(address, WATCH_SECONDS)
                seen = time.monotonic()
            except ModelError:
                self.gone = time.monotonic() - seen > GONE_SECONDS
            time.sleep(WATCH_SECONDS)

    def check(self) -> None:
        """Raise an error where the head has been gone for a while."""
        if self.gone:
            reason = f"the Ray cluster at {self.address} no longer answers"
            raise ModelError(f"{reason}; earlier answers are saved, and the same command continues from there")

    def leave(self) -> None:
        """Leave the cluster. Without its head Ray may wait for ever, and its libraries complain: neither is ours."""
        self.address = ""
        if not self.gone:
            ray.shutdown()
            return
        atexit.unregister(ray_worker.shutdown)
        _part_from_stderr()
        leaving = threading.Thread(target=ray.shutdown, daemon=True)
        leaving.start()
        leaving.join(ANSWER_SECONDS)


_head = _Head()
check_head = _head.check


def connect(address: str, *, cores: int, timeout: float = EngineOptions.timeout) -> Resources:
    """Return what the cluster has; a local one gets at least that many cores. Call `disconnect` when done with it.

    A cluster that does not answer, or does not start, within `timeout` seconds is an error.
    """
    global _users, _started_here, _address
    named = os.environ.get("RAY_ADDRESS", "") if address == AUTO else address
    with _lock:
        if _is_elsewhere(named):
            gc.collect()  # engines that nobody uses any more, but that are not freed yet, leave their cluster
        if _is_elsewhere(named):
            used = ray.get_runtime_context().gcs_address
            raise ModelError(f"this process is connected to the Ray cluster at {used}, not to {named}; leave it first")
        if not ray.is_initialized():
            _initialise(named, cores, timeout)
            _started_here, _address = True, named
            _silence()
            _head.watch(str(ray.get_runtime_context().gcs_address))
        _users += 1
    total = ray.cluster_resources()
    return Resources(int(total.get("CPU", 0)), int(total.get("GPU", 0)))


def _is_elsewhere(named: str) -> bool:
    """Return whether this process is connected to another cluster than the one that is named."""
    if not named or not ray.is_initialized():
        return False
    return named not in (_address, str(ray.get_runtime_context().gcs_address))


def disconnect() -> None:
    """Leave the cluster; a local one ends with its last user here."""
    global _users, _started_here, _address
    with _lock:
        _users -= 1
        if _users == 0 and _started_here and ray.is_initialized():
            _head.leave()
            _ended.set()
            _started_here, _address = False, ""
            _unsilence()


def _silence() -> None:
    """Send what Ray's daemons report to our log: `log_to_driver` does not, and standard output may be a JSON file."""
    global _printer
    _printer = getattr(ray_worker, PRINTER, None)
    if _printer is not None:
        setattr(ray_worker, PRINTER, lambda data, *_, **__: _log.info("%s", "\n".join(map(str, data["lines"]))))


def _unsilence() -> None:
    if _printer is not None:
        setattr(ray_worker, PRINTER, _printer)


def check_listening(address: str, timeout: float) -> None:
    """Raise an error where nothing accepts connections at an address; Ray itself would wait for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        raise ModelError(f"{address!r} is not the address of a Ray cluster, such as 127.0.0.1:6379")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=min(timeout, ANSWER_SECONDS)).close()
    except (OSError, OverflowError) as error:
        reason = str(getattr(error, "strerror", None) or error).lower()
        raise ModelError(f"no Ray cluster answers at {address}: {reason}") from None


def _initialise(named: str, cores: int, timeout: float) -> None:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    # Ray lets its workers run behind everything else (niceness 15): on a busy machine they would hardly run at all.
    os.environ.setdefault("RAY_worker_niceness", "0")
    # Its warnings about its own settings are not our user's; an error becomes a sentence of ours.
    logging.getLogger("ray").setLevel(logging.ERROR)
    chosen: dict[str, Any] = {"log_to_driver": False, "configure_logging": False, "logging_level": logging.ERROR}
    if named and named != LOCAL:
        check_listening(named, timeout)
        chosen["address"] = named
    else:
        count = max(cores, os.cpu_count() or 1)
        chosen |= {"address": LOCAL, "num_cpus": count, "include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    fault = _fault_of(lambda: ray.init(**chosen), timeout)
    if fault is not None:
        place = (
            f"no Ray cluster answers at {named}" if "num_cpus" not in chosen else "a local Ray cluster does not start"
        )
        raise ModelError(f"{place}: {fault}")


def _fault_of(start: Callable[[], object], timeout: float) -> str | None:
    """Return why Ray did not start, in a few words; None where it did. What it prints meanwhile goes to our log.

    It starts in a thread: so it can be left waiting, and it leaves the handling of SIGTERM to us.
    """
    faults: list[BaseException] = []
    started = threading.Event()
    _ended.clear()

    def work() -> None:
        try:
            start()
        except BaseException as error:  # Ray raises a dozen kinds, and ends the process in some of its checks
            faults.append(error)
        started.set()
        # Linux ends the processes of a local cluster with the thread that started them.
        _ended.wait()

    with _logged_stderr():
        threading.Thread(target=work, daemon=True).start()
        started.wait(timeout)
    if not started.is_set():
        _part_from_stderr()
        return f"it did not answer within {timeout:g} seconds (timeout)"
    if not faults:
        return None
    return first_line(faults[0])


def first_line(error: BaseException) -> str:
    """Return the first line of an error of Ray's that says something, or its name."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def _part_from_stderr() -> None:
    """Keep standard error for Python: libraries of a Ray that was left waiting go on to write to it."""
    with suppress(OSError, ValueError):  # of a notebook, whose standard error is not a file
        if sys.stderr.fileno() == 2:
            sys.stderr = os.fdopen(os.dup(2), "w", buffering=1, errors="replace")
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


@contextmanager
def _logged_stderr() -> Iterator[None]:
    """Send what is written to standard error meanwhile to our log: Ray's libraries write there themselves."""
    sys.stderr.flush()
    with tempfile.TemporaryFile() as caught:
        kept = os.dup(2)
        try:
            os.dup2(caught.fileno(), 2)
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            caught.seek(0)
            _log.info("%s", caught.read().decode(errors="replace"))
