"""One engine process for each device: each scores every n-th batch, and scores come back in the order of batches.

Run as a program, this module is such a process: it opens an engine, then answers requests until the line ends.
"""

from __future__ import annotations

import os
import sys
import threading
import traceback
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ..options import EngineOptions
from ..records import Context, EquipoiseError, Example, ModelError, Prompt, Sampling, Score
from .engine import EngineElsewhere, Opener, facts_of, neighbours, noted
from .processes import ChildProcess, end, line_to_parent

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


class SeveralDevices(EngineElsewhere):
    """A model on several devices, in a process for each. Batches and keys are those of the model on one device."""

    def __init__(self, opener: Opener, spec: str, options: EngineOptions, devices: Sequence[str]) -> None:
        self._devices = list(devices)
        self._recipe = opener, spec, options
        self._workers: list[_Worker] = []
        # A device that cannot be opened does not leave the processes of the others behind.
        self._closed = weakref.finalize(self, end, self._workers)
        super().__init__(self._start(), len(devices))

    def _start(self) -> Mapping[str, Any]:
        """Start the processes, and return what one of them says of its engine."""
        opener, spec, options = self._recipe
        first, *others = (replace(options, device=device) for device in self._devices)
        worker = _Worker(opener, spec, first)
        self._workers.append(worker)
        # What the first process downloads, the others find in the cache; what is on this disk they all load at once.
        about = None if Path(spec).exists() else worker.receive()
        self._workers += [_Worker(opener, spec, other) for other in others]
        answers = [worker.receive() for worker in (self._workers if about is None else self._workers[1:])]
        return dict(about or answers[0])

    @property
    def description(self) -> Mapping[str, Any]:
        return {**self._about["description"], "devices": self._devices}

    def batches(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        return neighbours(prompts, size=self._about["neighbours"])

    def score(self, batches: Iterable[Sequence[Prompt]]) -> Iterator[list[Score]]:
        asked = [list(batch) for batch in batches]
        count = len(self._workers)
        share = -(-sum(map(len, asked)) // count)
        for number, worker in enumerate(self._workers):
            worker.feed(("score", share), asked[number::count])
        try:
            with self._noting():
                for number in range(len(asked)):
                    yield self._workers[number % count].receive()
                for worker in self._workers:
                    self._update(*worker.receive())
        except BaseException as error:
            # Answers are still on their way that nobody will fetch, so these processes cannot be used again.
            end(self._workers)
            if isinstance(error, ModelError) and error.example_ids:
                # The audit goes on without these examples.
                self._workers.clear()
                self._start()
            raise

    def generate(self, contexts: Sequence[Context], max_new_tokens: int, sampling: Sampling | None = None) -> list[str]:
        count = len(self._workers)
        for number, worker in enumerate(self._workers):
            worker.feed(("generate", list(contexts[number::count]), max_new_tokens, sampling), ())
        parts = [worker.receive() for worker in self._workers]
        return [parts[number % count][number // count] for number in range(len(contexts))]

    def prepare(self, examples: Sequence[Example]) -> None:
        """Hand what is noted of examples to the first process; its note comes back with the scores."""
        self._workers[0].feed(("prepare", noted(examples, self._about["prepares"])), ())
        self._workers[0].receive()

    def close(self) -> None:
        """End the processes."""
        self._closed()


class _Worker(ChildProcess):
    """A process with an engine, and the connection to it."""

    def __init__(self, opener: Opener, spec: str, options: EngineOptions) -> None:
        super().__init__("equipoise.scoring.devices")
        self._device = options.device
        self.line.send((opener, spec, options))

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
            raise answer
        return answer


def serve(line: Connection) -> None:
    """Open the engine, report its identity, and answer requests."""
    opener, spec, options = line.recv()
    engine: Any = opener(spec, options)
    line.send((False, facts_of(engine)))
    for kind, *details in _requests(line):
        if kind in ("generate", "prepare"):
            # A request always ends with None; these have no batches before it.
            list(_requests(line))
            line.send((False, getattr(engine, kind)(*details)))
            continue
        engine.expect(*details)
        for scores in engine.score(_requests(line)):
            line.send((False, scores))
        line.send((False, (engine.description, list(engine.notes))))


def _requests(line: Connection) -> Iterator[Any]:
    """Yield what arrives on the line, up to None or its end."""
    with suppress(EOFError):
        while (request := line.recv()) is not None:
            yield request


def main() -> None:
    """Serve the line whose descriptor is the first argument, until its other end is closed."""
    line = line_to_parent()
    try:
        serve(line)
    except (BrokenPipeError, ConnectionResetError, EOFError):
        pass
    except EquipoiseError as error:
        line.send((True, error))
    except Exception as error:
        traceback.print_exc()
        line.send((True, ModelError(f"the process of a device failed: {type(error).__name__}: {error}")))
    # Do not wait for threads that still plan batches.
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
