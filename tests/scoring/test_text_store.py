"""What a model wrote is kept, and only what is intact is used again."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from equipoise.records import Context, Message, ModelError, RunError, Sampling
from equipoise.scoring import text_store
from equipoise.scoring.engine import EngineDefaults
from equipoise.scoring.planted import PlantedEngine
from equipoise.scoring.text_store import TextStore, read_texts

QUESTIONS: list[Context] = [(Message("user", f"Who is number {number}? 👩‍⚕️"),) for number in range(20)]


class Echo(EngineDefaults):
    """Writes its question's length, and remembers what it was asked."""

    name = "echo"

    def __init__(self, identity: str = "echo") -> None:
        self.identity = {"engine": identity}
        self.asked: list[Context] = []

    def score(self, batches: Any) -> Any:
        raise NotImplementedError

    def generate(self, contexts: Sequence[Context], max_new_tokens: int) -> list[str]:
        self.asked += contexts
        return [f"{len(context[0].content)} é of {max_new_tokens}" for context in contexts]


def test_each_question_is_asked_once_by_each_engine_and_budget(tmp_path: Path) -> None:
    store, progress = TextStore(tmp_path / "texts.jsonl"), []
    engine = Echo()
    texts = store.writer(engine, lambda done, total: progress.append((done, total)))([*QUESTIONS, QUESTIONS[3]], 9)
    assert texts == {question: f"{len(question[0].content)} é of 9" for question in QUESTIONS}
    assert (len(engine.asked), progress) == (20, [(0, 20), (16, 20), (20, 20)])
    again = Echo()
    assert store.writer(again)(QUESTIONS[:5], 9) == {question: texts[question] for question in QUESTIONS[:5]}
    assert again.asked == []
    store.writer(again)(QUESTIONS[:5], 8)
    store.writer(other := Echo("other"))(QUESTIONS[:5], 9)
    assert len(again.asked) == len(other.asked) == 5


def test_a_folder_that_is_gone_is_not_made_again(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"^the run folder .*run was moved or removed while this"):
        TextStore(tmp_path / "run" / "texts.jsonl").writer(Echo())(QUESTIONS[:1], 9)
    assert not (tmp_path / "run").exists()


def test_a_changed_letter_anywhere_in_a_line_is_found_and_the_question_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    whole = TextStore(path).writer(Echo())(QUESTIONS[:3], 9)
    content = path.read_bytes()
    start = content.index(b"\n") + 1
    stop = content.index(b"\n", start)
    for place in range(start, stop + 1):
        changed = bytearray(content)
        changed[place] ^= 1
        path.write_bytes(changed)
        engine = Echo()
        assert TextStore(path).writer(engine)(QUESTIONS[:3], 9) == whole
        assert 1 <= len(engine.asked) <= 2, place  # two where the line end is gone


def test_a_line_that_a_crash_cut_off_anywhere_is_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    whole = TextStore(path).writer(Echo())(QUESTIONS[:2], 9)
    content = path.read_bytes()
    for end in range(content.index(b"\n") + 1, len(content) - 1):
        path.write_bytes(content[:end])
        engine = Echo()
        assert TextStore(path).writer(engine)(QUESTIONS[:2], 9) == whole
        assert len(engine.asked) == 1
        assert TextStore(path).writer(engine)(QUESTIONS[:2], 9) == whole
        assert len(engine.asked) == 1


def test_an_engine_that_cannot_write_says_so(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="planted cannot write text"):
        TextStore(tmp_path / "texts.jsonl").writer(PlantedEngine())(QUESTIONS, 9)


