"""One process is connected to one cluster; one that does not answer is refused in a sentence, in time."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time

import pytest

from equipoise.records import ModelError
from equipoise.scoring.cluster.connection import check_listening, connect

REFUSED = """
import sys
from equipoise.cli.errors import clear_errors
from equipoise.scoring.cluster.connection import connect
with clear_errors():
    connect(sys.argv[1], cores=1, timeout=float(sys.argv[2]))
"""


def refused(address: str, timeout: float, **environment: str) -> tuple[int, str, float]:
    """Return exit code, standard error and seconds of a process that tries to connect."""
    began = time.monotonic()
    command = [sys.executable, "-c", REFUSED, address, str(timeout)]
    named = {**os.environ, **environment}
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=named, timeout=200)
    return result.returncode, result.stdout + result.stderr, time.monotonic() - began


def test_an_address_where_nothing_listens_is_refused_at_once() -> None:
    began = time.monotonic()
    with pytest.raises(ModelError, match=r"no Ray cluster answers at 127\.0\.0\.1:1: connection refused"):
        check_listening("127.0.0.1:1", 60)
    assert time.monotonic() - began < 5
    for address in ("nonsense", "host:port", ":1", "127.0.0.1:99999999"):
        with pytest.raises(ModelError, match=r"is not the address of a Ray cluster|no Ray cluster answers"):
            check_listening(address, 60)


@pytest.mark.slow
def test_an_address_that_is_not_ray_is_one_sentence_within_the_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        code, said, seconds = refused(address, 5)
    assert code == 2 and said.startswith(f"equipoise: no Ray cluster answers at {address}: ") and said.count("\n") == 1
    assert seconds < 60


@pytest.mark.slow
def test_a_local_cluster_that_cannot_start_is_one_sentence() -> None:
    code, said, _ = refused("local", 60, RAY_TMPDIR="/proc/nowhere")
    assert code == 2 and said.startswith("equipoise: a local Ray cluster does not start: ") and said.count("\n") == 1


@pytest.mark.slow
@pytest.mark.usefixtures("ray_address")
def test_another_cluster_than_the_one_in_use_is_refused() -> None:
    with pytest.raises(ModelError, match=r"connected to the Ray cluster at .*, not to 127\.0\.0\.1:1; leave it first"):
        connect("127.0.0.1:1", cores=1)
