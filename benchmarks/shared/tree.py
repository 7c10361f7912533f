"""A copy of the tree in which tests are run: with a mistake in a module, and without one to learn what they reach."""

from __future__ import annotations

import ast
import contextlib
import cProfile
import json
import os
import re
import resource
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

PACKAGE = Path("src/equipoise")
QUICK = ("-m", "not slow")
WAITING = 4
"""How many seconds tests may take by the clock, for each second of processor time that they may take."""


class Known(NamedTuple):
    """What a test file does without a mistake: its processor time, the tests that fail, the functions that it calls.

    `reached` are a module and the first line of a function (0: the module itself). `usable` is false where nothing of
    the file can be run.
    """

    seconds: float
    failed: tuple[str, ...]
    reached: frozenset[tuple[str, int]]
    usable: bool

    @classmethod
    def of(cls, row: dict[str, Any]) -> Known:
        """Return it from a row of JSON."""
        reached = frozenset((module, line) for module, lines in row["reached"].items() for line in lines)
        return cls(row["seconds"], tuple(row["failed"]), reached, row["usable"])


class Tree:
    """A copy of the tree, in which one module at a time is another."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.path = folder / "tree"
        hidden = shutil.ignore_patterns(".git", ".venv*", "__pycache__", ".*_cache", "node_modules", "site", "dist")
        shutil.copytree(root, self.path, ignore=hidden)
        self._folder = folder
        self._edits = 0
        self.seconds = 0.0
        """Processor time of the last tests, which does not depend on what else the machine does."""

    def write(self, module: str, source: str) -> None:
        """Put other code into a module, at a time of its own: Python tells compiled files by the second."""
        file = self.path / PACKAGE / module
        file.write_text(source, encoding="utf-8")
        self._edits += 1
        os.utime(file, (self._edits * 10.0 + 1e9,) * 2)

    def tests(self, names: Iterable[str], limit: float, *options: str) -> tuple[int | None, str]:
        """Return the exit status of pytest (None: the limit) and the first test that failed."""
        code = self._forked([*names, "-x", *options], limit, None)
        if code is None:
            return None, "the time limit"
        text = (self._folder / "output.txt").read_text(errors="replace")
        found = re.search(r"^(?:FAILED|ERROR) (\S+?\.py(?:::[^\n]*?)?)(?: - |$)", text, re.M)
        return code, found[1] if found else ""

    def learned(self, name: str, limit: float) -> dict[str, Any]:
        """Return what a test file does without a mistake, as a row of `Known`."""
        file = self._folder / "reached.json"
        file.unlink(missing_ok=True)
        code = self._forked([name, *QUICK], limit, Recorder(self.path / PACKAGE, file))
        row: dict[str, Any] = {"failed": [], "reached": {}}
        if file.exists():
            row = json.loads(file.read_text(encoding="utf-8"))
        row["failed"] = [failed for failed in row["failed"] if "::" in failed]
        return {**row, "seconds": round(self.seconds, 1), "usable": code in (0, 1)}

    def _forked(self, arguments: list[str], limit: float, recorder: Recorder | None) -> int | None:
        """Return the exit status of pytest in a process of its own, None when it had to be ended."""
        plain = ["-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist", f"--basetemp={self._folder / 'tmp'}"]
        child = os.fork()
        if not child:
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit)))
            self._run([*arguments, *plain], recorder)
        end = time.monotonic() + WAITING * limit
        while time.monotonic() < end:
            done, status, used = os.wait4(child, os.WNOHANG)
            if done:
                with contextlib.suppress(ProcessLookupError, PermissionError):  # what it has left behind
                    os.killpg(child, signal.SIGKILL)
                self.seconds = used.ru_utime + used.ru_stime
                code = os.waitstatus_to_exitcode(status)
                return None if code in (-signal.SIGXCPU, -signal.SIGKILL) else code
            time.sleep(0.05)
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return None

    def _run(self, arguments: list[str], recorder: Recorder | None) -> None:
        """Run pytest in this process, which was forked for it, and end it."""
        os.setsid()
        assert "equipoise" not in sys.modules, "the package must be imported anew"
        output = os.open(self._folder / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(output, stream)
        os.chdir(self.path)
        os.environ["PYTHONPATH"] = str(self.path / "src")
        sys.path[:0] = [str(self.path / "src")]
        sys.argv = ["pytest", *arguments]
        code = 3
        try:
            import pytest

            with recorder or contextlib.nullcontext():
                code = int(pytest.main(arguments, plugins=[recorder] if recorder else []))
            sys.stdout.flush()
        finally:
            os._exit(code)


class Recorder:
    """A plug-in of pytest that writes which functions of the package were called, and which tests failed."""

    def __init__(self, package: Path, file: Path) -> None:
        self._package, self._file = f"{package}/", file
        self._profile = cProfile.Profile()
        self._threads: dict[int, Any] = {}
        self._failed: list[str] = []

    def __enter__(self) -> None:
        codes = self._threads

        def called(frame: Any, _event: str, _value: Any) -> None:
            # By number: a code object is compared by all that it holds.
            if id(frame.f_code) not in codes:
                codes[id(frame.f_code)] = frame.f_code

        threading.settrace(called)  # the profile is of this thread alone, and much faster
        self._profile.enable()

    def __exit__(self, *_error: object) -> None:
        self._profile.disable()
        called = [row.code for row in self._profile.getstats() if not isinstance(row.code, str)]
        reached: dict[str, set[int]] = {}
        for code in [*called, *self._threads.values()]:
            if code.co_filename.startswith(self._package):
                module = code.co_filename.removeprefix(self._package)
                line = 0 if code.co_name == "<module>" else code.co_firstlineno
                reached.setdefault(module, set()).add(line)
        row = {"failed": self._failed, "reached": {module: sorted(lines) for module, lines in reached.items()}}
        self._file.write_text(json.dumps(row), encoding="utf-8")

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep the name of a test that failed."""
        if report.failed and report.nodeid not in self._failed:
            self._failed.append(report.nodeid)


def function_at(text: str, line: int) -> int:
    """Return the first line of the innermost function around a line, decorators included; 0 where there is none."""
    found = 0
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(part.lineno for part in node.decorator_list)])
            if node.body[0].lineno <= line <= (node.end_lineno or 0):
                found = max(found, first)
    return found


def in_processes(count: int, workers: int, worker: Callable[[Iterator[int]], None]) -> None:
    """Run a function in several processes; each takes the next number as soon as it is free."""
    reading, writing = os.pipe()
    os.write(writing, b"".join(number.to_bytes(4, "big") for number in range(count)))
    os.close(writing)

    def numbers() -> Iterator[int]:
        while taken := os.read(reading, 4):
            yield int.from_bytes(taken, "big")

    children = []
    for _ in range(workers):
        child = os.fork()
        if not child:
            try:
                worker(numbers())
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(0)
        children.append(child)
    os.close(reading)
    for child in children:
        os.waitpid(child, 0)
