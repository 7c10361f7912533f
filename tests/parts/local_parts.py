"""What tests of the builder need of the machine and of a build folder."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from pathlib import Path

import pytest

from equipoise.builder.steps import Draft, Sentence, as_lines
from equipoise.files import write_file


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


def write_records(path: Path, records: Iterable[Draft | Sentence]) -> None:
    """Write the records of a step, as if it had run."""
    write_file(path, as_lines(records).encode())
