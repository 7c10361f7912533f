"""One engine process a device: each scores every n-th batch, and the answers come back in the order of the batches."""

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

from ..records import Context, ModelError, Prompt, Score
from .engine import EngineOptions, neighbours

ALL = "all"


def named_devices(device: str) -> list[str]:
    """Return the devices that `--device` names: `cuda:0,cuda:1` two, `all` every GPU of this machine."""
    if device != ALL:
        return [name.strip() for name in device.split(",")]
    from .huggingface.model import gpus

    found = gpus()
    if not found:
        raise ModelError("device all means every GPU of this machine, and torch sees none")
    return found


class SeveralDevices:
    """A model on several devices, in a process for each. Batches and keys are those of the model on one of them."""

    def __init__(self, spec: str, options: EngineOptions, devices: Sequence[str]) -> None:
        self._devices = list(devices)
        self._workers = [_Worker(spec, replace(options, device=devices[0]))]
        # From here on: a device that cannot be opened must not leave the processes of the others behind.
        self._closed = weakref.finalize(self, _close, self._workers)
        # What the first fetches into a cache, the others find there; what is on this disk they load all at once.
        about = None if Path(spec).exists() else self._workers[0].receive()
        self._workers += [_Worker(spec, replace(options, device=device)) for device in devices[1:]]
        told = [worker.receive() for worker in (self._workers if about is None else self._workers[1:])]
        self._about: dict[str, Any] = about or told[0]
        self.notes: list[str] = []

    @property
    def name(self) -> str:
        return str(self._about["name"])

    @property
    def identity(self) -> Mapping[str, Any]:
        return dict(self._about["identity"])

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
                self._take_in(worker.receive())
        except BaseException:
            # Answers that nobody will fetch are on their way: these processes cannot be asked anything more.
            self.close()
            raise

    def generate(self, prompts: Sequence[Context], max_new_tokens: int) -> list[str]:
        """Return what the model says next to each prompt."""
        count = len(self._workers)
        for number, worker in enumerate(self._workers):
            worker.feed(("generate", list(prompts[number::count]), max_new_tokens), ())
        parts = [worker.receive() for worker in self._workers]
        return [parts[number % count][number // count] for number in range(len(prompts))]

    def close(self) -> None:
        """End the processes."""
        self._closed()

    def _take_in(self, told: Mapping[str, Any]) -> None:
        """Keep what a process says of itself after the work, such as how it scored."""
        self._about["description"] = told["description"]
        self.notes += [note for note in told["notes"] if note not in self.notes]


class _Worker:
    """A process with an engine, and the line to it."""

    def __init__(self, spec: str, options: EngineOptions) -> None:
        self._device = options.device
        self.line, theirs = Pipe()
        # A fresh interpreter, not a fork or a spawn: neither CUDA nor a script without a main guard minds it.
        command = [sys.executable, "-m", "equipoise.scoring.device_worker", str(theirs.fileno())]
        self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=2)
        theirs.close()
        self.line.send((spec, options))

    def feed(self, request: Sequence[Any], batches: Sequence[Sequence[Prompt]]) -> None:
        """Send a request and its batches from a thread of its own, as fast as the process takes them."""
        threading.Thread(target=self._send, args=(request, batches), daemon=True).start()

    def _send(self, request: Sequence[Any], batches: Sequence[Sequence[Prompt]]) -> None:
        with suppress(OSError):  # the process has ended; whoever waits for its answer will see that
            self.line.send(request)
            for batch in batches:
                self.line.send(batch)
            self.line.send(None)

    def receive(self) -> Any:
        """Return the next answer; what went wrong in the process is raised here."""
        try:
            failed, answer = self.line.recv()
        except (EOFError, OSError):
            code = self.process.wait()
            raise ModelError(f"the process that scores on {self._device} has ended by itself (code {code})") from None
        if failed:
            raise ModelError(answer)
        return answer


def _close(workers: Sequence[_Worker]) -> None:
    for worker in workers:
        worker.process.kill()
        worker.process.wait()
        worker.line.close()


def requests(line: Connection) -> Iterator[Any]:
    """Yield what comes on the line, up to None or its end."""
    with suppress(EOFError):
        while (request := line.recv()) is not None:
            yield request
