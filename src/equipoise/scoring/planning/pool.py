"""Processes that tokenise and arrange batches while this one keeps the device busy.

A new interpreter for each, not a fork or a spawn: those break CUDA, or scripts without a main guard. Until a process is
ready, and where one ends unexpectedly, batches are planned in this process: the plans are the same.
"""

from __future__ import annotations

import os
import subprocess
import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe

from ...records import ModelError
from ..encoding import Asked
from .rules import RowPlan, Rules

Planner = Callable[[Sequence[Asked]], RowPlan]

MOST_PROCESSES = 14


def processes(gpus: int) -> int:
    """Return how many processes plan for each GPU: all cores but two share the work, none on a small machine."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    count = min(MOST_PROCESSES, (cores - 2) // max(1, gpus))
    return count if count > 1 else 0


class PlannerPool:
    """Processes that plan with one tokenizer by the same rules."""

    def __init__(self, tokenizer: str, rules: Rules, count: int) -> None:
        self._workers = [_Worker() for _ in range(count)]
        self._closed = weakref.finalize(self, _close, list(self._workers))
        for worker in self._workers:
            worker.send((tokenizer, rules))

    def plans(self, batches: Iterable[Sequence[Asked]], plan_here: Planner) -> Iterator[RowPlan]:
        """Yield the plan of each batch, in order; `plan_here` plans in this process."""
        sent: deque[tuple[_Worker, Sequence[Asked]]] = deque()
        try:
            for batch in batches:
                # The device waits for the first plans: they are handed on before all processes have work.
                while sent and sent[0][0].has_answered():
                    yield _received(*sent.popleft(), plan_here)
                while (worker := next(filter(_Worker.free, self._workers), None)) is None and sent:
                    yield _received(*sent.popleft(), plan_here)
                if worker is None:
                    yield plan_here(batch)
                else:
                    # Plain tuples are pickled faster.
                    worker.send([tuple(prompt) for prompt in batch])
                    sent.append((worker, batch))
            while sent:
                yield _received(*sent.popleft(), plan_here)
        finally:
            for worker, _ in sent:
                worker.discards = True

    def close(self) -> None:
        """End the processes."""
        self._closed()


class _Worker:
    """A process that plans, and the line to it. It has one batch at a time, so that neither side waits to send."""

    def __init__(self) -> None:
        self.line, theirs = Pipe()
        command = [sys.executable, "-m", "equipoise.scoring.planning.worker", str(theirs.fileno())]
        # Each process has a core: threads of the tokenizer would take those of the others.
        environment = {**os.environ, "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=2, env=environment
        )
        theirs.close()
        self.discards = True  # the next message, which says that the process is ready
        self._busy = False
        self._ended = False

    def free(self) -> bool:
        """Return whether the process has started and has nothing to do."""
        try:
            if self.discards and self.line.poll():
                self.line.recv()
                self.discards = self._busy = False
        except (EOFError, OSError):
            self._ended = True
        return not (self._ended or self._busy or self.discards)

    def has_answered(self) -> bool:
        """Return whether the process has something to say, or has ended."""
        return self.line.poll()

    def send(self, content: object) -> None:
        """Send a batch; before the first one, the tokenizer and its rules."""
        self._busy = True
        with suppress(OSError):  # the process has ended; `receive` finds out
            self.line.send(content)

    def receive(self) -> RowPlan | str | None:
        """Return the plan of the batch, the message of an error, or None where the process has ended."""
        self._busy = False
        try:
            answer: RowPlan | str = self.line.recv()
            return answer
        except (EOFError, OSError):
            self._ended = True
            return None


def _received(worker: _Worker, batch: Sequence[Asked], plan_here: Planner) -> RowPlan:
    answer = worker.receive()
    if isinstance(answer, str):
        raise ModelError(answer)
    return answer or plan_here(batch)


def _close(workers: Sequence[_Worker]) -> None:
    for worker in workers:
        worker.process.kill()
        worker.process.wait()
        worker.line.close()


def batches_of(line: Connection) -> Iterator[Sequence[Asked]]:
    """Yield the batches that arrive on the line, up to its end."""
    with suppress(EOFError, OSError):
        while True:
            yield [Asked(*prompt) for prompt in line.recv()]
