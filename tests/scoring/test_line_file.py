"""Damaged lines are cut out of a file once; one process writes it at a time, and a killed one lets go of its lock."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorder import fill, questions

from equipoise.records import RunError
from equipoise.scoring import line_file
from equipoise.scoring.line_file import appended, checked, damage_note, hold, lines_of, read_lines
from equipoise.scoring.score_store import ScoreStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "scores.jsonl"


@pytest.mark.parametrize(
    ("content", "left", "removed"),
    [
        (b"a\nb\nc\n", b"a\nb\nc\n", 0),
        (b"a\nb\nc", b"a\nb\n", 1),
        (b"bad\na\nbad\nbad\nb\n", b"a\nb\n", 3),
        (b"bad", b"", 1),
        (b"", b"", 0),
    ],
)
def test_what_is_refused_or_has_no_end_is_cut_out(path: Path, content: bytes, left: bytes, removed: int) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    kept: list[bytes] = []

    def accept(line: bytes) -> bool:
        kept.append(line)
        return line != b"bad\n"

    assert read_lines(path, accept) == removed
    assert path.read_bytes() == left
    assert [line for line in kept if line != b"bad\n"] == left.splitlines(keepends=True)
    assert sorted(path.parent.iterdir()) == [path], "nothing else is left beside it"
    assert read_lines(path, accept) == 0
    assert read_lines(path.with_name("none"), accept) == 0


def test_a_note_counts_the_damage(path: Path) -> None:
    assert damage_note(path, 1, "rest kept") == "scores.jsonl: removed 1 damaged part; rest kept"
    assert damage_note(path, 2, "rest kept").startswith("scores.jsonl: removed 2 damaged parts")


HOLD = """
import sys
from pathlib import Path
from equipoise.scoring.score_store import ScoreStore
with ScoreStore(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_process_is_told_who_holds_the_folder(path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        with pytest.raises(RunError, match=rf"is being written by process {holder.pid} on .*choose another out"):
            ScoreStore(path).__enter__()
        holder.communicate()
    assert len(fill(path, questions())[1].asked) == 3


def test_a_killed_holder_does_not_hold(path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None and holder.stdout.readline()
        holder.kill()
    assert len(fill(path, questions())[1].asked) == 3


LINES = [b"good\n", b"bad\n", b"bad line\n", b"g\n"]


@given(st.lists(st.sampled_from(LINES), max_size=9), st.sampled_from([b"", b"x", b"bad"]))
def test_exactly_the_good_lines_are_left_wherever_the_damage_is(lines: list[bytes], end: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "a"
        file.write_bytes(b"".join(lines) + end)
        wrong = [line for line in lines if line.startswith(b"bad")]
        assert read_lines(file, lambda line: not line.startswith(b"bad")) == len(wrong) + bool(end)
        assert file.read_bytes() == b"".join(line for line in lines if not line.startswith(b"bad"))


def test_damage_at_the_end_is_cut_off_in_place_and_a_second_name_keeps_it(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"good\nhalf")
    before = file.stat().st_ino
    read_lines(file, lambda line: True)
    assert file.read_bytes() == b"good\n" and file.stat().st_ino == before
    file.write_bytes(b"good\nhalf")
    os.link(file, tmp_path / "b")
    read_lines(file, lambda line: True)
    assert (tmp_path / "b").read_bytes() == b"good\nhalf" and file.read_bytes() == b"good\n"


def test_a_line_may_not_be_longer_than_any_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_file, "LONGEST", 2**20)
    (tmp_path / "a").write_bytes(b"x" * (2**20 - 2) + b"\n" + b"y\n")
    assert [len(line) for line in lines_of(tmp_path / "a")] == [2**20 - 1, 2]
    (tmp_path / "a").write_bytes(b"x" * 2**20)
    with pytest.raises(RunError, match=r"a has a line of more than 1 MiB, so it is not ours$"):
        list(lines_of(tmp_path / "a"))
    assert list(lines_of(tmp_path / "none")) == []


def test_links_and_folders_are_not_continued_from(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"1\n")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "folder").mkdir()
    for name, kind in (("link", "a link"), ("folder", "a folder")):
        sentence = f"{tmp_path / name} is {kind}, not a plain file; a run folder holds plain files only"
        for act in (checked, appended, hold, lambda path: list(lines_of(path))):
            with pytest.raises(RunError, match=f"^{re.escape(sentence)}$"):
                act(tmp_path / name)
    assert checked(tmp_path / "real") == tmp_path / "real"
    with appended(tmp_path / "real") as file:
        file.write(b"2\n")
    assert (tmp_path / "real").read_bytes() == b"1\n2\n"


def test_who_holds_a_folder_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = hold(tmp_path / "lock")
    mine = f"process {os.getpid()} on {socket.gethostname()}"
    assert (tmp_path / "lock").read_text() == mine
    for content, holder in ((mine, mine), (" \n", "another process")):
        (tmp_path / "lock").write_text(content)
        sentence = f"{tmp_path} is being written by {holder}; wait for it, or choose another out"
        with pytest.raises(RunError, match=f"^{re.escape(sentence)}$"):
            hold(tmp_path / "lock")
    monkeypatch.setattr(Path, "read_text", lambda path: (_ for _ in ()).throw(PermissionError()))
    with pytest.raises(RunError, match="is being written by another process"):
        hold(tmp_path / "lock")
    lock.release()
    hold(tmp_path / "lock").release()


def test_a_second_name_of_a_file_keeps_what_it_had(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"one\n")
    os.link(file, tmp_path / "b")
    with appended(file) as opened:
        opened.write(b"two\n")
    assert file.read_bytes() == b"one\ntwo\n" and (tmp_path / "b").read_bytes() == b"one\n"
