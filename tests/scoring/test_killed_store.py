"""A store outlives kills: of the process that holds it, and of a run in the middle."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from recorder import fill, questions

from equipoise.records import Prompt, RunError
from equipoise.scoring.score_store import ScoreStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "scores.jsonl"


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


KILLS = 20

FILL = """
import json, sys, time
from pathlib import Path
from recorder import Recorder, questions
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
from test_killed_store import model_engine, sentences
from equipoise.scoring.score_store import ScoreStore

def progress(done, total):
    print(done, flush=True)
    time.sleep(600 if done == 6 else 0)

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
        assert [process.stdout.readline() for _ in range(3)] == ["0\n", "3\n", "6\n"]
        process.kill()
    with ScoreStore(tmp_path / "undisturbed" / "scores.jsonl") as store:
        undisturbed = store.scorer(model_engine())(sentences())
    with ScoreStore(path) as store:
        assert len(store) == 6
        assert store.scorer(model_engine())(sentences()) == undisturbed
