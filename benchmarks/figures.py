"""Measure the processor time of `identities` and `figures`: python benchmarks/figures.py [--before OTHER/src].

A planted engine is asked WinoIdentity over the built-in sentences, and the built-in sentences as two tasks; then the
commands draw their figures in processes of their own, in turn with the package of `--before`, if one is named.
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
    "figures, built-in, two tasks, pdf": ("figures", "plain", "--format", "pdf"),
    "figures, built-in, two tasks, png": ("figures", "plain", "--format", "png"),
    "figures, identities, pdf": ("figures", "marked", "--format", "pdf"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", type=Path, help="the src folder of another version")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--limit", type=int, default=60, help="base sentences with markers")
    chosen = parser.parse_args()
    sources = [Path(equipoise.__file__).parents[1], *([chosen.before.resolve()] if chosen.before else [])]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        engine = "planted:strength=0.5,bias=0.5,noise=1"
        marked = {"base": "builtin", "limit": chosen.limit, "resamples": 100, "metrics": ["confidence"]}
        equipoise.audit(engine, "winoidentity", out=folder / "marked", **marked)
        equipoise.audit(engine, task=["next-word", "mcq"], out=folder / "plain", resamples=100)
        for name, command in COMMANDS.items():
            seconds: dict[Path, list[float]] = {source: [] for source in sources}
            for _ in range(chosen.times):
                for source in sources:
                    seconds[source].append(processor_time(command, folder, source))
            print(name + ": " + ", before: ".join(f"{min(values):.1f} s" for values in seconds.values()))


def processor_time(command: tuple[str, ...], folder: Path, source: Path) -> float:
    """Return the processor seconds that a command took, start of Python included."""
    start = resource.getrusage(resource.RUSAGE_CHILDREN)
    arguments = [sys.executable, "-m", "equipoise", *command, "--out", "drawn"]
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    subprocess.run(arguments, cwd=folder, env=environment, check=True, capture_output=True)
    shutil.rmtree(folder / "drawn")
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime


if __name__ == "__main__":
    main()
