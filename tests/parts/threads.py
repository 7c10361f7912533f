"""Work in a thread of its own: a browser in the same process may have left an event loop running in this one."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")


def apart(work: Callable[[], Result]) -> Result:
    """Return what the work returns, or raise what it raises."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()
