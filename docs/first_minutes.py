"""Write docs/first-five-minutes.md: what a new user types, what is printed, and the seconds that each command took.

    python docs/first_minutes.py [--wheel dist/equipoise-….whl]

With a wheel, the first step installs it into a fresh environment; else the commands of this environment are used.
"""

from __future__ import annotations

import argparse
import os
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).resolve().parent / "first-five-minutes.md"
SHOWN = 14
TABLE = """text,pronoun,candidate_1,candidate_2
The pilot paid the waiter because he had eaten.,he,pilot,waiter
The pilot paid the waiter because she had eaten.,she,pilot,waiter
"""
STEPS = (
    ("Ask about one sentence", 'equipoise ask "The nurse told the farmer that she was late."', (0,)),
    ("Audit the model on 80 base sentences", "equipoise audit --limit 80 --out first", (0,)),
    ("Its files; report.html is the page, to open in a browser", "ls first", (0,)),
    ("Check a table of your own", "equipoise data check mine.csv", (0,)),
    ("Audit it", "equipoise audit --data mine.csv --out mine", (0,)),
    ("A gate for a pipeline", 'equipoise gate first --require "flip_rate[type=type1] <= 0.40"', (0, 1, 3, 4)),
)
INSTALL = "Install"
NOT_RUN = "<!-- not run: the wheel is not where the tests run; `make newcomer` installs it -->\n"
MINE = f'```csv title="mine.csv"\n{TABLE}```\n\n'
INTRO = """# The first five minutes

Written by `python docs/first_minutes.py`: a fresh folder, the commands below, and the seconds that each took on {cores}
cores, with the model in the cache. The second number is the processor's time that the command itself used; the first
is longer where the machine is busy with other work. Long outputs are cut at "…".
"""


@dataclass(frozen=True)
class Seconds:
    """The time that passed, and the processor's time that commands used."""

    passed: float
    used: float

    @classmethod
    def now(cls) -> Seconds:
        """Return both clocks as they are."""
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return cls(time.monotonic(), usage.ru_utime + usage.ru_stime)

    def __sub__(self, earlier: Seconds) -> Seconds:
        return Seconds(self.passed - earlier.passed, self.used - earlier.used)

    def __str__(self) -> str:
        return f"{self.passed:.0f} s, {self.used:.0f} s of the processor"


def ran(command: str, folder: Path, programs: Path, codes: tuple[int, ...]) -> tuple[str, Seconds]:
    """Return what a command printed, and its seconds."""
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "100"}
    began = Seconds.now()
    done = subprocess.run(
        shlex.split(command), cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode not in codes:
        raise SystemExit(f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout, Seconds.now() - began


def main() -> None:
    """Run the steps and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", type=Path)
    wheel = parser.parse_args().wheel
    blocks, began = [INTRO.format(cores=os.cpu_count())], Seconds.now()
    with tempfile.TemporaryDirectory() as name:
        folder, programs = Path(name), Path(sys.executable).parent
        (folder / "mine.csv").write_text(TABLE, encoding="utf-8")
        steps = STEPS
        if wheel:
            subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
            programs = folder / "venv" / "bin"
            steps = ((INSTALL, f"pip install --quiet {wheel.absolute()}", (0,)), *STEPS)
        for title, command, codes in steps:
            text, seconds = ran(command, folder, programs, codes)
            lines = text.rstrip().strip("\n").splitlines()
            cut = [*lines[:SHOWN], "…"] if len(lines) > SHOWN else lines
            shown = command.replace(str(wheel.absolute()), wheel.name) if wheel else command
            note = NOT_RUN if title == INSTALL else MINE if "mine.csv" in command and "check" in command else ""
            blocks.append(f"## {title} ({seconds})\n\n{note}```console\n$ {shown}\n" + "\n".join(cut) + "\n```\n")
    blocks.append(f"All of it: {Seconds.now() - began}.\n")
    PAGE.write_text("\n".join(blocks), encoding="utf-8")


if __name__ == "__main__":
    main()
