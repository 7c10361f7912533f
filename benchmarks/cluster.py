"""What a cluster costs and brings; figures in docs/scale.md: `python benchmarks/cluster.py overhead`.

- overhead: the default model in one process, and in one Ray worker: time of scoring the same prompts, in turns. On a
  busy machine run it with `chrt -f 3`, so that other programs do not add to either.
- scaling: an engine that takes a fixed time for each prompt, on 1, 2, 4 and 8 workers.
- memory: what the driver holds at most for 10,000, 100,000 and 1,000,000 prompts.
- kills: 10 workers and 3 drivers killed in one run, at batches that are counted; its files against one process.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from equipoise.datasets import open_dataset
from equipoise.options import EngineOptions
from equipoise.records import Example, Prompt
from equipoise.run import audit
from equipoise.scoring.opening import open_engine
from equipoise.tasks import open_task

FAULTY = Path(__file__).resolve().parent.parent / "tests" / "faulty"
FEW: dict[str, Any] = {"limit": 100, "resamples": 10, "metrics": ["ucerf"], "by": []}


def scored(engine: Any, batches: Any) -> tuple[float, int]:
    """Return the seconds that scoring the batches takes, and how many prompts they have."""
    began, count = time.perf_counter(), 0
    for scores in engine.score(batches):
        count += len(scores)
    return time.perf_counter() - began, count


def processor_seconds(processes: Sequence[int]) -> float:
    """Return the processor time of these processes so far: load from elsewhere does not change it much."""
    ticks = 0
    for process in processes:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def overhead(limit: int, rounds: int) -> None:
    """Print the time of one worker against that of one process."""
    task = open_task("next-word")
    examples = open_dataset("builtin").limited(limit).examples
    prompts = [prompt for example in examples for prompt in task.prompts(example)]  # type: ignore[attr-defined]
    alone = open_engine("smollm2", EngineOptions(device="cpu", dtype="float32"))
    threads = os.cpu_count() if "OMP_NUM_THREADS" not in os.environ else int(os.environ["OMP_NUM_THREADS"])
    options = EngineOptions(device="cpu", dtype="float32", cluster="auto", workers=1, worker_cores=threads or 1)
    cluster: Any = open_engine("smollm2", options)
    batches = [[prompts[i] for i in batch] for batch in alone.batches(prompts)]
    for engine in (alone, cluster):
        scored(engine, batches[:1])  # the first batch finds out how to score
    times: dict[str, list[float]] = {"one process": [], "one worker": []}
    used: dict[str, list[float]] = {"one process": [], "one worker": []}
    involved = {"one process": [os.getpid()], "one worker": [os.getpid(), *cluster._pool.processes]}
    for _ in range(rounds):
        # In turns, since load from elsewhere comes and goes.
        for name, engine in (("one process", alone), ("one worker", cluster)):
            before = processor_seconds(involved[name])
            times[name].append(scored(engine, batches)[0])
            used[name].append(processor_seconds(involved[name]) - before)
    for name, several in times.items():
        print(f"{name}: median {median(several):.2f} s of {[round(s, 2) for s in several]}, n = {len(prompts)} prompts")
    for what, table in (("wall time", times), ("processor time", used)):
        shares = {name: [round(s, 2) for s in several] for name, several in table.items()}
        process, worker = (table[name] for name in ("one process", "one worker"))
        ratios = f"median {median(worker) / median(process) - 1:+.1%}, best {min(worker) / min(process) - 1:+.1%}"
        print(f"overhead in {what}: {ratios} {shares}")
    cluster.close()


def _prompts(count: int, example: Example, size: int) -> Iterator[list[Prompt]]:
    for start in range(0, count, size):
        stop = min(start + size, count)
        yield [Prompt(example.id, "task", "", f"{example.text} {n}", (" a", " b")) for n in range(start, stop)]


def scaling(prompts: int, cost: float) -> None:
    """Print the speed of an engine with a fixed cost on 1, 2, 4 and 8 workers."""
    example = open_dataset("builtin").examples[0]
    speeds: dict[int, float] = {}
    for workers in (1, 2, 4, 8):
        engine: Any = open_engine(f"faulty:cost={cost}", EngineOptions(cluster="auto", workers=workers))
        engine.prepare([example])
        while len(engine._pool.processes) < workers:
            list(engine.score(_prompts(16, example, 16)))
        seconds, count = scored(engine, _prompts(prompts * workers, example, 16))
        speeds[workers] = count / seconds
        share = speeds[workers] / (workers * speeds[1])
        print(f"{workers} workers: {speeds[workers]:,.0f} prompts/s, {share:.2f} of linear, n = {count:,}", flush=True)
        engine.close()


def memory(sizes: tuple[int, ...]) -> None:
    """Print the most memory that the driver has used after scoring that many prompts."""
    example = open_dataset("builtin").examples[0]
    engine: Any = open_engine("faulty:size=512", EngineOptions(cluster="auto", workers=2))
    engine.prepare([example])
    for count in sizes:
        seconds, done = scored(engine, _prompts(count, example, 512))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{done:,} prompts: {peak:,.0f} MB at most, {done / seconds:,.0f} prompts/s", flush=True)
    engine.close()


DRIVER = """
import os, sys
from pathlib import Path
import equipoise.run
Path(sys.argv[1]).write_text(str(os.getpid()))
equipoise.run.audit(sys.argv[2], cluster="auto", workers=2, out=sys.argv[3], **eval(sys.argv[4]))
"""


def kills(seed: int) -> None:
    """Print how a run goes in which 10 workers and 3 drivers are killed at random batches."""
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        events, pid, out = (Path(folder) / name for name in ("events", "driver", "run"))
        numbers = draw.sample(range(2, 50), 13)
        kill, driver = ("+".join(map(str, sorted(part))) for part in (numbers[:10], numbers[10:]))
        model = f"faulty:events={events},kill={kill},driver={driver},driver_file={pid},size=4"
        codes: list[int] = []
        while not codes or codes[-1] == -signal.SIGKILL:
            command = [sys.executable, "-c", DRIVER, str(pid), model, str(out), repr(FEW)]
            codes.append(subprocess.run(command, check=False, timeout=3600).returncode)
        whole = audit("faulty:size=4", out=Path(folder) / "whole", **FEW).path
        same = all(
            (out / name).read_bytes() == (whole / name).read_bytes() for name in ("scores.jsonl", "pairs.parquet")
        )
        print(f"workers killed at batches {kill}, drivers at {driver}; commands ended with {codes}")
        print(f"{events.stat().st_size} batches were begun for 50; files equal those of one process: {same}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("overhead", "scaling", "memory", "kills"))
    parser.add_argument("--limit", type=int, default=60, help="sets of the overhead's prompts")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--prompts", type=int, default=1600, help="prompts for each worker (scaling)")
    parser.add_argument("--cost", type=float, default=0.01, help="seconds for each prompt (scaling)")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    # The engine of a fixed cost is a plug-in, which the workers must find, too.
    sys.path.insert(0, str(FAULTY))
    os.environ["PYTHONPATH"] = os.pathsep.join([str(FAULTY), os.environ.get("PYTHONPATH", "")])
    if chosen.what == "overhead":
        overhead(chosen.limit, chosen.rounds)
    elif chosen.what == "scaling":
        scaling(chosen.prompts, chosen.cost)
    elif chosen.what == "memory":
        memory(tuple(chosen.sizes))
    else:
        kills(chosen.seed)


if __name__ == "__main__":
    main()
