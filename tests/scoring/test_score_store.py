"""What was scored stays scored: through damage, a killed process, a full disk and a second writer."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from recorder import Recorder, fill, questions

from equipoise.records import ModelError, Prompt, RunError, Score, ScoreLimits
from equipoise.scoring import score_store
from equipoise.scoring.engine import identity_key
from equipoise.scoring.kept_engine import KeptEngine
from equipoise.scoring.score_store import ScoreStore


class Limited(Recorder):
    """The same, which knows some probabilities only within limits, or from sampled answers."""

    LIMITS = (ScoreLimits((0.0, 0.25), (0.125, 0.25)), ScoreLimits(counts=(3, 28, 1)), None)

    def score(self, batches: Iterable[Sequence[Prompt]]) -> Iterator[list[Score]]:
        for scores in super().score(batches):
            yield [replace(score, limits=known) for score, known in zip(scores, self.LIMITS, strict=True)]


def test_limits_of_scores_are_kept_and_lines_without_them_are_read(path: Path) -> None:
    prompts = questions(3)
    with ScoreStore(path) as store:
        first = store.scorer(Limited(prompts))(prompts)
    engine = Limited(prompts)
    with ScoreStore(path) as store:
        again = store.scorer(engine)(prompts)
    assert again == first and not engine.asked
    assert [score.limits for score in again] == list(Limited.LIMITS)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "scores.jsonl"


def test_what_is_scored_so_far_are_examples_with_a_score_for_every_prompt(path: Path) -> None:
    first = questions(6)
    # Two prompts for each example, and one question that two examples share.
    prompts = [replace(prompt, example_id=f"item-{number // 2}") for number, prompt in enumerate(first)]
    prompts.append(replace(first[0], example_id="item-9"))
    seen, every = [], {"item-0", "item-1", "item-2", "item-9"}
    with ScoreStore(path) as store:
        engine = Recorder(prompts)
        store.scorer(engine, lambda done, total: seen.append(store.scored()))(prompts)
        assert seen == [set(), {"item-0", "item-9"}, every], "in batches of three"
        kept = KeptEngine(engine.name, {**engine.identity, "identity": list(engine.identity)})
        assert store.scorer(kept)(prompts[:3]) == store.scorer(engine)(prompts[:3])
        assert store.scored() == every, "who looks changes nothing"
    assert store.scored() == set()


def test_a_batch_is_on_the_disk_before_it_is_counted(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prompts, synced, seen = questions(), [0], []
    sync = os.fsync

    def recorded(handle: int) -> None:
        sync(handle)
        synced.append(os.fstat(handle).st_size)

    monkeypatch.setattr(os, "fsync", recorded)
    with ScoreStore(path) as store:
        store.scorer(Recorder(prompts), lambda done, total: seen.append((path.stat().st_size, synced[-1])))(prompts)
    assert len(seen) == 4 and all(size == safe for size, safe in seen), seen


def test_every_prompt_gets_its_own_score_in_order(path: Path) -> None:
    prompts = questions()
    scores, engine, notes = fill(path, prompts)
    assert scores == [score for part in engine.planted.score([prompts]) for score in part]
    assert [len(batch) for batch in engine.asked] == [3, 3, 3]
    assert notes == []


def test_what_is_kept_is_not_asked_again_and_comes_back_bit_for_bit(path: Path) -> None:
    scores, _, _ = fill(path, questions())
    before = path.read_bytes()
    again, engine, notes = fill(path, questions())
    assert (engine.asked, notes) == ([], [])
    assert again == scores
    assert path.read_bytes() == before


def test_only_what_is_missing_is_asked(path: Path) -> None:
    fill(path, questions(4))
    scores, engine, _ = fill(path, questions(9))
    assert sorted(text for batch in engine.asked for text in batch) == [f"Question {i}?" for i in range(4, 9)]
    assert scores == fill(path.with_name("other"), questions(9))[0]


def test_batches_are_planned_over_all_prompts_so_that_a_resumed_run_computes_the_same_ones(path: Path) -> None:
    fill(path, questions(3))
    _, engine, _ = fill(path, questions(8))
    assert engine.asked == [[f"Question {i}?" for i in (3, 4, 5)], [f"Question {i}?" for i in (6, 7)]]


def test_another_engine_is_asked_everything_anew(path: Path) -> None:
    mild, _, _ = fill(path, questions())
    strong, engine, _ = fill(path, questions(), bias=3.0)
    assert sum(map(len, engine.asked)) == 9
    assert strong != mild
    assert fill(path, questions())[0] == mild


def test_a_question_asked_twice_is_scored_once(path: Path) -> None:
    same = Prompt("e0", "other task", "seed=1", "Question 0?", (" nurse", " driver"))
    scores, engine, _ = fill(path, [*questions(3), same, *questions(3)])
    assert engine.asked == [["Question 0?", "Question 1?", "Question 2?"]]
    assert scores[3] == scores[0] and scores[4:] == scores[:3]


def test_everything_of_a_score_is_kept(path: Path) -> None:
    class Odd(Recorder):
        def score(self, batches: Iterable[Sequence[Prompt]]) -> Iterator[list[Score]]:
            for batch in batches:
                key = [prompt.key(identity_key(self)) for prompt in batch]
                yield [Score(k, ((-0.1, -1 / 3), (-1e-300,)), {"entropy": 0.1}, ("split-join", "é")) for k in key]

    prompts = questions(2)
    with ScoreStore(path) as store:
        scores = store.scorer(Odd(prompts))(prompts)
    with ScoreStore(path) as store:
        assert store.scorer(Odd(prompts))(prompts) == scores
        assert len(store) == 2
    assert scores[0].token_logprobs == ((-0.1, -1 / 3), (-1e-300,))
    assert (scores[0].reductions, scores[0].flags) == ({"entropy": 0.1}, ("split-join", "é"))


def test_progress_counts_what_was_there_and_then_every_batch(path: Path) -> None:
    fill(path, questions(3))
    told: list[tuple[int, int]] = []
    with ScoreStore(path) as store:
        store.scorer(Recorder(questions(8)), lambda done, total: told.append((done, total)))(questions(8))
    assert told == [(3, 8), (6, 8), (8, 8)]


def test_an_engine_that_leaves_prompts_out_is_told_what_to_yield(path: Path) -> None:
    class Short(Recorder):
        def score(self, batches: Iterable[Sequence[Prompt]]) -> Iterator[list[Score]]:
            yield from (scores[:-1] for scores in super().score(batches))

    prompts = questions(3)
    with ScoreStore(path) as store, pytest.raises(ModelError, match="gave no score for some prompts; `score` yields"):
        store.scorer(Short(prompts))(prompts)


def test_no_prompts_are_no_work(path: Path) -> None:
    assert fill(path, [])[0] == []


def test_a_tail_cut_off_at_any_byte_is_cut_away_and_the_rest_kept(path: Path) -> None:
    whole, _, _ = fill(path, questions())
    content = path.read_bytes()
    last = content[:-1].rindex(b"\n") + 1
    for end in range(last, len(content)):
        path.write_bytes(content[:end])
        with ScoreStore(path) as store:
            assert len(store) == 6
            assert len(store.notes) == (end > last)
            assert path.read_bytes() == content[:last]
    path.write_bytes(content[:-1])
    scores, engine, notes = fill(path, questions())
    assert scores == whole
    assert engine.asked == [["Question 6?", "Question 7?", "Question 8?"]]
    assert "6 scores are intact and kept; what is missing is scored again" in notes[0]
    assert path.read_bytes() == content


@pytest.mark.slow
@pytest.mark.parametrize("change", [lambda byte: byte ^ 1, lambda byte: byte ^ 0x20, lambda _: 10, lambda _: 0])
def test_a_byte_changed_in_the_middle_loses_that_batch_alone_and_is_told(
    path: Path, change: Callable[[int], int]
) -> None:
    fill(path, questions())
    content = path.read_bytes()
    start = content.index(b"\n") + 1
    stop = content.index(b"\n", start)
    for place in range(start, stop):
        altered = bytearray(content)
        altered[place] = change(altered[place])
        if altered == content:
            continue
        path.write_bytes(altered)
        with ScoreStore(path) as store:
            assert len(store) == 6
            assert "damaged part" in store.notes[0]


def test_a_damaged_batch_is_scored_again_and_the_result_is_as_if_nothing_had_been(path: Path) -> None:
    whole, _, _ = fill(path, questions())
    content = bytearray(path.read_bytes())
    content[content.index(b"\n") + 20] ^= 1
    path.write_bytes(content)
    scores, engine, notes = fill(path, questions())
    assert engine.asked == [["Question 3?", "Question 4?", "Question 5?"]]
    assert scores == whole
    assert notes == [
        "scores.jsonl: removed 1 damaged part; 6 scores are intact and kept; what is missing is scored again"
    ]
    _, engine, notes = fill(path, questions())
    assert (engine.asked, notes) == ([], [])  # the damage is gone, so it is reported once


@pytest.mark.parametrize("payload", [b"", b"0", b"{}", b"[[1]]", b'[["k", [[1.0]], {}, []]]', b'[["k", "x", {}, []]]'])
def test_a_line_with_a_good_checksum_that_holds_no_scores_is_removed(path: Path, payload: bytes) -> None:
    whole, _, _ = fill(path, questions())
    content = path.read_bytes()
    path.write_bytes(b"%08x %s\n" % (zlib.crc32(payload), payload) + content)
    scores, engine, notes = fill(path, questions())
    assert (scores, engine.asked, len(notes)) == (whole, [], 1)
    assert path.read_bytes() == content


def test_a_line_end_lost_between_two_batches_costs_those_two(path: Path) -> None:
    fill(path, questions())
    content = bytearray(path.read_bytes())
    content[content.index(b"\n")] = ord(" ")
    path.write_bytes(content)
    with ScoreStore(path) as store:
        assert len(store) == 3


@pytest.mark.parametrize("content", [b"", b"\n", b"\n\n\n", b"nonsense", b"nonsense\n", bytes(range(256)) * 40])
def test_a_file_of_rubbish_is_an_empty_store(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    scores, _, _ = fill(path, questions())
    assert scores == fill(path.with_name("other"), questions())[0]
    assert fill(path, questions())[1].asked == []


def test_an_answer_that_is_no_number_is_an_error_and_is_not_kept(path: Path) -> None:
    class Breaks(Recorder):
        def score(self, batches: Iterable[Sequence[Prompt]]) -> Iterator[list[Score]]:
            for number, batch in enumerate(batches):
                if number == 1:
                    yield [Score(prompt.key(identity_key(self)), ((float("nan"),), (-1.0,))) for prompt in batch]
                yield from self.planted.score([batch])

    with ScoreStore(path) as store, pytest.raises(ModelError, match="the engine gave nan as a log-probability"):
        store.scorer(Breaks(questions()))(questions())
    assert path.read_bytes().count(b"\n") == 1
    assert b"NaN" not in path.read_bytes()
    _, engine, notes = fill(path, questions())
    assert [batch[0] for batch in engine.asked] == ["Question 3?", "Question 6?"]
    assert notes == []


def test_a_full_disk_is_an_error_at_once_and_lets_go_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    path = tmp_path / "scores.jsonl"
    monkeypatch.setattr(score_store, "appended", lambda path: full.open("ab"))
    engine = Recorder(questions())
    store = ScoreStore(path)
    store.__enter__()
    with pytest.raises(OSError) as caught:
        store.scorer(engine)(questions())
    assert caught.value.errno == errno.ENOSPC
    assert len(store) == 0
    with pytest.raises(OSError):
        store.__exit__(None, None, None)  # what could not be written is still not written
    assert len(engine.asked) == 1
    monkeypatch.undo()
    assert len(fill(path, questions())[1].asked) == 3


def test_a_closed_store_keeps_nothing(path: Path) -> None:
    store = ScoreStore(path)
    with pytest.raises(RunError, match="the score store is closed"):
        store.scorer(Recorder(questions()))(questions())


KILLS = 20


FILL = """
import json, sys, time
from pathlib import Path
from recorder import Recorder, questions
from equipoise.scoring.kept_engine import KeptEngine
from equipoise.scoring.score_store import ScoreStore

