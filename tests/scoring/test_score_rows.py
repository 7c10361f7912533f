"""Scores as lines of a file: looked up, written and read back, and what is not a score."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from recorder import Recorder, fill, questions

from equipoise.records import RunError, Score, ScoreLimits
from equipoise.scoring import score_store
from equipoise.scoring.score_store import ScoreStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "scores.jsonl"


def test_a_run_s_scores_are_looked_up_without_changing_the_file(path: Path) -> None:
    fill(path, questions())
    kept = ScoreStore.kept(path)
    assert len(kept) == 9
    content = path.read_bytes()
    for damaged in (content[:-1], content + b"00000000 []\n", content.replace(b" ", b"  ", 1)):
        path.write_bytes(damaged)
        with pytest.raises(RunError, match=r"scores\.jsonl: line \d is damaged$"):
            ScoreStore.kept(path)
        assert path.read_bytes() == damaged
    assert len(ScoreStore.kept(path.with_name("none"))) == 0


def test_a_store_that_could_not_be_opened_leaves_no_lock(tmp_path: Path) -> None:
    (tmp_path / "scores.jsonl").mkdir()
    with pytest.raises(RunError, match="is a folder, not a plain file"):
        ScoreStore(tmp_path / "scores.jsonl").__enter__()
    (tmp_path / "scores.jsonl").rmdir()
    with ScoreStore(tmp_path / "scores.jsonl") as store:
        assert len(store) == 0
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"^the run folder .*file.* cannot be made \(.*\); choose another out$"):
        ScoreStore(tmp_path / "file" / "run" / "scores.jsonl").__enter__()


def test_a_closed_store_forgets_and_takes_nothing(path: Path) -> None:
    with ScoreStore(path) as store:
        store.scorer(Recorder(questions()))(questions())
        assert len(store) == 9 and store.scored() == {prompt.example_id for prompt in questions()}
    assert len(store) == 0 and store.scored() == set()
    with pytest.raises(RunError, match=r"^the score store is closed$"):
        store._append([])


def test_rows_come_back_with_limits_and_stops() -> None:
    plain = Score("k", ((-1.0, -2.0), (-3.0,)), {"a": 0.5}, ("f",))
    limited = replace(plain, limits=ScoreLimits((0.1, 0.2), (0.3, 0.4)))
    counted = replace(plain, limits=ScoreLimits(counts=(3, 4, 5)))
    for score, length in (
        (plain, 4),
        (limited, 5),
        (counted, 5),
        (replace(plain, stops=(-0.5, 0.0)), 6),
        (replace(limited, stops=(-0.5, 0.0)), 6),
    ):
        row = score_store._row(score)
        assert len(row) == length and score_store._score(*json.loads(json.dumps(row))) == score


@pytest.mark.parametrize("payload", [b"{}", b"[", b"[[1]]", b'[["k", [["x"]], {}, []]]', b'["k"]', b"3", b"null"])
def test_what_is_not_made_of_scores_is_damaged(payload: bytes) -> None:
    line = b"%08x %s\n" % (zlib.crc32(payload), payload)
    assert score_store._parse(line) is None
    assert score_store._parse(b"%08x []\n" % zlib.crc32(b"[]")) == []
    assert score_store._parse(b"%08x []" % zlib.crc32(b"[]")) is None, "its end is missing"


def test_a_run_folder_is_made_with_those_above_it_and_may_be_there(tmp_path: Path) -> None:
    for _ in range(2):
        with ScoreStore(tmp_path / "a" / "b" / "scores.jsonl") as store:
            assert len(store) == 0
