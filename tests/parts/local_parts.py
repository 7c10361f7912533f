"""What tests with real servers and browsers need of the machine."""

from __future__ import annotations

import os
import socket

import pytest


def missing(reason: str) -> None:
    """Skip, saying why; in CI that is a failure."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return int(door.getsockname()[1])
