"""What benchmarks need of the machine: Chromium, and a free port."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def chromium() -> str:
    """Return where Chromium is on this machine, "" where it is not."""
    return shutil.which("chromium") or ""


@contextmanager
def opened(path: str) -> Iterator[Any]:
    """Give a browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


def free_port() -> int:
    """Return a port of this machine that nobody listens at."""
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return int(door.getsockname()[1])
