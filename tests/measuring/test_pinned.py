"""No number moves unnoticed: what planted models give is pinned, metric by metric. A new metric need not be pinned.

`python tests/measuring/test_pinned.py` writes the pinned numbers again. Do this only where a change of numbers is
wanted, and say so under **Numbers** in CHANGELOG.md.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

import equipoise

MODEL = "planted:strength=1.5,bias=0.7,noise=1"
JOBS = ("nurse", "driver", "baker", "clerk", "guard")
PAIRS = [
    {
        "sent_more": f"The {JOBS[row % 5]} number {row} said he was late.",
        "sent_less": f"The {JOBS[row % 5]} number {row} said she was late.",
        "y": int(row % 3 > 0),
        "bias_type": ("age", "", "race")[row % 3 if row % 4 else 0],
    }
    for row in range(40)
]
AUDITS: dict[str, dict[str, Any]] = {
    "coreference": {
        "task": ["next-word", "mcq"],
        "orders": 2,
        "limit": 24,
        "estimators": ["perplexity", "fisher-rao"],
        "resamples": 40,
    },
    "many": {"limit": 240, "by": ["gender", "stereotype"], "resamples": 40},
    "markers": {
        "data": "winoidentity",
        "base": "builtin",
        "attributes": ["disability", "non-demographic"],
        "limit": 40,
        "resamples": 40,
    },
    "calibration": {"data": PAIRS, "task": "cloze", "resamples": 40},
}
PINNED = Path(__file__).parent / "pinned"


def sums(name: str, folder: Path) -> dict[str, list[float]]:
    """Return for each metric of an audit: its rows, and the sums of its numbers, weighted by place among the groups."""
    run = equipoise.audit(MODEL, out=folder / name, progress=False, **AUDITS[name])
    frame = run.measurements.sort_values(["metric", "task", "group"], ignore_index=True)
    weights = 1 + frame.groupby("metric").cumcount() % 7
    columns = ["n", "value", "low", "high", "p", "p_corrected"]
    numbers = frame[columns].astype(float).fillna(1000).mul(weights, axis=0)
    totals = numbers.groupby(frame["metric"]).sum()
    rows = frame["metric"].value_counts()
    return {metric: [float(rows[metric]), *totals.loc[metric].round(10)] for metric in rows.index}


@pytest.mark.slow
@pytest.mark.parametrize("name", AUDITS)
def test_planted_audits_give_the_pinned_numbers(name: str, tmp_path: Path) -> None:
    pinned = json.loads((PINNED / f"{name}.json").read_text(encoding="utf-8"))
    measured = sums(name, tmp_path)
    assert measured.keys() >= pinned.keys(), "a metric of before is not measured any more"
    # Resamples are summed in large products: their rounding depends on the machine and on the other metrics.
    moved = {metric for metric in pinned if measured[metric] != pytest.approx(pinned[metric], rel=1e-5, abs=1e-5)}
    assert not moved


if __name__ == "__main__":
    for chosen in sys.argv[1:] or AUDITS:
        with tempfile.TemporaryDirectory() as scratch:
            table = sums(chosen, Path(scratch))
        lines = (f"{json.dumps(metric)}: {json.dumps(numbers)}" for metric, numbers in sorted(table.items()))
        PINNED.mkdir(exist_ok=True)
        (PINNED / f"{chosen}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
