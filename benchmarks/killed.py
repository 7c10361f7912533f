"""Does a run that is killed (kill -9) again and again end as one that never was? Kills a real audit as it scores.

    python benchmarks/killed.py [--kills 20] [--limit 250] [--model smollm2] [--more "--cluster auto --workers 1"]

Each time the run is killed as soon as its stores (scores, and texts that the model wrote) have grown by a number of
lines that is drawn at random (0 to 2): 0 kills it as it starts, the others after a batch was acknowledged. With
`--wait` it is killed up to that many seconds later, at any moment. A run that ends before all kills were used is begun
anew. Prints how far it was each time, and whether every file of the finished run is equal, byte for byte, to that of an
undisturbed one (the manifest and what names the folder apart).
"""

from __future__ import annotations

import argparse
import json
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from shared.options import parsed

STORES = ("scores.jsonl", "reasoning.jsonl")
FILES = ("outcomes.parquet", "pairs.parquet", "examples.parquet", "measurements.csv")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--limit", type=int, default=250)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--wait", type=float, default=0.0, help="seconds at most between that moment and the kill")
    parser.add_argument("--more", default="", help="further options of the audit, such as --until")
    chosen = parsed(parser, model="planted:noise=1", kills=1, limit=250, seed=4)
    moments = random.Random(chosen.seed)
    with tempfile.TemporaryDirectory() as scratch:
        calm, killed = Path(scratch) / "calm", Path(scratch) / "killed"
        command = [sys.executable, "-m", "equipoise", "audit", chosen.model, "--limit", str(chosen.limit), "--quiet"]
        command += shlex.split(chosen.more)
        subprocess.run([*command, "--out", str(calm)], check=True)
        kills, in_scoring, faults = 0, 0, 0
        while kills < chosen.kills:
            shutil.rmtree(killed, ignore_errors=True)
            kept: set[str] = set()
            # Until the run is finished, however often it is killed on its way there.
            while True:
                process = subprocess.Popen([*command, "--out", str(killed)])
                more, wait = moments.choice((0, 1, 1, 2, 2)), moments.uniform(0, chosen.wait)
                if kills < chosen.kills and killed_after(process, killed, line_count(killed) + more, wait):
                    kills, in_scoring = kills + 1, in_scoring + (more > 0)
                process.wait()
                lines = acknowledged(killed)
                assert kept <= set(lines), "an acknowledged answer was lost"
                assert len(lines) == len(set(lines)), "a prompt was asked twice"
                kept = set(lines)
                print(f"{kills:>3} kills, {len(kept):,} answers acknowledged", flush=True)
                if process.returncode == 0:
                    break
            different = compared(calm, killed)
            faults += len(different)
            print(f"finished; other bytes than the undisturbed run: {', '.join(different) or 'none'}", flush=True)
        print(f"{kills} kills, {in_scoring} of them after a batch was acknowledged; files that differ: {faults}")
        sys.exit(1 if faults else 0)


def compared(calm: Path, killed: Path) -> list[str]:
    """Return the files that differ; the lines of the stores may come in another order."""
    names = [*FILES, *(name for name in ("looks.csv",) if (calm / name).exists())]
    different = [name for name in names if (calm / name).read_bytes() != (killed / name).read_bytes()]
    for store in STORES:
        lines = [sorted(content_of(folder / store).splitlines()) for folder in (calm, killed)]
        different += [] if lines[0] == lines[1] else [store]
    settled = [json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["tasks"] for folder in (calm, killed)]
    return different if settled[0] == settled[1] else [*different, "manifest.json: tasks"]


def killed_after(process: subprocess.Popen[bytes], folder: Path, lines: int, wait: float) -> bool:
    """Kill the process some time after its stores have that many lines; return False where it ended before."""
    while line_count(folder) < lines:
        if process.poll() is not None:
            return False
        time.sleep(0.005)
    time.sleep(wait)
    process.kill()
    process.wait()
    return process.returncode != 0


def content_of(path: Path) -> bytes:
    """Return the content of a file; nothing where there is none."""
    return path.read_bytes() if path.is_file() else b""


def line_count(folder: Path) -> int:
    """Return the number of whole lines of the stores."""
    return sum(content_of(folder / store).count(b"\n") for store in STORES)


def acknowledged(folder: Path) -> list[str]:
    """Return the keys of all prompts whose batch is whole in the store, and of the texts that are."""
    scores, texts = (content_of(folder / store).split(b"\n")[:-1] for store in STORES)
    batches = [json.loads(line.partition(b" ")[2]) for line in scores if line]
    return [entry[0] for batch in batches for entry in batch] + [json.loads(line)["key"] for line in texts if line]


if __name__ == "__main__":
    main()
