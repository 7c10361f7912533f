"""Fetching, against real HTTP servers on loopback that behave well, badly, or not at all."""

from __future__ import annotations

import hashlib
import multiprocessing
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

from equipoise.cache import cache_folder
from equipoise.cli import app
from equipoise.datasets import downloads, open_dataset
from equipoise.datasets.cards import CARDS, Card, CardFile
from equipoise.datasets.dataset import Fault
from equipoise.datasets.downloads import fetch, file_faults, find_dataset_folder
from equipoise.records import DatasetError

CONTENT = bytes(range(256)) * 2000
ELSEWHERE = "https://data.example.org/at/pinned/"


@dataclass
class Behaviour:
    """How the server answers, and what it was asked."""

    content: bytes = CONTENT
    break_after: int | None = None
    breaks: int = 0
    status: int = 200
    hang: bool = False
    asked: int = 0
    folder: Path | None = None


def serve(behaviour: Behaviour) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            behaviour.asked += 1
            if behaviour.hang:
                threading.Event().wait(3)
                return
            if behaviour.status != 200:
                self.send_error(behaviour.status)
                return
            if behaviour.folder is not None:
                behaviour.content = (behaviour.folder / Path(self.path).name).read_bytes()
            self.send_response(200)
            self.send_header("Content-Length", str(len(behaviour.content)))
            self.end_headers()
            if behaviour.break_after is not None and behaviour.breaks > 0:
                behaviour.breaks -= 1
                self.wfile.write(behaviour.content[: behaviour.break_after])
                self.wfile.flush()
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            self.wfile.write(behaviour.content)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    return server


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Behaviour], Behaviour]]:
    """Return a function that starts a server of that behaviour and makes it the mirror."""
    monkeypatch.setenv("no_proxy", "*")
    servers = []

    def start(behaviour: Behaviour) -> Behaviour:
        servers.append(serve(behaviour))
        monkeypatch.setenv("EQUIPOISE_MIRROR", f"http://127.0.0.1:{servers[-1].server_address[1]}")
        return behaviour

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def card(content: bytes = CONTENT, path: str = "part/one.txt") -> Card:
    file = CardFile(path, len(content), hashlib.sha256(content).hexdigest())
    return Card("test", "Test", "MIT", "u", "h", "r", ELSEWHERE, "", (), (file,))


def message(to: Path, of: Card | None = None) -> str:
    with pytest.raises(DatasetError) as error:
        fetch(of or card(), to=to)
    assert "\n" not in str(error.value)
    return str(error.value)


def left(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file() and not p.name.startswith("."))


def test_a_file_comes_whole_and_is_not_asked_for_again(tmp_path: Path, mirror) -> None:
    server = mirror(Behaviour())
    seen: list[tuple[str, int, int]] = []
    assert fetch(card(), to=tmp_path, report=lambda *state: seen.append(state)) == tmp_path
    assert (tmp_path / "part/one.txt").read_bytes() == CONTENT
    assert left(tmp_path) == ["part/one.txt"]
    assert {name for name, _, _ in seen} == {"part/one.txt"} and {total for _, _, total in seen} == {len(CONTENT)}
    done = [done for _, done, _ in seen]
    assert 0 < done[0] < len(CONTENT) == done[-1] and len(seen) > 5 and done == sorted(done)
    fetch(card(), to=tmp_path)
    assert server.asked == 1


def test_a_file_that_was_altered_is_fetched_again(tmp_path: Path, mirror) -> None:
    mirror(Behaviour())
    fetch(card(), to=tmp_path)
    (tmp_path / "part/one.txt").write_bytes(CONTENT[:-1] + b"?")
    assert [fault.kind for fault in file_faults(card(), tmp_path)] == ["another version"]
    fetch(card(), to=tmp_path)
    assert file_faults(card(), tmp_path) == []


def test_what_a_killed_download_left_is_removed_by_the_next(tmp_path: Path, mirror) -> None:
    (tmp_path / ".part-fetch").mkdir()
    (tmp_path / ".part-fetch" / "tmpx7").write_bytes(b"half")
    mirror(Behaviour())
    fetch(card(), to=tmp_path)
    assert not list(tmp_path.glob(".part-*")) and not list(tmp_path.rglob("tmp*"))


