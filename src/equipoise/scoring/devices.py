"""One engine process for each device: each scores every n-th batch, and scores come back in the order of batches."""

from __future__ import annotations

import subprocess
import sys
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

from ..options import EngineOptions
from ..records import Context, Example, ModelError, Prompt, Sampling, Score
from .engine import neighbours

ALL = "all"


def named_devices(device: str) -> list[str]:
    """Return the devices in a comma-separated list; `all` is every GPU of this machine."""
    if device != ALL:
        return [name.strip() for name in device.split(",")]
    from .huggingface.model import gpus

    names = gpus()
    if not names:
        raise ModelError("device is all, which means every GPU, but torch finds none")
    return names


class SeveralDevices:
    """A model on several devices, in a process for each. Batches and keys are those of the model on one device."""

    def __init__(self, spec: str, options: EngineOptions, devices: Sequence[str]) -> None:
        self._devices = list(devices)
        self._workers = [_Worker(spec, replace(options, device=devices[0]))]
        # From here on, a device that cannot be opened does not leave the processes of the others behind.
        self._closed = weakref.finalize(self, _close, self._workers)
        # What the first process downloads, the others find in the cache; what is on this disk they all load at once.
        about = None if Path(spec).exists() else self._workers[0].receive()
        self._workers += [_Worker(spec, replace(options, device=device)) for device in devices[1:]]
        answers = [worker.receive() for worker in (self._workers if about is None else self._workers[1:])]
        self._about: dict[str, Any] = about or answers[0]
        self._notes: list[str] = []

    @property
    def name(self) -> str:
        return str(self._about["name"])

    @property
    def identity(self) -> Mapping[str, Any]:
        return dict(self._about["identity"])

    @property
    def notes(self) -> Sequence[str]:
        return self._notes

    @property
    def description(self) -> Mapping[str, Any]:
        return {**self._about["description"], "devices": self._devices}

    def batches(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        return neighbours(prompts, size=self._about["batch"])

    def score(self, batches: Iterable[Sequence[Prompt]]) -> Iterator[list[Score]]:
        asked = [list(batch) for batch in batches]
        count = len(self._workers)
        share = -(-sum(map(len, asked)) // count)
        for number, worker in enumerate(self._workers):
            worker.feed(("score", share), asked[number::count])
        try:
            for number in range(len(asked)):
                yield self._workers[number % count].receive()
            for worker in self._workers:
                self._update(worker.receive())
        except BaseException:
            # Answers are still on their way that nobody will fetch, so these processes cannot be used again.
            self.close()
            raise

    @property
    def texts_at_once(self) -> int:
        return int(self._about["texts_at_once"]) * len(self._workers)

    def generate(self, contexts: Sequence[Context], max_new_tokens: int, sampling: Sampling | None = None) -> list[str]:
        count = len(self._workers)
        for number, worker in enumerate(self._workers):
            worker.feed(("generate", list(contexts[number::count]), max_new_tokens, sampling), ())
        parts = [worker.receive() for worker in self._workers]
        return [parts[number % count][number // count] for number in range(len(contexts))]

    def prepare(self, examples: Iterable[Example]) -> None:
        """Hand an example of each pronoun to the first process; its note comes back with the scores."""
        pronouns = {example.slots.get("pronoun", ""): example for example in examples}
        self._workers[0].feed(("prepare", list(pronouns.values())), ())
        self._workers[0].receive()

    def close(self) -> None:
        """End the processes."""
        self._closed()

    def _update(self, report: Mapping[str, Any]) -> None:
        """Keep what a process reports after its work, such as the mode it scored in."""
        self._about["description"] = report["description"]
        self._notes += [note for note in report["notes"] if note not in self._notes]


class _Worker:
    """A process with an engine, and the connection to it."""

    def __init__(self, spec: str, options: EngineOptions) -> None:
        self._device = options.device
        self.line, theirs = Pipe()
        # A new interpreter, not a fork or a spawn: those break CUDA, or scripts without a main guard.
        command = [sys.executable, "-m", "equipoise.scoring.device_worker", str(theirs.fileno())]
        self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=2)
        theirs.close()
        self.line.send((spec, options))

    def feed(self, request: Sequence[Any], batches: Sequence[Sequence[Prompt]]) -> None:
        """Send a request and its batches from a new thread, as fast as the process takes them."""
        threading.Thread(target=self._send, args=(request, batches), daemon=True).start()

    def _send(self, request: Sequence[Any], batches: Sequence[Sequence[Prompt]]) -> None:
        with suppress(OSError):  # the process has ended; `receive` reports that
            self.line.send(request)
            for batch in batches:
                self.line.send(batch)
            self.line.send(None)

    def receive(self) -> Any:
        """Return the next answer; an error of the process is raised here."""
        try:
            failed, answer = self.line.recv()
        except (EOFError, OSError):
            code = self.process.wait()
            raise ModelError(f"the process for device {self._device} has ended unexpectedly (code {code})") from None
        if failed:
            raise ModelError(answer)
        return answer


def _close(workers: Sequence[_Worker]) -> None:
    for worker in workers:
        worker.process.kill()
        worker.process.wait()
        worker.line.close()


def requests(line: Connection) -> Iterator[Any]:
    """Yield what arrives on the line, up to None or its end."""
    with suppress(EOFError):
        while (request := line.recv()) is not None:
            yield request
