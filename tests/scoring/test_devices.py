"""Several devices, each in a process of its own, give what one gives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Pipe
from pathlib import Path
from typing import Any

import pytest

import equipoise
from equipoise.options import EngineOptions
from equipoise.records import Example, ModelError, Prompt, Sampling
from equipoise.scoring import devices
from equipoise.scoring.devices import SeveralDevices, _requests, named_devices, serve
from equipoise.scoring.opening import open_engine

CPU = EngineOptions(device="cpu")
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
    one = open_engine(str(folder), CPU)
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
    one: Any = open_engine(str(folder), CPU)
    assert several.generate(contexts, 4) == one.generate(contexts, 4)


@pytest.mark.slow
def test_an_audit_on_two_devices_writes_the_same_scores(folder: Path, several: SeveralDevices, tmp_path: Path) -> None:
    runs = [
        equipoise.audit(engine, pronouns=["he", "xe"], limit=80, resamples=5, out=tmp_path / str(number))
        for number, engine in enumerate((open_engine(str(folder), CPU), several))
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


class Telling:
    """An engine of a process: it scores a batch as the names of its prompts, and tells what it is asked."""

    prepares = "pronouns"

    name, identity, notes = "m", {"w": 1}, ("noted",)
    texts_at_once = 3

    def __init__(self, spec: str, options: EngineOptions) -> None:
        if spec == "broken":
            raise ModelError("no such model")
        self.description = {"device": options.device}
        self.told: list[Any] = []
        self.shape = type("Shape", (), {"prompts": 2})

    def expect(self, prompts: int) -> None:
        self.description = {**self.description, "expected": prompts}

    def score(self, batches: Any) -> Iterator[Any]:
        for batch in batches:
            if batch[0].example_id == "long":
                fault = ModelError("takes at most 9")
                fault.example_ids = ("long",)
                raise fault
            if batch[0].example_id == "odd":
                raise ValueError("odd")
            yield [prompt.example_id for prompt in batch]

    def generate(self, contexts: Any, tokens: int, sampling: Any) -> Any:
        return [f"{text} {tokens} {sampling and sampling.seed}" for text in contexts]

    def prepare(self, examples: Any) -> None:
        self.description = {**self.description, "prepared": [example.id for example in examples]}


class Process:
    """Stands for a process: it has ended."""

    def wait(self) -> int:
        return 7

    def kill(self) -> None:
        pass


@pytest.fixture
def in_threads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let processes of devices be threads of this one; what is begun and ended is told."""
    told: list[str] = []

    def start(self: Any, module: str) -> None:
        told.append(module)
        self.line, theirs = Pipe()
        self.process = Process()

        def work() -> None:
            try:
                serve(theirs)
            except ModelError as error:
                theirs.send((True, error))
            except Exception:
                theirs.close()  # as a process that ends

        threading.Thread(target=work, daemon=True).start()

    def ended(children: list[Any]) -> None:
        for child in children:
            told.append("ended")
            child.line.close()

    monkeypatch.setattr(devices.ChildProcess, "__init__", start)
    monkeypatch.setattr(devices, "end", ended)
    return told


def several_of(spec: str, names: list[str]) -> SeveralDevices:
    return SeveralDevices(Telling, spec, EngineOptions(device=",".join(names)), names)  # type: ignore[arg-type]


def prompt(name: str) -> Prompt:
    return Prompt(name, "t", "", name, ("x",))


@pytest.mark.parametrize("here", [True, False])
def test_devices_share_batches_and_answers_come_in_order(here: bool, in_threads: list[str], tmp_path: Path) -> None:
    engine = several_of(str(tmp_path) if here else "owner/name", ["a", "b", "c"])
    assert in_threads == ["equipoise.scoring.devices"] * 3
    assert engine.name == "m" and engine.texts_at_once == 9
    assert engine.description == {"device": "a", "devices": ["a", "b", "c"]}
    prompts = [prompt(letter) for letter in "edcba"]
    assert engine.batches(prompts) == [[4, 3], [2, 1], [0]]
    for _ in range(2):
        batches = [[prompt(f"{number}{place}") for place in range(2)] for number in range(7)]
        assert list(engine.score(batches)) == [[f"{number}0", f"{number}1"] for number in range(7)]
    assert engine.description["expected"] == 5, "14 prompts on three devices are five each"
    assert engine.notes == ["noted"]
    assert list(engine.score([])) == []
    texts = engine.generate([str(number) for number in range(7)], 4, Sampling(1.0, 9))
    assert texts == [f"{number} 4 9" for number in range(7)]
    assert engine.generate(["x"], 2) == ["x 2 None"]
    engine.close()
    assert in_threads[3:] == ["ended"] * 3


