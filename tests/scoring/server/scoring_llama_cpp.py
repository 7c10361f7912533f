"""A real llama.cpp server with the default model, in a process that can be killed and started again."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from contextlib import suppress

import httpx

from equipoise.scoring.default_model import gguf_file

SERVE = """
import sys, time
from xllamacpp import CommonParams, Server
parameters = CommonParams()
parameters.model.path, parameters.port, parameters.hostnames = sys.argv[1], int(sys.argv[2]), ["127.0.0.1"]
parameters.cpuparams.n_threads = 1
parameters.n_ctx, parameters.n_parallel, parameters.warmup = 2048, 2, False
server = Server(parameters)
time.sleep(3600)
"""


class LlamaCpp:
    """The server's process, on a port of its own."""

    def __init__(self) -> None:
        self._model = str(gguf_file())
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.start()

    def start(self) -> None:
        """Start the process, and return when it answers."""
        command = [sys.executable, "-c", SERVE, self._model, str(self.port)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(1200):
            time.sleep(0.1)
            with suppress(httpx.TransportError):
                # It answers 503 while it loads the model.
                if httpx.get(f"http://127.0.0.1:{self.port}/v1/models", timeout=60).status_code == 200:
                    return
        raise AssertionError("the server did not start within two minutes")

    def kill(self) -> None:
        """End the process with SIGKILL."""
        self._process.kill()
        self._process.wait()

    def restart(self) -> None:
        """Kill the process, and start it again on the same port."""
        self.kill()
        self.start()
