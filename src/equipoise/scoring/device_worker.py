"""The process of one device: it opens an engine, then answers requests until the line ends (see devices.py)."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from multiprocessing.connection import Connection
from typing import Any

from ..records import EquipoiseError
from .devices import requests
from .opening import open_engine


def serve(line: Connection) -> None:
    """Open the engine, report its identity, and answer requests."""
    engine: Any = open_engine(*line.recv())
    about = {"name": engine.name, "identity": engine.identity, "description": engine.description}
    line.send((False, {**about, "batch": engine.shape.prompts, "texts_at_once": engine.texts_at_once}))
    for kind, *details in requests(line):
        if kind in ("generate", "prepare"):
            # A request always ends with None; these have no batches before it.
            list(requests(line))
            line.send((False, getattr(engine, kind)(*details)))
            continue
        engine.expect(*details)
        for scores in engine.score(requests(line)):
            line.send((False, scores))
        line.send((False, {"description": engine.description, "notes": list(engine.notes)}))


def main() -> None:
    """Serve the line whose descriptor is the first argument, until its other end is closed."""
    # Ctrl-C reaches every process of the terminal; only the user's own decides what to do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    line = Connection(int(sys.argv[1]))
    try:
        serve(line)
    except (BrokenPipeError, ConnectionResetError, EOFError):
        pass
    except EquipoiseError as error:
        line.send((True, str(error)))
    except Exception as error:
        traceback.print_exc()
        line.send((True, f"the process of a device failed: {type(error).__name__}: {error}"))
    # Do not wait for threads that still plan batches.
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
