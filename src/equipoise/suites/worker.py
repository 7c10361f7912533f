"""The process of one model: it loads the model once, and audits the cells that arrive as lines of JSON.

A process of its own for each model gives its memory back, and takes only its own cell with it when it is killed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import traceback
from dataclasses import replace
from pathlib import Path
from queue import Queue
from typing import IO, Any

from filelock import FileLock

from ..garbage import collect_rarely
from ..records import EquipoiseError, TaskNotPossible
from ..report import write_run_page
from ..run import audit
from ..runs.folder import RunFolder
from ..scoring.opening import open_engine
from ..settings import Settings

REPORT_EVERY = 0.2
"""Seconds between two reports of progress."""

PLACE = ("cluster", "workers", "worker_cores")
"""Settings that say where an engine is opened."""

WAIT = 300.0
"""Seconds to wait for the worker of a suite that was killed to end: it ends when it notices."""


class Worker:
    """Audits cells one after another, and says how it goes on a line."""

    def __init__(self, line: IO[str]) -> None:
        self._line = line
        self._engines: dict[str, Any] = {}
        self._last = 0.0

    def run(self, request: dict[str, Any]) -> None:
        """Audit one cell; whatever goes wrong with it is said, and is nobody else's trouble."""
        began = time.monotonic()
        try:
            # What the run's manifest names as the command that makes it again.
            sys.argv = request["command"]
            run = audit(
                self._engine(request),
                data=request["data"],
                task=request["task"],
                out=request["folder"],
                progress=self._progress,
                # The engine is open already, on the cluster where there is one.
                **{name: value for name, value in request["settings"].items() if name not in PLACE},
            )
            write_run_page(run)
        except TaskNotPossible as error:
            self.say("left out", reason=str(error))
        except (EquipoiseError, OSError, MemoryError) as error:
            self.say("failed", reason=str(error) or type(error).__name__)
        except Exception as error:  # anybody's model code
            traceback.print_exc()
            self.say("failed", reason=f"{type(error).__name__}: {error}")
        else:
            self.say("done", seconds=time.monotonic() - began)

    def say(self, event: str, **facts: Any) -> None:
        """Write an event as a line."""
        self._line.write(json.dumps({"event": event, **facts}) + "\n")
        self._line.flush()

    def _engine(self, request: dict[str, Any]) -> Any:
        options = Settings(**request["settings"]).engine
        if not options.chat_time:
            # A cell that is continued keeps the time that its chat template printed.
            options = replace(options, chat_time=RunFolder(Path(request["folder"])).chat_time)
        key = repr((request["model"], options))
        if key not in self._engines:
            self.say("progress", what="loading the model", done=0, total=1)
            self._engines[key] = open_engine(request["model"], options)
        return self._engines[key]

    def _progress(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if done == total or now - self._last >= REPORT_EVERY:
            self._last = now
            self.say("progress", what=what, done=done, total=total)


def _listen(requests: Queue[dict[str, Any]]) -> None:
    for text in sys.stdin:
        requests.put(json.loads(text))
    # The other end is closed: the suite has no more cells, or it is gone. Scores are on the disk as they arrive.
    sys.stderr.flush()
    os._exit(0)


def main() -> None:
    """Audit the cells that arrive on standard input until it ends; the argument is the lock of this worker's place."""
    line = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print belongs in the log
    # Ctrl-C reaches every process of the terminal; only the suite itself decides what to do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    collect_rarely()
    requests: Queue[dict[str, Any]] = Queue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    with FileLock(Path(sys.argv[1]), timeout=WAIT):
        worker = Worker(line)
        worker.say("ready")
        while True:
            worker.run(requests.get())


if __name__ == "__main__":
    main()
