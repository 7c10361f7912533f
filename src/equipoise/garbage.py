"""Keeps Python's garbage collector from looking at millions of objects of which none is garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

usual = gc.get_threshold()

OBJECTS = 5_000_000
"""New objects after which a command looks for garbage; Python's own number is in the hundreds."""


def collect_rarely() -> None:
    """Look for garbage seldom from now on: a command makes little that its reference counts do not free."""
    gc.set_threshold(OBJECTS)


def collect_as_usual() -> None:
    """Look for garbage as Python does by itself: for what runs for days, such as a server."""
    gc.set_threshold(*usual)


@contextmanager
def uncollected() -> Iterator[None]:
    """Look for no garbage meanwhile: for work that makes many objects and drops none, such as a million prompts."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@contextmanager
def existing_kept() -> Iterator[None]:
    """Look at no object that exists now; at the end all are looked at again.

    Hundreds of thousands of scores make the collector look at every prompt again and again: a seventh of the time on a
    GPU.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
