"""Processes of our own: a new interpreter with a line to this one, not a fork or a spawn.

Those break CUDA, or scripts without a main guard.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from multiprocessing.connection import Connection, Pipe


class ChildProcess:
    """A process that runs a module, and the line to it."""

    def __init__(self, module: str, **environment: str) -> None:
        self.line, theirs = Pipe()
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=2,
            env={**os.environ, **environment},
        )
        theirs.close()


def end(children: Iterable[ChildProcess]) -> None:
    """End the processes, whatever they are doing."""
    for child in children:
        child.process.kill()
        child.process.wait()
        child.line.close()


def line_to_parent() -> Connection:
    """Return the line of the process that this is; Ctrl-C, which reaches both, is left to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return Connection(int(sys.argv[1]))