def test_a_broken_transfer_is_tried_again(tmp_path: Path, mirror) -> None:
    server = mirror(Behaviour(break_after=100_000, breaks=2))
    fetch(card(), to=tmp_path)
    assert (tmp_path / "part/one.txt").read_bytes() == CONTENT
    assert server.asked == 3


def test_a_transfer_that_breaks_each_time_leaves_nothing(tmp_path: Path, mirror) -> None:
    server = mirror(Behaviour(break_after=1000, breaks=3))
    assert "/part/one.txt: the transfer broke off 3 times; run the same command again" in message(tmp_path)
    assert (left(tmp_path), server.asked) == ([], downloads.ATTEMPTS)
    fetch(card(), to=tmp_path)
    assert left(tmp_path) == ["part/one.txt"]


@pytest.mark.parametrize("content", [CONTENT[:-1] + b"?", CONTENT + b"x", CONTENT[:500]])
def test_another_file_is_deleted_and_not_asked_for_again(tmp_path: Path, mirror, content: bytes) -> None:
    server = mirror(Behaviour(content=content))
    assert "not the expected file (its SHA-256 differs), so it was deleted" in message(tmp_path)
    assert (left(tmp_path), server.asked) == ([], 1)


@pytest.mark.parametrize("status", [404, 500])
def test_a_refusal_says_what_the_server_said(tmp_path: Path, mirror, status: int) -> None:
    server = mirror(Behaviour(status=status))
    assert f"/at/pinned/part/one.txt: the server answered {status}" in message(tmp_path)
    assert (left(tmp_path), server.asked) == ([], 1)


def test_no_server_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("EQUIPOISE_MIRROR", f"http://127.0.0.1:{port}")
    assert f"cannot reach 127.0.0.1:{port} (Connection refused): check the network" in message(tmp_path)
    assert left(tmp_path) == []


def test_a_server_that_never_answers_times_out(tmp_path: Path, mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "TIMEOUT_S", 0.2)
    server = mirror(Behaviour(hang=True))
    assert "(timed out after 0.2 seconds)" in message(tmp_path)
    assert (left(tmp_path), server.asked) == ([], downloads.ATTEMPTS)


@pytest.mark.parametrize("mirror_url", ["file:///etc", "nowhere", "ftp://a.b"])
def test_a_mirror_must_be_http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mirror_url: str) -> None:
    monkeypatch.setenv("EQUIPOISE_MIRROR", mirror_url)
    assert "is not an http(s) address" in message(tmp_path)


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path, mirror) -> None:
    mirror(Behaviour())
    (tmp_path / "taken").write_text("a file")
    assert "cannot write into" in message(tmp_path / "taken")


