"""Two ways to run the command line in a process of its own: from nothing, and from one that has its imports done."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Result = subprocess.CompletedProcess[str]
AUDIT = (
    *("audit", "planted:noise=0.7", "--task", "next-word", "--task", "mcq", "--orders", "2", "--limit", "60"),
    *("--by", "gender", "--resamples", "20", "--out", "run"),
)

FORKING = """
import atexit, json, os, sys
import equipoise.media.terminal, equipoise.report, equipoise.run, equipoise.scoring.huggingface.engine
import pyarrow.parquet, rich.console
from equipoise.cli import main

def leave(code):
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)

for line in sys.stdin:
    order = json.loads(line)
    child = os.fork()
    if not child:
        os.chdir(order["cwd"])
        for number, file in enumerate(order["files"], start=1):
            os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), number)
        os.environ.update(order["env"])
        sys.argv = ["equipoise", *order["words"]]
        try:
            main()
        except SystemExit as ended:
            if isinstance(ended.code, int | None):
                leave(ended.code or 0)
            raise
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""A process for each command, without two seconds of imports before it and one of taking everything down after it."""


def environment(**more: str) -> dict[str, str]:
    """Return the environment without what would change an answer: no hub, no wide terminal; one thread is enough."""
    hidden = ("COLUMNS", "FORCE_COLOR", "EQUIPOISE_MIRROR")
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    return {**kept, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", **more}


@pytest.fixture(scope="session")
def environ() -> dict[str, str]:
    """Return the environment the commands run in."""
    return environment()


@pytest.fixture(scope="session")
def equipoise() -> Callable[..., Result]:
    """Return a function that runs `python -m equipoise` with these words."""

    def run(*words: str | Path, cwd: Path, **env: str) -> Result:
        command = [sys.executable, "-m", "equipoise", *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment(**env), check=False)

    return run


@pytest.fixture(scope="session")
def forked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Result]]:
    """Return a function that does the same in a process forked from one that has imported everything."""
    files = [str(tmp_path_factory.mktemp("said") / name) for name in ("stdout", "stderr")]
    command = [sys.executable, "-c", FORKING]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
    ) as server:

        def run(*words: str | Path, cwd: Path, **env: str) -> Result:
            assert server.stdin and server.stdout
            for file in files:
                Path(file).write_text("")
            order = {"words": [str(word) for word in words], "cwd": str(cwd), "env": env, "files": files}
            server.stdin.write(json.dumps(order) + "\n")
            server.stdin.flush()
            code = int(server.stdout.readline())
            out, err = (Path(file).read_text(encoding="utf-8") for file in files)
            return Result(order["words"], code, out, err)

        yield run
        assert server.stdin
        server.stdin.close()


@pytest.fixture(scope="session")
def audit_words() -> tuple[str, ...]:
    """Return the command that `audited` runs."""
    return AUDIT


@pytest.fixture(scope="session")
def audited(equipoise: Callable[..., Result], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """Return a run folder made by the command line, and what the command said."""
    cwd = tmp_path_factory.mktemp("cli")
    return cwd / "run", equipoise(*AUDIT, cwd=cwd)


@pytest.fixture
def run_copy(audited: tuple[Path, Result], tmp_path: Path) -> Path:
    """Return a copy of the run folder, to change."""
    return Path(shutil.copytree(audited[0], tmp_path / "copy"))
