"""lm-evaluation-harness's side of benchmarks/speed.py; runs in an environment of its own.

python harness_side.py MODEL_FOLDER REQUESTS.json ANSWERS.json BATCH_SIZES THREADS
"""

from __future__ import annotations

import json
import logging
import resource
import sys
import time
from pathlib import Path

import torch
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM

TUNED_ON = 100


def main() -> None:
    folder, asked, answers, sizes, threads = sys.argv[1:]
    logging.disable(logging.INFO)
    torch.set_num_threads(int(threads))
    requests = [tuple(pair) for pair in json.loads(Path(asked).read_text())]
    model = HFLM(pretrained=folder, dtype="float32", device="cpu", batch_size=1)
    seen: list[int] = []
    model.model.register_forward_pre_hook(
        lambda _, given, named: seen.append((given[0] if given else named["input_ids"]).numel()), with_kwargs=True
    )
    scored(model, requests[:8])  # whatever is made on first use is made
    best = int(sizes.split(",")[0])
    if "," in sizes:
        step = max(1, len(requests) // (2 * TUNED_ON))
        some = [one for start in range(0, len(requests) - 1, 2 * step) for one in requests[start : start + 2]]
        times = {}
        for size in map(int, sizes.split(",")):
            model.batch_size_per_gpu = size
            start = time.perf_counter()
            scored(model, some)
            times[size] = time.perf_counter() - start
        best = min(times, key=lambda size: times[size])
    model.batch_size_per_gpu = best
    seen.clear()
    start = time.perf_counter()
    values = scored(model, requests)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    told = {"seconds": seconds, "tokens": sum(seen), "peak": peak, "batch": best, "values": values}
    Path(answers).write_text(json.dumps(told))


def scored(model: HFLM, requests: list[tuple[str, str]]) -> list[float]:
    """Return the log-probability of each continuation."""
    instances = [Instance("loglikelihood", {}, pair, number) for number, pair in enumerate(requests)]
    return [value for value, _ in model.loglikelihood(instances, disable_tqdm=True)]


if __name__ == "__main__":
    main()
