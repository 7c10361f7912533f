"""What long work reports to: a function of what is being done, how much of it is done, and how much there is."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from html import escape
from importlib import import_module
from typing import Any

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""

EVERY = 0.2
"""Seconds between two updates of a bar."""


def shown(progress: Progress | bool | None) -> Progress:
    """Return the caller's function; where there is none, bars in a notebook and silence elsewhere (False: silence)."""
    if callable(progress):
        return progress
    shell = _notebook() if progress is not False else None
    return silent if shell is None else NotebookBars()


class NotebookBars:
    """Bars below a notebook's cell, a line for each piece of work; they need no widgets."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        # The bars of other packages, which need widgets, complain of them on import.
        warnings.filterwarnings("ignore", message="IProgress not found")
        self._clock = clock
        self._began: dict[str, tuple[float, int]] = {}
        self._lines: dict[str, str] = {}
        self._handle: Any = None
        self._last = -EVERY

    def __call__(self, what: str, done: int, total: int) -> None:
        """Show that much of the work; between two updates a little time passes, the end is always shown."""
        now = self._clock()
        start, before = self._began.setdefault(what, (now, done))
        self._lines[what] = _line(what, done, total, (done - before) / (now - start) if now > start else 0.0)
        if now - self._last < EVERY and done < total:
            return
        self._last = now
        self._show("".join(self._lines.values()))

    def _show(self, lines: str) -> None:
        screen: Any = import_module("IPython.display")
        if self._handle is None:
            self._handle = screen.display(screen.HTML(lines), display_id=True)
        else:
            self._handle.update(screen.HTML(lines))


def _line(what: str, done: int, total: int, rate: float) -> str:
    speed = f", {rate:.1f}/s" if rate and total > 1 else ""
    bar = f'<progress value="{done}" max="{max(total, 1)}" style="vertical-align: middle"></progress>'
    return f"<div>{bar} {escape(what)}: {done:,} of {total:,}{speed}</div>"


def _notebook() -> Any:
    """Return the shell of a notebook that this runs in, None elsewhere; IPython in a terminal is not a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell if hasattr(shell, "kernel") else None


def silent(what: str, done: int, total: int) -> None:
    """Report nothing."""
