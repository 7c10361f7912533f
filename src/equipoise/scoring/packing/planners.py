"""Batches are tokenised and arranged before they are needed: by a thread, and by processes where the device is fast.

Until a process is ready, and where one ends unexpectedly, batches are planned in this process: the plans are the same.
Run as a program, this module is such a process.
"""

from __future__ import annotations

import gc
import queue
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from ... import cores
from ...records import EquipoiseError
from ..encoding import Asked
from ..pieces import Tokeniser
from ..processes import ChildProcess, end, line_to_parent
from .rules import RowPlan, Rules

Planner = Callable[[Sequence[Asked]], RowPlan]

MOST_PROCESSES = 14


def processes(gpus: int) -> int:
    """Return how many processes plan for each GPU: all cores but two share the work, none on a small machine."""
    count = min(MOST_PROCESSES, (cores.there() - 2) // max(1, gpus))
    return count if count > 1 else 0


class PlannerPool:
    """Processes that plan with one tokenizer."""

    def __init__(self, tokenizer: str, count: int) -> None:
        self._workers = [_Worker() for _ in range(count)]
        self._closed = weakref.finalize(self, end, list(self._workers))
        for worker in self._workers:
            worker.send(tokenizer)

    def plans(self, batches: Iterable[Sequence[Asked]], rules: Rules, plan_here: Planner) -> Iterator[RowPlan]:
        """Yield the plan of each batch by the rules, in order; `plan_here` plans in this process."""
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
                    worker.send((rules, _sent(batch)))
                    sent.append((worker, batch))
            while sent:
                yield _received(*sent.popleft(), plan_here)
        finally:
            for worker, _ in sent:
                worker.discards = True

    def close(self) -> None:
        """End the processes."""
        self._closed()


class _Worker(ChildProcess):
    """A process that plans. It has one batch at a time, so that neither side waits to send."""

    def __init__(self) -> None:
        # Each process has a core: threads of the tokenizer would take those of the others.
        super().__init__("equipoise.scoring.packing.planners", TOKENIZERS_PARALLELISM="false", OMP_NUM_THREADS="1")
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
        """Send the rules and a batch; before the first one, the tokenizer."""
        self._busy = True
        with suppress(OSError):  # the process has ended; `receive` finds out
            self.line.send(content)

    def receive(self) -> RowPlan | None:
        """Return the plan of the batch; None where it cannot be planned, or where the process has ended."""
        self._busy = False
        try:
            plan: RowPlan | None = self.line.recv()
            return plan
        except (EOFError, OSError):
            self._ended = True
            return None


def _received(worker: _Worker, batch: Sequence[Asked], plan_here: Planner) -> RowPlan:
    # What a process cannot plan fails here too, with an error that names the examples.
    return worker.receive() or plan_here(batch)


def _sent(batch: Sequence[Asked]) -> list[tuple[Any, ...]]:
    """Return a batch as it is sent: columns are pickled faster than rows, and plans do not need the examples."""
    _, *columns = zip(*batch, strict=True)
    return columns


Item = TypeVar("Item")


AHEAD = 16
"""Batches that are planned ahead: a pass of a small model on a GPU takes three or four."""


def prefetch(items: Iterator[Item], *, depth: int = AHEAD) -> Iterator[Item]:
    """Yield the items in order while a thread makes up to `depth` more; errors of the thread are raised here."""
    made: queue.Queue[tuple[bool, Item | BaseException | None]] = queue.Queue(maxsize=depth)
    stopped = threading.Event()

    def offer(entry: tuple[bool, Item | BaseException | None]) -> bool:
        while not stopped.is_set():
            try:
                made.put(entry, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def work() -> None:
        try:
            for item in items:
                if not offer((True, item)):
                    return
            offer((False, None))
        except BaseException as error:
            offer((False, error))

    thread = threading.Thread(target=work, name="equipoise-planner", daemon=True)
    thread.start()
    try:
        while True:
            more, entry = made.get()
            if more:
                yield entry  # type: ignore[misc]
            elif entry is None:
                return
            else:
                raise entry  # type: ignore[misc]
    finally:
        stopped.set()
        thread.join(timeout=5)


def serve(line: Connection) -> None:
    """Answer the batches that arrive on the line, until its other end is closed."""
    from tokenizers import Tokenizer

    tokenise = Tokeniser(Tokenizer.from_str(line.recv()))
    line.send("ready")
    for rules, batch in _batches_of(line):
        try:
            line.send(rules.plan(batch, tokenise))
        except EquipoiseError:
            line.send(None)


def _batches_of(line: Connection) -> Iterator[tuple[Rules, Sequence[Asked]]]:
    """Yield the batches that arrive on the line, each with its rules, up to its end."""
    with suppress(EOFError, OSError):
        while True:
            rules, columns = line.recv()
            yield rules, [Asked("", *prompt) for prompt in zip(*columns, strict=True)]


def main() -> None:
    """Serve the line whose descriptor is the first argument."""
    # Plans have no cycles, and looking for some takes a tenth of the time.
    gc.disable()
    with suppress(BrokenPipeError, ConnectionResetError, EOFError):
        serve(line_to_parent())


if __name__ == "__main__":
    main()
