"""Does a run that is killed (kill -9) again and again end as one that never was? Kills a real audit at random moments.

    python benchmarks/killed.py [--kills 20] [--limit 250]

Prints how often the run was killed and how far it was each time, and whether every file of the finished run is equal,
byte for byte, to that of an undisturbed one (the manifest and what names the folder apart).
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FILES = ("outcomes.parquet", "pairs.parquet", "examples.parquet", "measurements.csv")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--limit", type=int, default=250)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    moments = random.Random(chosen.seed)
    with tempfile.TemporaryDirectory() as scratch:
        calm, killed = Path(scratch) / "calm", Path(scratch) / "killed"
        command = [sys.executable, "-m", "equipoise", "audit", chosen.model, "--limit", str(chosen.limit), "--quiet"]
        start = time.perf_counter()
        subprocess.run([*command, "--out", str(calm)], check=True)
        whole = time.perf_counter() - start
        kills, twice, kept = 0, 0, set()
        while True:
            process = subprocess.Popen([*command, "--out", str(killed)])
            try:
                # Loading takes a third of the time: mostly long enough to score something, seldom to the end.
                process.wait(moments.uniform(0.4, 0.75) * whole if kills < chosen.kills else None)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                kills += 1
            lines = acknowledged(killed / "scores.jsonl")
            twice += len(lines) - len(set(lines))
            assert kept <= set(lines), "an acknowledged score was lost"
            kept = set(lines)
            print(f"{kills:>3} kills, {len(kept):,} prompts acknowledged", flush=True)
            if process.returncode == 0:
                break
        same = {name: (calm / name).read_bytes() == (killed / name).read_bytes() for name in FILES}
        scores = sorted((calm / "scores.jsonl").read_bytes().splitlines())
        same["scores.jsonl"] = scores == sorted((killed / "scores.jsonl").read_bytes().splitlines())
        print(f"{kills} kills; scored twice: {twice}; equal byte for byte: {same}")
        sys.exit(0 if all(same.values()) and not twice else 1)


def acknowledged(path: Path) -> list[str]:
    """Return the keys of all prompts whose batch is whole in the store."""
    if not path.is_file():
        return []
    whole = [line for line in path.read_bytes().split(b"\n")[:-1] if line]
    return [entry[0] for line in whole for entry in json.loads(line.partition(b" ")[2])]


if __name__ == "__main__":
    main()
