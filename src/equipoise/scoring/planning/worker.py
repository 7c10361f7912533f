"""A process that plans batches: it reads a tokenizer and its rules, then answers each batch with its plan."""

from __future__ import annotations

import gc
import signal
import sys
from contextlib import suppress
from multiprocessing.connection import Connection

from tokenizers import Tokenizer

from ...records import EquipoiseError
from ..encoding import backend_ids
from .pool import batches_of


def serve(line: Connection) -> None:
    """Answer the batches that arrive on the line, until its other end is closed."""
    serialized, rules = line.recv()
    tokenizer = Tokenizer.from_str(serialized)
    line.send("ready")
    for batch in batches_of(line):
        try:
            line.send(rules.plan(batch, lambda texts: backend_ids(tokenizer, texts)))
        except EquipoiseError as error:
            line.send(str(error))


def main() -> None:
    """Serve the line whose descriptor is the first argument."""
    # Ctrl-C reaches every process of the terminal; only the user's own decides what to do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Plans have no cycles, and looking for some takes a tenth of the time.
    gc.disable()
    line = Connection(int(sys.argv[1]))
    with suppress(BrokenPipeError, ConnectionResetError, EOFError):
        serve(line)


if __name__ == "__main__":
    main()
