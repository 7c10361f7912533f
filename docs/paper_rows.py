"""Run what docs/papers/rows.toml lists, row by row, and write docs/papers/rows.md.

    python docs/paper_rows.py [--only UCerF] [--write]

Needs the papers' datasets (EQUIPOISE_DATA). Every command runs once, in a folder of its own; a row holds if its command
ended well and left what the row says. With `--write` the page is written, from rows that all hold.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROWS, PAGE = ROOT / "docs" / "papers" / "rows.toml", ROOT / "docs" / "papers" / "rows.md"
HEAD = """# The papers, row by row

What the papers define, print, draw and run, and the command that makes it here. `python docs/paper_rows.py` runs every
command and checks what it leaves; planted engines stand for a model, and the same commands take any model. "Different"
is on purpose, and says why. {counts}. Steps that several rows need are at the end.

| | paper | place | what | here | command | left |
|---:|---|---|---|---|---|---|
"""


@dataclass
class Commands:
    """Commands in one folder, each run once: its exit code, what it printed, and its seconds."""

    folder: Path
    ended: dict[str, tuple[int, str, float]] = field(default_factory=dict)

    def run(self, command: str) -> tuple[int, str, float]:
        """Return how a command ended; tests run where the tests are."""
        if command not in self.ended:
            words = shlex.split(command)
            is_test = words[0] == "pytest"
            words = [sys.executable, "-m", *words, "-q", "-p", "no:xdist"] if is_test else words
            environment = {
                **os.environ,
                "COLUMNS": "160",
                "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            }
            began = time.monotonic()
            done = subprocess.run(
                words,
                cwd=ROOT if is_test else self.folder,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            self.ended[command] = (done.returncode, done.stdout + done.stderr, time.monotonic() - began)
        return self.ended[command]


def fault(row: dict[str, str], command: str, commands: Commands) -> str:
    """Return what is wrong with a row, "" where it holds."""
    code, printed, _ = commands.run(command)
    if code:
        return f"exit code {code}: {printed.strip()[-300:]}"
    files = sorted(commands.folder.glob(row["shows"])) if "shows" in row else []
    if "shows" in row and not files:
        return f"no {row['shows']}"
    texts = [file.read_text(encoding="utf-8", errors="replace") for file in files if file.is_file()] or [printed]
    wanted = row.get("text", "")
    return "" if not wanted or any(wanted in text for text in texts) else f"nothing says {wanted!r}"


def page(rows: list[dict[str, str]], steps: dict[str, str]) -> str:
    """Return the page of all rows."""
    counts = Counter(row.get("state", "done") for row in rows)
    text = HEAD.format(counts=f"{len(rows)} rows: {counts['done']} done, {counts['different']} knowingly different")
    for number, row in enumerate(rows, 1):
        here = f"{row.get('state', 'done')}{': ' + row['note'] if 'note' in row else ''}"
        command = f"step `{row['run']}`" if row["run"] in steps else f"`{row['run']}`"
        left = f"`{row['shows']}`" if "shows" in row else "printed"
        cells = [str(number), row["paper"], row["place"], row["what"], here, command, left]
        text += "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"
    listed = "".join(f"| `{name}` | `{command}` |\n" for name, command in steps.items())
    return f"{text}\n## Steps\n\n| step | command |\n|---|---|\n{listed}"


def main() -> None:
    """Run the rows, print each, and write the page if all hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="only the rows of this paper")
    parser.add_argument("--write", action="store_true", help="write docs/papers/rows.md")
    chosen = parser.parse_args()
    listed = tomllib.loads(ROWS.read_text(encoding="utf-8"))
    rows, steps = listed["row"], listed["steps"]
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        commands = Commands(Path(name))
        for number, row in enumerate(rows, 1):
            if chosen.only not in ("", row["paper"]):
                continue
            named = {word.partition("/")[0] for word in shlex.split(row["run"])}
            needed = [step for step in steps if step in named]
            # A command reads the folders of earlier steps by their names.
            for step in (*FOLDERS_OF.get(row["run"], ()), *needed):
                commands.run(steps[step])
            wrong = fault(row, steps.get(row["run"], row["run"]), commands)
            failed += bool(wrong)
            print(f"{number:2} {row['paper']}, {row['place']}: {wrong or 'holds'}", flush=True)
        seconds = sum(taken for *_, taken in commands.ended.values())
        print(f"{failed} rows do not hold; {len(commands.ended)} commands, {seconds:.0f} s")
    if chosen.write and not failed:
        PAGE.write_text(page(rows, steps), encoding="utf-8")
    sys.exit(bool(failed))


FOLDERS_OF = {
    "radars": ("marked",),
    "figures": ("wino",),
    "compared": ("wino", "biased"),
}
"""Steps that read what other steps have written."""


if __name__ == "__main__":
    main()
