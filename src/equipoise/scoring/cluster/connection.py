"""The connection to Ray: an existing cluster, or a local one that is started here and stopped in the end."""

from __future__ import annotations

import gc
import logging
import os
import threading
from dataclasses import dataclass
from typing import Any

import ray
import ray._private.worker as ray_worker

from ...records import ModelError

AUTO = "auto"
"""The cluster that RAY_ADDRESS names, or a local one where it names none."""

PRINTER = "print_to_stdstream"
"""Ray's function that prints what its daemons report, such as the last lines of a lost node's log, to the terminal."""

_log = logging.getLogger("equipoise.cluster")
_lock = threading.RLock()  # an engine that is freed while the lock is held disconnects, too
_users = 0
_started_here = False
_address = ""
_printer: Any = None


@dataclass(frozen=True)
class Resources:
    """What a cluster has."""

    cores: int
    gpus: int


def connect(address: str, *, cores: int) -> Resources:
    """Return what the cluster has; a local one gets at least that many cores. Call `disconnect` when done with it."""
    global _users, _started_here, _address
    named = os.environ.get("RAY_ADDRESS", "") if address == AUTO else address
    with _lock:
        if _is_elsewhere(named):
            gc.collect()  # engines that nobody uses any more, but that are not freed yet, leave their cluster
        if _is_elsewhere(named):
            used = ray.get_runtime_context().gcs_address
            raise ModelError(f"this process is connected to the Ray cluster at {used}, not to {named}; leave it first")
        if not ray.is_initialized():
            _started_here, _address = True, named
            _initialise(named, cores)
            _silence()
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
            ray.shutdown()
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


def _initialise(named: str, cores: int) -> None:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    # Ray lets its workers run behind everything else (niceness 15): on a busy machine they would hardly run at all.
    os.environ.setdefault("RAY_worker_niceness", "0")
    # Its warnings about its own settings are not our user's; an error becomes a sentence of ours.
    logging.getLogger("ray").setLevel(logging.ERROR)
    quiet = {"log_to_driver": False, "configure_logging": False, "logging_level": logging.ERROR}
    try:
        if named:
            ray.init(address=named, **quiet)
        else:
            count = max(cores, os.cpu_count() or 1)
            ray.init(num_cpus=count, include_dashboard=False, _node_ip_address="127.0.0.1", **quiet)
    except (ConnectionError, RuntimeError, ValueError, OSError, TimeoutError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        place = f"no Ray cluster answers at {named}" if named else "a local Ray cluster cannot be started"
        raise ModelError(f"{place}: {reason}") from None
