"""Several devices, each in a process of its own, give what one gives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import equipoise
from equipoise.options import EngineOptions
from equipoise.records import ModelError, Prompt
from equipoise.scoring.devices import SeveralDevices, named_devices
from equipoise.scoring.opening import open_engine

PROMPTS = [
    Prompt(f"{one}-{other}", "task", "", f"The {one} told the {other} that she", (f" is the {one}", " was", " had"))
    for one in ("nurse", "driver", "clerk", "cook", "judge", "baker", "farmer", "guard")
    for other in ("tailor", "writer", "mover", "editor", "cashier", "chief", "janitor", "cleaner", "maid", "carpenter")
    for _ in range(4)
]


@pytest.fixture(scope="module")
def folder(tiny_llama: Callable[..., Path]) -> Path:
    return tiny_llama()


@pytest.fixture(scope="module")
def several(folder: Path) -> Iterator[SeveralDevices]:
    engine = open_engine(str(folder), EngineOptions(device="cpu,cpu"))
    assert isinstance(engine, SeveralDevices)
    yield engine
    engine.close()


def scored(engine: Any) -> list[Any]:
    batches = engine.batches(PROMPTS)
    return list(engine.score([PROMPTS[i] for i in batch] for batch in batches))


@pytest.mark.slow
def test_two_processes_give_what_one_gives_in_its_order(folder: Path, several: SeveralDevices) -> None:
    one = open_engine(str(folder))
    assert several.identity == one.identity
    assert several.name == one.name
    assert several.batches(PROMPTS) == one.batches(PROMPTS)
    assert len(several.batches(PROMPTS)) > 2
    expected = scored(one)
    assert scored(several) == expected
    assert scored(several) == expected  # and they can be asked again
    assert several.description["scoring"] == one.description["scoring"] == "packed prefix trees"
    assert several.description["devices"] == ["cpu", "cpu"]


@pytest.mark.slow
def test_they_write_what_one_writes(folder: Path, several: SeveralDevices) -> None:
    contexts = [prompt.context for prompt in PROMPTS[:25:5]]
    one: Any = open_engine(str(folder))
    assert several.generate(contexts, 4) == one.generate(contexts, 4)


@pytest.mark.slow
def test_an_audit_on_two_devices_writes_the_same_scores(folder: Path, several: SeveralDevices, tmp_path: Path) -> None:
    runs = [
        equipoise.audit(engine, pronouns=["he", "xe"], limit=80, resamples=5, out=tmp_path / str(number))
        for number, engine in enumerate((open_engine(str(folder)), several))
    ]
    assert runs[0].folder.scores.read_bytes() == runs[1].folder.scores.read_bytes()
    assert runs[1].manifest.engine["devices"] == ["cpu", "cpu"]
    notes = [[note for note in run.manifest.notes if "splits these pronouns" in note] for run in runs]
    assert len(notes[0]) == 1 and "xe (" in notes[0][0] and notes[0] == notes[1]


@pytest.mark.slow
def test_what_goes_wrong_in_a_process_is_one_sentence(folder: Path) -> None:
    with pytest.raises(ModelError, match="has an empty name in it"):
        open_engine(str(folder), EngineOptions(device="cpu,,cpu"))
    with pytest.raises(ModelError, match="unknown device 'toaster'"):
        open_engine(str(folder), EngineOptions(device="toaster,cpu"))


@pytest.mark.slow
def test_a_prompt_that_is_too_long_is_refused_as_by_one(several: SeveralDevices) -> None:
    expected = scored(several)
    with pytest.raises(ModelError, match="takes at most") as refused:
        list(several.score([[Prompt("long", "task", "", "she " * 100_000, (" was",))]]))
    assert refused.value.example_ids == ("long",)
    assert any(note.startswith("long left out with the other sentences of the set: ") for note in several.notes)
    assert scored(several) == expected, "the audit goes on"


@pytest.mark.slow
def test_processes_that_were_left_in_the_middle_are_ended_and_nothing_hangs(folder: Path) -> None:
    engine: Any = open_engine(str(folder), EngineOptions(device="cpu,cpu"))
    processes = [worker.process for worker in engine._workers]
    scores = engine.score([PROMPTS[:40], PROMPTS[40:80], PROMPTS[80:]])
    next(scores)
    scores.close()
    assert all(process.poll() is not None for process in processes)
    with pytest.raises(ModelError, match="has ended"):
        scored(engine)


@pytest.mark.slow
def test_the_processes_end_with_the_one_that_started_them(folder: Path) -> None:
    script = (
        "import sys, time; from equipoise.scoring.opening import *; "
        f"engine = open_engine({str(folder)!r}, EngineOptions(device='cpu,cpu')); "
        "print(*(worker.process.pid for worker in engine._workers), flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    workers = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(workers) == 2
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    deadline = time.monotonic() + 30
    while any(_runs(pid) for pid in workers):
        assert time.monotonic() < deadline, "a process outlived the one that started it"
        time.sleep(0.1)


def _runs(pid: int) -> bool:
    """Return whether the process is there and no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_the_names_of_devices() -> None:
    assert named_devices("cuda:0, cuda:1") == ["cuda:0", "cuda:1"]
    import torch

    if torch.cuda.device_count():
        assert named_devices("all")[0] == "cuda:0"
    else:
        with pytest.raises(ModelError, match="every GPU, but torch finds none"):
            named_devices("all")
