"""Items of an iterator, made in a thread before they are needed."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import TypeVar

Item = TypeVar("Item")


def prefetch(items: Iterator[Item], *, depth: int = 2) -> Iterator[Item]:
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
