"""The process of one device: opens the engine it is told of, then answers until the line ends (see devices.py)."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from multiprocessing.connection import Connection
from typing import Any

from ..records import EquipoiseError
from .devices import requests
from .engine import open_engine


def serve(line: Connection) -> None:
    """Open the engine, say what it is, and answer requests; every failure is sent as one sentence."""
    engine: Any = open_engine(*line.recv())
    about = {"name": engine.name, "identity": engine.identity, "description": engine.description}
    line.send((False, {**about, "batch": engine.shape.prompts}))
    for kind, *details in requests(line):
        if kind == "generate":
            # A request always ends with None; this one has no batches before it.
            list(requests(line))
            line.send((False, engine.generate(*details)))
            continue
        engine.expect(*details)
        for scores in engine.score(requests(line)):
            line.send((False, scores))
        line.send((False, {"description": engine.description, "notes": engine.notes}))


def main() -> None:
    """Serve the line whose descriptor is the first argument, until whoever holds its other end is gone."""
    # Ctrl-C reaches every process of the terminal; the one that was started by hand decides.
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
        line.send((True, f"scoring failed in its process: {type(error).__name__}: {error}"))
    # Without waiting for threads that plan batches nobody wants any more.
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
