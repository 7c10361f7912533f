"""`equipoise view` as a command: what it prints, and what it refuses."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from equipoise.cli import app


@pytest.mark.slow
def test_the_address_that_is_printed_shows_the_runs_and_the_command_ends_quietly(some_runs: Path) -> None:
    command = [sys.executable, "-m", "equipoise", "view", str(some_runs), "--port", "0", "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as going:
        assert going.stdout is not None and going.stderr is not None
        found = re.search(r"http://127\.0\.0\.1:\d+/[\w-]{20,}/", going.stdout.readline())
        assert found is not None
        try:
            assert "suite/alpha" in httpx.get(found[0], timeout=60).text
            assert httpx.get(found[0].rsplit("/", 2)[0] + "/", timeout=60).status_code == 403
            going.send_signal(signal.SIGINT)
            going.wait(60)
            assert "Traceback" not in going.stderr.read()
        finally:
            going.kill()


def test_a_folder_or_port_that_cannot_be_used_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = CliRunner().invoke(app, ["view", str(tmp_path / "missing")])
    assert missing.exit_code != 0 and "not a folder" in str(missing.exception)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = CliRunner().invoke(app, ["view", str(tmp_path), "--port", str(port), "--quiet"])
    assert f"127.0.0.1:{port} cannot be used" in str(result.exception)
    monkeypatch.setitem(os.environ, "EQUIPOISE_VIEW_TOKEN", "short")
    assert "at least 16" in str(CliRunner().invoke(app, ["view", str(tmp_path)]).exception)
