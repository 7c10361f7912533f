"""What a run says about intervals that hold limits or the error of sampled answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ...metrics import Metric
from ...records import Limits, Measurement, parse_group


def leeway_sentences(
    before: Sequence[Measurement], after: Sequence[Measurement], limits: Limits | None, metrics: Mapping[str, Metric]
) -> Iterator[str]:
    """Yield a sentence on what is not known exactly, and by how much the interval of a leading metric grew at most."""
    if limits is None:
        return
    if limits.low is not None and limits.high is not None:
        some = int((limits.high > limits.low).any(axis=1).sum())
        known = f"{some:,} of {len(limits.low):,} items have a candidate whose probability is known within limits only"
        remedy = "a server that returns more tokens narrows them"
    elif limits.counts is not None:
        samples = int(np.maximum(limits.counts, 0).sum(axis=1).min())
        known = f"probabilities are estimated from {samples:,} sampled answers a question"
        remedy = "more samples narrow them"
    else:
        return
    leading = [
        (first, second)
        for first, second in zip(before, after, strict=True)
        if first.metric in metrics and metrics[first.metric].leading and set(parse_group(first.group)) <= {"type"}
        if second.high - second.low > first.high - first.low
    ]
    if not leading:
        yield f"{known}; no interval of a leading metric is wider for it"
        return
    first, second = max(leading, key=lambda pair: (pair[1].high - pair[1].low) - (pair[0].high - pair[0].low))
    where = "" if first.group == "all" else f" ({first.group})"
    yield (
        f"{known}, so intervals are wider; {first.metric}{where} changes most, from "
        f"[{first.low:.3f}, {first.high:.3f}] to [{second.low:.3f}, {second.high:.3f}]; {remedy}"
    )
