"""One process is connected to one cluster; one that does not answer is refused in a sentence, in time."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from equipoise.records import ModelError
from equipoise.scoring.cluster import connection
from equipoise.scoring.cluster.connection import Resources, _fault_of, _Head, check_listening, connect, disconnect

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


class FakeRay:
    """Stands for Ray, and tells what it is asked."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.there = False
        self.address = "1.2.3.4:6379"

    def is_initialized(self) -> bool:
        return self.there

    def init(self, **chosen: Any) -> None:
        self.told.append(chosen)
        self.there = True

    def shutdown(self) -> None:
        self.told.append("shutdown")
        self.there = False

    def get_runtime_context(self) -> Any:
        return SimpleNamespace(gcs_address=self.address)

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 5.0, "GPU": 2.0, "memory": 9.0}


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    fake = FakeRay()
    monkeypatch.setattr(connection, "ray", fake)
    monkeypatch.setattr(connection, "ray_worker", SimpleNamespace(print_to_stdstream="theirs", shutdown=None))
    monkeypatch.setattr(connection._head, "watch", lambda address: fake.told.append(("watch", address)))
    monkeypatch.setattr(connection, "check_listening", lambda *given: fake.told.append(("listening", *given)))
    for name, value in (("_users", 0), ("_started_here", False), ("_address", "")):
        monkeypatch.setattr(connection, name, value)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    return fake


QUIET = {"log_to_driver": False, "configure_logging": False, "logging_level": 40}


