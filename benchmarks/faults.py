"""What do the faults of a dataset change in the main scores of a model?

    python benchmarks/faults.py RUN …

Each run is measured twice from its own answers: as it is, and without the sets in which `equipoise data check` lists a
fault, as an audit with `--without-faults` leaves them out. So a limit chooses the same sentences both times. Prints a
Markdown table for every run: value with 95% interval, and n.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from shared.options import parsed

from equipoise import audit
from equipoise.datasets import open_dataset
from equipoise.measuring.measure import Plan, measured_items
from equipoise.measuring.part import measure_part
from equipoise.metrics.naming import metric_named
from equipoise.records import Measurement, Outcomes, parse_group
from equipoise.runs.run import Part, Run
from equipoise.scoring.planted import PlantedEngine

MAIN = ("flip_rate", "flip_bias", "ucerf", "ucerf_signed", "accuracy", "accuracy_gap")


def faulty_sets(dataset: str) -> set[str]:
    """Return the sets of a dataset that `--without-faults` leaves out."""
    whole = open_dataset(dataset)
    return {e.set_id for e in whole.examples} - {e.set_id for e in whole.without_faults.examples}


def main_scores(part: Part, outcomes: Outcomes) -> dict[tuple[str, str], Measurement]:
    """Return the main scores by metric and type of sentences."""
    plan = Plan([metric_named(name) for name in MAIN], by=(), resamples=1000)
    rows, _ = measure_part(measured_items(outcomes, plan), plan, part.key, None)
    by_type = [(row, parse_group(row.group)) for row in rows]
    return {(row.metric, group["type"]): row for row, group in by_type if set(group) == {"type"}}


def shown(row: Measurement | None) -> str:
    """Return a value with its interval and n."""
    return "–" if row is None else f"{row.value:.3f} [{row.low:.3f}, {row.high:.3f}], {row.n:,}"


def table(part: Part) -> Iterator[str]:
    """Yield the lines of a run's table."""
    outcomes = part.outcomes
    kept = ~np.isin(outcomes.set_id, list(faulty_sets(part.dataset)))
    sets, left = len(set(outcomes.set_id)), len(set(outcomes.set_id[~kept]))
    yield f"\n{part}: {left:,} of {sets:,} sets have a listed fault.\n"
    if left:
        yield "| metric | sentences | all, n | without faults, n |"
        yield "|---|---|---|---|"
        fewer = main_scores(part, outcomes.take(kept))
        for (metric, kind), row in main_scores(part, outcomes).items():
            yield f"| `{metric}` | {kind} | {shown(row)} | {shown(fewer.get((metric, kind)))} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="*", type=Path)
    chosen = parsed(parser)
    with tempfile.TemporaryDirectory() as folder:
        if chosen.smoke and not chosen.runs:
            chosen.runs = [audit(PlantedEngine(noise=1.0), "builtin", limit=20, out=folder, resamples=50).path]
        for run in chosen.runs:
            for part in Run(run).parts:
                print("\n".join(table(part)), flush=True)


if __name__ == "__main__":
    main()
