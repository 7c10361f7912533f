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

HEADLESS = """
import os, pathlib, signal, time
from equipoise.cli.errors import clear_errors
from equipoise.options import EngineOptions
from equipoise.scoring.cluster.connection import connect, disconnect
from equipoise.scoring.cluster.engine import open_cluster
from equipoise.scoring.opening import open_engine
from equipoise.scoring.cluster.pool import Piece

with clear_errors():
    engine = open_cluster("planted:strength=1", EngineOptions(cluster="local", workers=1), open_engine)
    for process in pathlib.Path("/proc").iterdir():
        if process.name.isdigit() and (process / "comm").read_text().strip() == "gcs_server":
            if (process / "stat").read_text().split()[3] == str(os.getpid()):
                os.kill(int(process.name), signal.SIGKILL)
    try:
        while True:
            engine._pool.ask(Piece("batches", ([],)))
            time.sleep(1)
    finally:
        engine.close()
"""


def refused(address: str, timeout: float, **environment: str) -> tuple[int, str, float]:
    """Return exit code, output and seconds of a process that tries to connect."""
    return ended(REFUSED, address, str(timeout), **environment)


def ended(program: str, *arguments: str, **environment: str) -> tuple[int, str, float]:
    """Return exit code, output and seconds of a program."""
    began = time.monotonic()
    command = [sys.executable, "-c", program, *arguments]
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


@pytest.mark.slow
def test_a_cluster_whose_head_dies_is_one_sentence_before_ray_ends_the_process() -> None:
    code, said, seconds = ended(HEADLESS)
    assert code == 2 and said.count("\n") == 1 and seconds < 60
    assert said.startswith("equipoise: the Ray cluster at ") and "no longer answers; earlier answers are saved" in said