class Logged(Recorder):
    def score(self, batches):
        for batch, scores in zip(*(lambda b: (b, super(Logged, self).score(b)))(list(batches))):
            log("asked", [prompt.context for prompt in batch])
            time.sleep(0.002)
            yield scores
            log("kept", [prompt.context for prompt in batch])

def log(*entry):
    with open(sys.argv[2], "a") as out:
        out.write(json.dumps(entry) + "\\n")

prompts = questions(600)
with ScoreStore(Path(sys.argv[1])) as store:
    store.scorer(Logged(prompts))(prompts)
"""


@pytest.mark.slow
def test_a_run_killed_again_and_again_ends_as_if_it_had_never_been(path: Path, tmp_path: Path) -> None:
    log, moments = tmp_path / "log", random.Random(11)
    log.touch()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    kept: set[str] = set()
    for life in range(KILLS + 1):
        seen = len(log.read_text().splitlines())
        process = subprocess.Popen([sys.executable, "-c", FILL, str(path), str(log)], env=environment)
        if life < KILLS:
            target = seen + moments.randint(1, 12)
            while len(log.read_text().splitlines()) < target and process.poll() is None:
                time.sleep(0.001)
            time.sleep(moments.random() * 0.01)
            process.send_signal(signal.SIGKILL)
        assert process.wait() == (-signal.SIGKILL if life < KILLS else 0)
        entries = [json.loads(line) for line in log.read_text().splitlines()[seen:]]
        for what, batch in entries:
            if what == "asked":
                assert kept.isdisjoint(batch), "a batch that was acknowledged is scored twice"
            kept.update(batch if what == "kept" else ())
    undisturbed, _, _ = fill(tmp_path / "undisturbed" / "scores.jsonl", questions(600))
    scores, engine, _ = fill(path, questions(600))
    assert engine.asked == []
    assert scores == undisturbed


MODEL = """
import sys, time
from pathlib import Path
from test_score_store import model_engine, sentences
from equipoise.scoring.kept_engine import KeptEngine
from equipoise.scoring.score_store import ScoreStore

