"""Which faults a loader found, counted and by line."""

from __future__ import annotations

from collections import Counter

from equipoise.datasets.dataset import Dataset


def kinds(dataset: Dataset) -> Counter[str]:
    return Counter(fault.kind for fault in dataset.faults)


def lines_with(dataset: Dataset, kind: str) -> set[tuple[str, int]]:
    """Return (file without pro/anti, line) of all faults of that kind."""
    places = [fault.where.rsplit(":", 1) for fault in dataset.faults if fault.kind == kind]
    return {(file.split("_stereotyped_")[-1], int(line)) for file, line in places}