def test_a_full_disk_is_one_sentence(tmp_path: Path, mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    mirror(Behaviour())

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(downloads._Progress, "update", full)
    assert message(tmp_path).endswith("No space left on device")
    assert left(tmp_path) == []


def test_the_builtin_dataset_has_nothing_to_fetch(tmp_path: Path) -> None:
    assert "builtin has no files to fetch" in message(tmp_path, CARDS["builtin"])


def _fetch_in_process(folder: str) -> None:
    fetch(card(), to=Path(folder))


def test_processes_that_fetch_at_once_do_not_disturb_each_other(tmp_path: Path, mirror) -> None:
    server = mirror(Behaviour(break_after=100_000, breaks=1))
    context = multiprocessing.get_context("fork")
    running = [context.Process(target=_fetch_in_process, args=(str(tmp_path),)) for _ in range(4)]
    for process in running:
        process.start()
    for process in running:
        process.join(30)
    assert [process.exitcode for process in running] == [0, 0, 0, 0]
    assert (tmp_path / "part/one.txt").read_bytes() == CONTENT
    assert (left(tmp_path), server.asked) == (["part/one.txt"], 2)


def test_the_cache_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIPOISE_CACHE", "/a/b")
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert cache_folder() == Path("/a/b")
    monkeypatch.delenv("EQUIPOISE_CACHE")
    assert cache_folder() == Path("/x/equipoise")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/h")
    assert cache_folder() == Path("/h/.cache/equipoise")


def test_a_dataset_is_sought_in_the_users_folder_then_in_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("EQUIPOISE_DATA", str(tmp_path / "own"))
    with pytest.raises(DatasetError, match="run `equipoise data fetch winobias`"):
        find_dataset_folder("winobias")
    cached = tmp_path / "cache/datasets/winobias"
    cached.mkdir(parents=True)
    for file in CARDS["winobias"].files[:-1]:
        (cached / file.path).write_text("x")
    with pytest.raises(DatasetError, match="not on this machine"):
        find_dataset_folder("winobias")
    (cached / CARDS["winobias"].files[-1].path).write_text("x")
    assert find_dataset_folder("winobias") == cached
    (tmp_path / "own/winobias").mkdir(parents=True)
    assert find_dataset_folder("winobias") == tmp_path / "own/winobias"


def test_bbq_is_fetched_whole_and_found_by_its_name(
    tmp_path: Path, mirror, real_data: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real files come over HTTP on loopback; their public home cannot be reached from every machine."""
    server = mirror(Behaviour(folder=real_data("bbq")))
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path))
    monkeypatch.delenv("EQUIPOISE_DATA")
    shown = CliRunner().invoke(app, ["data", "fetch", "bbq"])
    assert shown.exit_code == 0, shown.output
    assert "CC BY 4.0" in shown.output and server.asked == len(CARDS["bbq"].files) == 6
    assert find_dataset_folder("bbq").is_relative_to(tmp_path)
    assert file_faults(CARDS["bbq"], find_dataset_folder("bbq")) == []
    dataset = open_dataset("bbq:Religion")
    assert (dataset.name, len(dataset.examples), dataset.sets) == ("bbq-religion", 1200, 600)


def test_a_file_may_lie_deep_and_a_fault_says_what_it_is(tmp_path: Path, mirror) -> None:
    mirror(Behaviour())
    deep = card(path="a/b/c/one.txt")
    assert file_faults(deep, tmp_path) == [
        Fault("a/b/c/one.txt", "missing file", f"is not in {tmp_path}", "read without it")
    ]
    assert fetch(deep, to=tmp_path / "new" / "folder") == tmp_path / "new" / "folder"
    fetch(deep, to=tmp_path)
    assert left(tmp_path) == ["a/b/c/one.txt", "new/folder/a/b/c/one.txt"]
    (tmp_path / "a/b/c/one.txt").write_bytes(CONTENT + b"x")
    assert file_faults(deep, tmp_path) == [
        Fault("a/b/c/one.txt", "another version", "differs from revision r of h", "read as it is")
    ]
    assert deep.size == len(CONTENT) and deep.url(deep.files[0]) == f"{ELSEWHERE}a/b/c/one.txt"


def test_a_dataset_that_is_nowhere_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path))
    monkeypatch.delenv("EQUIPOISE_DATA", raising=False)
    with pytest.raises(DatasetError) as error:
        find_dataset_folder("genderlex")
    assert str(error.value) == (
        "genderlex is not on this machine: run `equipoise data fetch genderlex`, "
        "or put it into a folder 'gender-ece/data' in the folder that EQUIPOISE_DATA names"
    )
    assert downloads.cached_dataset_folder("genderlex") == tmp_path / "datasets" / "gender-ece/data"
    assert downloads.cached_dataset_folder("other") == tmp_path / "datasets" / "other"


@pytest.mark.parametrize(
    ("mirror_url", "expected"),
    [("", "https://a.b/c/d"), ("http://m.n", "http://m.n/c/d"), ("https://m.n/x/", "https://m.n/x/c/d")],
)
def test_a_mirror_takes_the_place_of_the_host(monkeypatch: pytest.MonkeyPatch, mirror_url: str, expected: str) -> None:
    monkeypatch.setenv("EQUIPOISE_MIRROR", mirror_url)
    assert downloads._mirrored("https://a.b/c/d") == expected
    for bad in ("ftp://a.b/c", "https:///c", "a.b/c"):
        monkeypatch.setenv("EQUIPOISE_MIRROR", "")
        with pytest.raises(DatasetError) as error:
            downloads._mirrored(bad)
        assert str(error.value) == f"{bad!r} is not an http(s) address; check EQUIPOISE_MIRROR"


def test_progress_never_tells_more_than_the_file_has() -> None:
    told: list[tuple[str, int, int]] = []
    progress = downloads._Progress(lambda *step: told.append(step), CardFile("a", 10, ""))
    for size in (4, 4, 4):
        progress.update(size)
    progress.reset()
    progress.update(3)
    progress.close()
    assert told == [("a", 4, 10), ("a", 8, 10), ("a", 10, 10), ("a", 3, 10)]