def test_a_local_cluster_is_started_once_and_ends_with_its_last_user(ray: FakeRay) -> None:
    assert connect("auto", cores=500, timeout=5) == Resources(5, 2)
    local = {"address": "local", "num_cpus": 500, "include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    assert ray.told == [{**QUIET, **local}, ("watch", "1.2.3.4:6379")]
    assert connection.ray_worker.print_to_stdstream != "theirs", "what daemons report goes to our log"
    connect("auto", cores=1, timeout=5)
    connect("auto", cores=1, timeout=5)
    assert len(ray.told) == 2
    disconnect()
    disconnect()
    assert ray.there
    disconnect()
    assert not ray.there and ray.told[2:] == ["shutdown"] and connection.ray_worker.print_to_stdstream == "theirs"
    connect("local", cores=1, timeout=5)
    assert ray.told[3]["num_cpus"] == (os.cpu_count() or 1)


def test_a_named_cluster_is_joined(ray: FakeRay, monkeypatch: pytest.MonkeyPatch) -> None:
    connect("host:1", cores=3, timeout=7)
    assert ray.told[:2] == [("listening", "host:1", 7), {**QUIET, "address": "host:1"}]
    connect("host:1", cores=3)
    connect("1.2.3.4:6379", cores=3)
    with pytest.raises(
        ModelError,
        match=r"^this process is connected to the Ray cluster at 1\.2\.3\.4:6379, not to host:2; leave it first$",
    ):
        connect("host:2", cores=1)
    monkeypatch.setenv("RAY_ADDRESS", "host:3")
    with pytest.raises(ModelError, match=r"not to host:3"):
        connect("auto", cores=1)


def test_a_cluster_that_was_there_before_is_not_ended(ray: FakeRay) -> None:
    ray.there = True
    connect("auto", cores=1)
    disconnect()
    assert ray.there and ray.told == []


def test_why_ray_does_not_start(ray: FakeRay, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(error: BaseException) -> Any:
        def start(**_: Any) -> None:
            raise error

        return start

    monkeypatch.setattr(ray, "init", failing(ValueError("\n  no room \nmore")))
    with pytest.raises(ModelError, match=r"^a local Ray cluster does not start: no room$"):
        connect("auto", cores=1, timeout=5)
    monkeypatch.setattr(ray, "init", failing(KeyError()))
    with pytest.raises(ModelError, match=r"^no Ray cluster answers at host:1: KeyError$"):
        connect("host:1", cores=1, timeout=5)
    assert connection._users == 0
    assert _fault_of(lambda: None, 5) is None
    monkeypatch.setattr(connection, "_part_from_stderr", lambda: ray.told.append("parted"))
    assert _fault_of(lambda: time.sleep(0.5), 0.1) == "it did not answer within 0.1 seconds (timeout)"
    assert "parted" in ray.told


def test_a_head_that_is_gone_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    head = _Head()
    head.check()
    head.address, head.gone = "a:1", True
    with pytest.raises(
        ModelError,
        match=r"^the Ray cluster at a:1 no longer answers; earlier answers are saved, and the same command continues",
    ):
        head.check()
    clock = iter([0.0, 10.0, 10.5, 21.0, 99.0])
    answers = iter([False, True, False, False])
    watched = _Head()

    def listening(address: str, timeout: float) -> None:
        assert (address, timeout) == ("b:2", connection.WATCH_SECONDS)
        if not next(answers):
            raise ModelError("no")

    monkeypatch.setattr(connection, "check_listening", listening)
    monkeypatch.setattr(connection, "time", SimpleNamespace(monotonic=lambda: next(clock), sleep=lambda seconds: None))
    watched.address = "b:2"
    watched._watch("b:2")
    # Not there at 10 s, there at 10.5 s, not there at 21 s, which is 10.5 s later.
    assert watched.gone and next(clock) == 99.0


def test_addresses_of_clusters() -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
        for address in (f"127.0.0.1:{port}", f"ray://127.0.0.1:{port}", f"[127.0.0.1]:{port}"):
            check_listening(address, 5)
    for address in ("nonsense", ":1", "host:port", "host:"):
        with pytest.raises(ModelError, match=rf"^'{address}' is not the address of a Ray cluster, such as 127"):
            check_listening(address, 5)


def test_a_head_is_watched_until_it_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    head, looked = _Head(), threading.Event()
    others = set(threading.enumerate())  # a head that another test has left may still be watched for a moment
    monkeypatch.setattr(connection, "check_listening", lambda *_: looked.set())
    monkeypatch.setattr(connection, "WATCH_SECONDS", 0.005)
    head.gone = True
    head.watch("a:1")
    assert looked.wait(10) and (head.address, head.gone) == ("a:1", False)
    (thread,) = [one for one in threading.enumerate() if one.name == "cluster head" and one not in others]
    assert thread.daemon
    head.address = "b:2"
    thread.join(10)
    assert not thread.is_alive()


def test_how_a_cluster_is_left(ray: FakeRay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_part_from_stderr", lambda: ray.told.append("parted"))
    monkeypatch.setattr(connection.atexit, "unregister", lambda function: ray.told.append(("unregistered", function)))
    head = _Head()
    head.address = "a:1"
    head.leave()
    assert ray.told == ["shutdown"] and head.address == ""
    ray.told.clear()
    head.gone, connection.ray_worker.shutdown = True, "theirs"
    left = threading.Event()

    def shutdown() -> None:
        assert threading.current_thread() is not threading.main_thread() and threading.current_thread().daemon
        ray.told.append("shutdown")
        left.set()

    monkeypatch.setattr(ray, "shutdown", shutdown)
    head.leave()
    assert left.is_set() and ray.told == [("unregistered", "theirs"), "parted", "shutdown"]
    monkeypatch.setattr(connection, "ANSWER_SECONDS", 0.05)
    monkeypatch.setattr(ray, "shutdown", lambda: left.wait(60))
    left.clear()
    head.leave()  # without its head Ray may wait for ever
    left.set()


def test_an_engine_that_is_freed_leaves_its_cluster_before_another_is_joined(
    ray: FakeRay, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect("host:1", cores=1, timeout=7)
    monkeypatch.setattr(connection.gc, "collect", disconnect)
    connect("host:2", cores=1, timeout=7)
    assert [told["address"] for told in ray.told if isinstance(told, dict)] == ["host:1", "host:2"]
    assert connection._users == 1 and connection._address == "host:2"


def test_what_daemons_report_goes_to_our_log(
    ray: FakeRay, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="equipoise.cluster")
    connect("auto", cores=1, timeout=5)
    connection.ray_worker.print_to_stdstream({"lines": ["a", 2]}, "more", also=1)  # type: ignore[call-arg]
    assert [record.getMessage() for record in caplog.records if "a\n" in record.getMessage()] == ["a\n2"]
    disconnect()
    monkeypatch.setattr(connection, "ray_worker", SimpleNamespace(shutdown=None))
    connect("auto", cores=1, timeout=5)
    disconnect()
    assert not hasattr(connection.ray_worker, "print_to_stdstream"), "a Ray without it is left alone"


def test_a_cluster_without_gpus_and_one_that_says_nothing(ray: FakeRay, monkeypatch: pytest.MonkeyPatch) -> None:
    for total, found in (({"CPU": 3.0}, Resources(3, 0)), ({}, Resources(0, 0))):
        monkeypatch.setattr(ray, "cluster_resources", lambda total=total: total)
        assert connect("auto", cores=1, timeout=5) == found


def test_what_is_written_to_standard_error_meanwhile_goes_to_our_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="equipoise.cluster")
    with connection._logged_stderr():
        os.write(2, "from a library: ä".encode())
    assert [record.getMessage() for record in caplog.records] == ["from a library: ä"]


def test_standard_error_is_kept_for_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kept = os.dup(2)
    try:
        with (tmp_path / "errors").open("w") as errors:
            os.dup2(errors.fileno(), 2)
        monkeypatch.setattr(sys, "stderr", os.fdopen(2, "w", closefd=False))
        connection._part_from_stderr()
        os.write(2, b"a library\n")
        parted = sys.stderr
        print("Python \ud800", file=parted)
        assert parted.fileno() != 2 and (tmp_path / "errors").read_text() == "Python ?\n"
        connection._part_from_stderr()
        assert sys.stderr is parted, "once is enough"
        monkeypatch.setattr(sys, "stderr", io.StringIO())
        connection._part_from_stderr()  # of a notebook
        parted.close()
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def test_an_address_has_a_few_seconds_to_accept_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def connected(place: tuple[str, int], timeout: float) -> Any:
        asked.append((place, timeout))
        return SimpleNamespace(close=lambda: asked.append("closed"))

    monkeypatch.setattr(connection.socket, "create_connection", connected)
    check_listening("ray://[::1]:6379", 60)
    check_listening("a:1", 0.5)
    assert asked == [(("::1", 6379), 5.0), "closed", (("a", 1), 0.5), "closed"]


def test_a_cluster_that_is_started_again_is_kept_until_it_is_left_again() -> None:
    connection._ended.set()
    try:
        assert _fault_of(lambda: None, 5) is None and not connection._ended.is_set()
    finally:
        connection._ended.set()
