"""What killed processes left behind is removed by the next command; what living ones are making is left alone."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from left_behind import dead_process, made

from equipoise import cache as module
from equipoise.cache import DOWNLOAD, LOCK, NEW_SECONDS, cache_folder, tidy_cache
from equipoise.runs import RunFolder


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    for name in ("models", "servers", "hashes"):
        (tmp_path / "cache" / name).mkdir(parents=True)
    return tmp_path / "cache"


def test_work_folders_of_dead_processes_are_removed_at_once(cache: Path) -> None:
    gone = made(cache / "models" / f".part-{dead_process()}-abc" / "half.whl").parent
    living = made(cache / "models" / f".part-{os.getpid()}-abc" / "half.whl").parent
    young = made(cache / ".part-of-an-earlier-version" / "half.whl").parent
    elsewhere = made(cache / "models" / f".part-{dead_process()}-of-another-machine" / "half.whl").parent
    with FileLock(elsewhere / LOCK):
        tidy_cache()
        assert (gone.exists(), living.exists(), young.exists(), elsewhere.exists()) == (False, True, True, True)
    os.utime(young, (0, 0))
    tidy_cache()
    assert not young.exists() and not elsewhere.exists() and living.exists()


def test_unfinished_files_of_dead_processes_are_removed(cache: Path) -> None:
    gone = [
        made(cache / "servers" / f".0a1b.{dead_process()}.part"),
        made(cache / "hashes" / f".0a1b.{dead_process()}.part"),
    ]
    kept = [
        made(cache / "servers" / f".0a1b.{os.getpid()}.part"),
        made(cache / "servers" / "0a1b.json"),
        made(cache / "servers" / "0a1b.lock"),
        made(cache / "hashes" / ("0" * 64)),
    ]
    tidy_cache()
    assert not any(file.exists() for file in gone) and all(file.exists() for file in kept)


@pytest.mark.skipif(os.name == "nt", reason="there is no ps on Windows")
def test_a_download_whose_parent_was_killed_is_ended(cache: Path) -> None:
    work = made(cache / "models" / f".part-{dead_process()}-abc" / "half.whl").parent
    orphan, other = (
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", *words]) for words in ([str(work)], [])
    )
    try:
        (work / DOWNLOAD).write_text(str(orphan.pid))
        tidy_cache()
        assert orphan.wait(timeout=120) != 0 and not work.exists()
        # A number that went to another process since: it is left alone.
        made(work / DOWNLOAD).write_text(str(other.pid))
        tidy_cache()
        assert not work.exists() and other.poll() is None
    finally:
        for process in (orphan, other):
            process.kill()
            process.wait()


def test_unfinished_files_in_a_run_folder_are_removed_by_the_next_writer(tmp_path: Path) -> None:
    gone = [made(tmp_path / f".scores.jsonl.{dead_process()}.part"), made(tmp_path / ".measurements.csv.next")]
    kept = [made(tmp_path / f".report.html.{os.getpid()}.part"), made(tmp_path / "thesis.part")]
    with RunFolder(tmp_path).held():
        assert not any(file.exists() for file in gone) and all(file.exists() for file in kept)


def test_a_cache_that_is_missing_or_not_a_folder_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "none"))
    tidy_cache()
    monkeypatch.setenv("EQUIPOISE_CACHE", str(made(tmp_path / "file")))
    tidy_cache()


def test_where_the_cache_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("EQUIPOISE_CACHE", "~/mine")
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    assert cache_folder() == tmp_path / "mine"
    monkeypatch.setenv("EQUIPOISE_CACHE", "")
    assert cache_folder() == Path("/elsewhere/equipoise")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == tmp_path / ".cache" / "equipoise"


def test_a_work_folder_without_a_process_is_kept_for_a_minute(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = made(cache / "models" / ".part-unnamed" / "half.whl").parent
    seen: list[int] = []
    monkeypatch.setattr(module, "is_running", lambda process: seen.append(process) or True)
    now = time.time()
    monkeypatch.setattr(module.time, "time", lambda: now)
    for age, kept in ((NEW_SECONDS - 5, True), (NEW_SECONDS + 5, False)):
        os.utime(work, (now - age, now - age))
        tidy_cache()
        assert work.exists() is kept
    other = made(cache / ".part-12-ab" / "half.whl").parent
    tidy_cache()
    assert other.exists() and seen == [12]


def test_a_number_that_is_none_ends_nothing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = made(cache / "models" / f".part-{dead_process()}-abc" / DOWNLOAD).parent
    (work / DOWNLOAD).write_text("no number")
    monkeypatch.setattr(module.subprocess, "run", lambda *_, **__: pytest.fail("no process has this number"))
    tidy_cache()
    assert not work.exists()
    made(work / "half.whl")  # and where nothing was downloaded
    tidy_cache()
    assert not work.exists()


def test_a_download_goes_on_where_there_is_no_ps(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def run(command: list[str], **_: Any) -> Any:
        asked.append(command)
        raise FileNotFoundError(command[0])

    monkeypatch.setattr(module.subprocess, "run", run)
    work = made(cache / "models" / f".part-{dead_process()}-abc" / DOWNLOAD).parent
    (work / DOWNLOAD).write_text("7")
    tidy_cache()
    assert not work.exists() and asked == [["ps", "-ww", "-p", "7", "-o", "command="]]


@pytest.mark.parametrize(("age", "stays"), [(NEW_SECONDS - 1, True), (NEW_SECONDS, True), (NEW_SECONDS + 1, False)])
def test_a_work_folder_of_nobody_stays_while_it_is_new(
    age: float, stays: bool, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = made(cache / ".part-of-nobody" / "half.whl").parent
    monkeypatch.setattr(module.time, "time", lambda: work.stat().st_mtime + age)
    module._remove_work(work)
    assert work.exists() is stays