def progress(done, total):
    print(done, flush=True)
    time.sleep(600 if done == 4 else 0)

with ScoreStore(Path(sys.argv[1])) as store:
    store.scorer(model_engine(), progress)(sentences())
"""


def model_engine() -> Any:
    from tiny import make_engine

    from equipoise.scoring.packing.shape import Shape

    engine = make_engine()
    engine.shape = Shape(3, 64, 1, 4, 99, 0, False)
    return engine


def sentences() -> list[Prompt]:
    texts = [
        f"The {a} told the {b} that {p} was"
        for a in ("nurse", "cook")
        for b in ("judge", "clerk")
        for p in ("he", "she")
    ]
    return [Prompt(text, "task", "", text, (" late", " the nurse")) for text in texts]


@pytest.mark.slow
def test_a_model_killed_halfway_goes_on_to_the_same_numbers_bit_for_bit(path: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    command = [sys.executable, "-c", MODEL, str(path)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(3)] == ["0\n", "2\n", "4\n"]
        process.kill()
    with ScoreStore(tmp_path / "undisturbed" / "scores.jsonl") as store:
        undisturbed = store.scorer(model_engine())(sentences())
    with ScoreStore(path) as store:
        assert len(store) == 4
        assert store.scorer(model_engine())(sentences()) == undisturbed
