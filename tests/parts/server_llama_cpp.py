"""A real llama.cpp server with the default model, in a process that can be killed and started again."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from equipoise.scoring.default_model import gguf_file

SERVE = """
import sys, time
from xllamacpp import CommonGrammar, CommonParams, Server, common_grammar_type, ggml_type, llama_flash_attn_type
parameters = CommonParams()
parameters.model.path, parameters.port, parameters.hostnames = sys.argv[1], int(sys.argv[2]), ["127.0.0.1"]
parameters.cpuparams.n_threads = 1
parameters.n_ctx, parameters.n_parallel, parameters.warmup = 2048, 2, False
template, grammar, exact = sys.argv[3:]
if template:
    parameters.use_jinja, parameters.chat_template = True, template
if grammar:
    parameters.sampling.grammar = CommonGrammar(common_grammar_type.COMMON_GRAMMAR_TYPE_USER, grammar)
if exact:
    parameters.cache_type_k = parameters.cache_type_v = ggml_type.GGML_TYPE_F32
    parameters.flash_attn_type = llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
server = Server(parameters)
time.sleep(3600)
"""


class LlamaCpp:
    """The server's process, on a port of its own.

    `grammar` is what all that it writes must follow. `exact` keeps keys and values in float32, and attention too.
    """

    def __init__(
        self, model: Path | None = None, *, template: str = "", grammar: str = "", exact: bool = False
    ) -> None:
        self._settings = [template, grammar, "exact" if exact else ""]
        self._model = str(model or gguf_file())
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.start()

    def start(self) -> None:
        """Start the process, and return when it answers."""
        command = [sys.executable, "-c", SERVE, self._model, str(self.port), *self._settings]
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


@contextmanager
def served() -> Iterator[str]:
    """Give the address of a real server with the default model."""
    pytest.importorskip("xllamacpp", reason="needs xllamacpp, of the dev extra")
    server = LlamaCpp()
    try:
        yield f"http://127.0.0.1:{server.port}/v1"
    finally:
        server.kill()