def test_damage_is_cut_out_once_and_told_once(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    TextStore(path).writer(Echo())(QUESTIONS[:4], 9)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(
        lines[0] + lines[1].replace(b"Who", b"Wha") + lines[2] + b"00000000\n" + b'{"key": 1}\n' + lines[3]
    )
    store = TextStore(path)
    store.writer(Echo())(QUESTIONS[:1], 9)
    note = "texts.jsonl: removed 3 damaged parts; 3 texts are intact and kept; what is missing is asked again"
    assert store.notes == [note]
    assert sorted(path.read_bytes().splitlines(keepends=True)) == sorted([lines[0], *lines[2:]])
    store.writer(Echo())(QUESTIONS[:4], 9)
    assert store.notes == [note]
    assert len(path.read_bytes().splitlines()) == 4


def test_texts_are_read_back_intact_ones_alone(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    store = TextStore(path)
    assert store.texts is None
    written = store.writer(Echo())(QUESTIONS[:3], 9)
    assert store.texts is not None and dict(store.texts) == written
    assert dict(read_texts(path)) == written
    kept = TextStore.kept(path)
    assert kept.texts is not None and dict(kept.texts) == written
    content = path.read_bytes()
    damaged = content.replace(b"Who is number 1", b"Who is number 7")
    path.write_bytes(damaged)
    assert dict(read_texts(path)) == {q: t for q, t in written.items() if "number 1" not in q[0].content}
    with pytest.raises(RunError, match=r"texts\.jsonl: line \d is damaged$"):
        TextStore.kept(path)
    assert path.read_bytes() == damaged
    assert list(read_texts(tmp_path / "none")) == [] and TextStore.kept(tmp_path / "none").texts == []


@pytest.mark.parametrize(
    "entry",
    [
        [],
        3,
        {"key": 1, "question": "q", "reasoning": "r"},
        {"key": "k", "question": "q", "reasoning": None},
        {"key": "k", "question": 3, "reasoning": "r"},
        {"key": "k", "question": [["user"]], "reasoning": "r"},
        {"key": "k", "question": [["user", "a", "b"]], "reasoning": "r"},
        {"key": "k", "question": [["user", 3]], "reasoning": "r"},
        {"key": "k", "question": ["user"], "reasoning": "r"},
        {"key": "k", "reasoning": "r"},
    ],
)
def test_a_line_that_is_no_text_is_damaged_whatever_its_checksum(entry: Any) -> None:
    sealed = {**entry, "crc32": text_store._checksum(entry)} if isinstance(entry, dict) else entry
    assert text_store._parse(json.dumps(sealed).encode()) is None
    fine = {"key": "k", "question": [["user", "a"]], "reasoning": "r"}
    whole = json.dumps({**fine, "crc32": text_store._checksum(fine)}).encode()
    assert text_store._parse(whole) == ("k", ((("user", "a"),), "r"))
    assert text_store._parse(json.dumps(fine).encode()) is None


def test_drawn_texts_are_kept_apart_from_the_most_probable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Drawing(Echo):
        def generate(self, contexts: Sequence[Context], tokens: int, sampling: Sampling | None = None) -> list[str]:
            self.asked += contexts
            return [f"{tokens} {sampling}" for _ in contexts]

    engine, store = Drawing(), TextStore(tmp_path / "texts.jsonl")
    asked = [(5, None), (5, Sampling(1.0, 1)), (5, Sampling(1.0, 2)), (5, Sampling(0.5, 1)), (6, None)]
    for _ in range(2):
        for tokens, sampling in asked:
            assert store.writer(engine)(QUESTIONS[:1], tokens, sampling) == {QUESTIONS[0]: f"{tokens} {sampling}"}
    assert len(engine.asked) == len(asked)
    assert not store.writer(engine).thinks
    monkeypatch.setattr(Drawing, "description", {"thinks": True})
    assert store.writer(engine).thinks


def test_short_questions_are_asked_first_and_what_is_written_lasts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(text_store.os, "fsync", lambda handle: synced.append(os.fstat(handle).st_size))
    engine = Echo()
    questions: list[Context] = [(Message("user", "x" * length),) for length in (9, 2, 5)]
    TextStore(tmp_path / "texts.jsonl").writer(engine)(questions, 3)
    assert [len(context[0].content) for context in engine.asked] == [2, 5, 9]  # type: ignore[union-attr]
    assert synced == [(tmp_path / "texts.jsonl").stat().st_size], "all of it is on the disk"


def test_a_text_that_an_earlier_version_kept_is_not_asked_for_again(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    line = (
        '{"key": "fea3b4ab691353e3d4e43f3046feb8bd", "question": [["user", "Who is number 0? 👩‍⚕️"]], '
        '"reasoning": "21 é of 9", "crc32": "0e61f0e8"}\n'
    )
    path.write_text(line, encoding="utf-8")
    engine = Echo()
    assert TextStore(path).writer(engine)(QUESTIONS[:1], 9) == {QUESTIONS[0]: "21 é of 9"}
    assert engine.asked == [] and path.read_text(encoding="utf-8") == line
    path.unlink()
    TextStore(path).writer(engine)(QUESTIONS[:1], 9)
    assert path.read_text(encoding="utf-8") == line, "a new one is kept the same way"
