"""How long, and how much memory, does it take to plan all of WinoIdentity? Needs WinoBias, no model.

python benchmarks/planning.py [--prompts 239400]
"""

from __future__ import annotations

import argparse
import resource
import time

from equipoise.datasets import open_dataset
from equipoise.datasets.identity import identity_dataset, recipe
from equipoise.tasks import open_task


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prompts", type=int, default=239_400, help="the least that must be planned")
    chosen = parser.parse_args()
    start = time.perf_counter()
    cpu = time.process_time()

    def note(what: str, count: int) -> None:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"{what:<12} {count:>9,}  {time.perf_counter() - start:6.1f} s  {peak:.2f} GiB at most", flush=True)

    base = open_dataset("winobias")
    note("sentences", len(base.examples))
    data = identity_dataset(base, recipe())
    note("examples", len(data.examples))
    print(f"             sha256 {data.sha256[:16]}…")
    note("hash", len(data.examples))
    task = open_task("next-word")
    prompts = [prompt for example in data.examples for prompt in task.prompts(example)]
    note("prompts", len(prompts))
    unique = {prompt.key("0" * 64): prompt for prompt in prompts}
    note("distinct", len(unique))
    # As the engine of transformers does it: neighbours in the order of their texts share a batch.
    questions = list(unique.values())
    order = sorted(range(len(questions)), key=lambda i: (str(questions[i].context), i))
    batches = [order[first : first + 128] for first in range(0, len(order), 128)]
    note("batches", len(batches))
    print(f"planned in {time.perf_counter() - start:.1f} s ({time.process_time() - cpu:.1f} s of processor time)")
    assert len(unique) >= chosen.prompts, f"only {len(unique):,} distinct prompts"


if __name__ == "__main__":
    main()
