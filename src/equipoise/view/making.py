"""Pages that take a while: made one after another in a thread of their own, and the last ones kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass

from ..records import EquipoiseError

KEPT_BYTES = 2**26
"""Size of all pages that are kept, together."""

PATIENCE = 0.8
"""Seconds that a reader waits for a page before a page says that it is being made."""


@dataclass(frozen=True)
class Made:
    """A page that was made, or the reason why it cannot be."""

    page: bytes = b""
    fault: str = ""


class Maker:
    """Makes pages when they are asked for, each once; those that were asked for longest ago are forgotten first."""

    def __init__(self) -> None:
        self._pages: OrderedDict[Hashable, Future[Made]] = OrderedDict()
        self._worker = ThreadPoolExecutor(1, "equipoise-pages")

    def page(self, key: Hashable, make: Callable[[], bytes], patience: float = PATIENCE) -> Made | None:
        """Return the page of a key; None where it is still being made."""
        if key not in self._pages:
            self._pages[key] = self._worker.submit(_made, make)
        self._pages.move_to_end(key)
        try:
            made = self._pages[key].result(patience)
        except NotYet:
            return None
        self._forget()
        return made

    def _forget(self) -> None:
        size = 0
        for key in reversed(list(self._pages)):
            waiting = self._pages[key]
            size += len(waiting.result().page) if waiting.done() else 0
            if size > KEPT_BYTES and waiting.done() and key != next(reversed(self._pages)):
                del self._pages[key]

    def close(self) -> None:
        """End the thread; what waits is not made any more."""
        self._worker.shutdown(wait=False, cancel_futures=True)


def _made(make: Callable[[], bytes]) -> Made:
    try:
        return Made(make())
    except EquipoiseError as error:
        return Made(fault=str(error))