def test_an_example_of_each_pronoun_is_handed_to_the_first(in_threads: list[str]) -> None:
    engine = several_of("m", ["a", "b"])
    examples = [
        Example(f"{word}{number}", "A text.", ("a", "b"), None, False, None, {}, "s", slots={"pronoun": word})
        for number in (1, 2)
        for word in ("xe", "he")
    ]
    engine.prepare([*examples, Example("bare", "A text.", ("a", "b"), None, False, None, {}, "s")])
    list(engine.score([[prompt("p")]]))
    first = engine._workers[0]
    first.feed(("score", 1), [])
    described, _ = first.receive()
    assert described["prepared"] == ["xe2", "he2", "bare"] and described["device"] == "a"
    assert "prepared" not in engine.description, "the last device said what it does"
    engine.close()


def test_a_prompt_that_is_too_long_starts_the_processes_anew(in_threads: list[str]) -> None:
    engine = several_of("m", ["a", "b"])
    with pytest.raises(ModelError, match="takes at most 9"):
        list(engine.score([[prompt("fine")], [prompt("long")]]))
    assert in_threads.count("equipoise.scoring.devices") == 4 and in_threads.count("ended") == 2
    assert engine.notes == ["long left out with the other sentences of the set: takes at most 9"]
    assert list(engine.score([[prompt("fine")]])) == [["fine"]]
    engine.close()


def test_a_process_that_ends_is_told_with_its_code(in_threads: list[str]) -> None:
    engine = several_of("m", ["a", "b"])
    with pytest.raises(ModelError, match=r"^the process for device b has ended unexpectedly \(code 7\)$"):
        list(engine.score([[prompt("fine")], [prompt("odd")]]))
    assert in_threads.count("equipoise.scoring.devices") == 2 and in_threads.count("ended") == 2
    with pytest.raises(ModelError, match=r"^no such model$"):
        several_of("broken", ["a", "b"])


def test_requests_end_with_none_or_with_the_line() -> None:
    ours, theirs = Pipe()
    for entry in ("a", "b", None, "c"):
        ours.send(entry)
    assert list(_requests(theirs)) == ["a", "b"]
    ours.close()
    assert list(_requests(theirs)) == ["c"]


@pytest.mark.parametrize(
    ("fault", "answer"),
    [
        (None, None),
        (BrokenPipeError(), None),
        (EOFError(), None),
        (ModelError("no"), (True, "no")),
        (ValueError("odd"), (True, "the process of a device failed: ValueError: odd")),
    ],
)
def test_how_a_process_ends(fault: Any, answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = Pipe()
    ended: list[int] = []

    def served(line: Any) -> None:
        if fault is not None:
            raise fault

    monkeypatch.setattr(devices, "line_to_parent", lambda: theirs)
    monkeypatch.setattr(devices, "serve", served)
    monkeypatch.setattr(devices.os, "_exit", ended.append)
    devices.main()
    assert ended == [0] and ours.poll() == (answer is not None)
    if answer is not None:
        failed, error = ours.recv()
        assert failed is True and type(error) is ModelError and str(error) == answer[1]


def test_all_gpus_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equipoise.scoring.huggingface.model.gpus", lambda: ["cuda:0", "cuda:1"])
    assert named_devices("all") == ["cuda:0", "cuda:1"] and named_devices(" a ,b,") == ["a", "b", ""]
    monkeypatch.setattr("equipoise.scoring.huggingface.model.gpus", list)
    with pytest.raises(ModelError, match=r"^device is all, which means every GPU, but torch finds none$"):
        named_devices("all")
