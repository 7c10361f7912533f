"""Damaged lines are cut out of a file once; one process writes it at a time, and a killed one lets go of its lock."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from recorder import fill, questions

from equipoise.records import RunError
from equipoise.scoring.line_file import damage_note, read_lines
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
