"""Measure the processor time of `identities` and `figures`: python benchmarks/figures.py [--before OTHER/src].

A planted engine is asked WinoIdentity over WinoBias or the built-in sentences, and the built-in sentences as two
tasks; then the commands draw their figures in processes of their own, in turn with the package of `--before`, if one is
named. Each version draws runs that it made itself from the same sentences: run folders changed since the first one.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import equipoise

COMMANDS = {
    "identities": ("identities", "marked"),
    "figures, built-in, two tasks, all formats": ("figures", "plain"),
    "figures, built-in, two tasks, pdf": ("figures", "plain", "--format", "pdf"),
}
ENGINE = "planted:strength=1,bias=0.7,noise=1"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", type=Path, help="the src folder of another version")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--base", default="builtin", help="the sentences that are marked: builtin or winobias")
    parser.add_argument("--limit", type=int, default=60, help="base sentences with markers; 0: all")
    chosen = parser.parse_args()
    sources = [Path(equipoise.__file__).parents[1], *([chosen.before.resolve()] if chosen.before else [])]
    marked = [
        "--data",
        "winoidentity",
        "--base",
        chosen.base,
        *(["--limit", str(chosen.limit)] if chosen.limit else []),
    ]
    plain = ["--task", "next-word", "--task", "mcq"]
    with tempfile.TemporaryDirectory() as scratch:
        folders = {source: Path(scratch) / str(number) for number, source in enumerate(sources)}
        for source, folder in folders.items():
            folder.mkdir()
            for name, choices in (("marked", marked), ("plain", plain)):
                run(source, folder, "audit", ENGINE, *choices, "--resamples", "100", "--no-html", "-q", "--out", name)
        for name, command in COMMANDS.items():
            seconds: dict[Path, list[float]] = {source: [] for source in sources}
            for _ in range(chosen.times):
                for source, folder in folders.items():
                    seconds[source].append(processor_time(command, folder, source))
            print(name + ": " + ", before: ".join(f"{min(values):.1f} s" for values in seconds.values()), flush=True)


def run(source: Path, folder: Path, *arguments: str) -> None:
    """Run a command of a version in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "equipoise", *arguments]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)


def processor_time(command: tuple[str, ...], folder: Path, source: Path) -> float:
    """Return the processor seconds that a command took, start of Python included."""
    start = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(source, folder, *command, "--out", "drawn")
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    shutil.rmtree(folder / "drawn")
    return end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime


if __name__ == "__main__":
    main()
