"""Recompute the Gender-ECE poster from its authors' per-item outputs; prints the tables of docs/reproduction.md.

python benchmarks/reproduction.py FILE.csv [FILE.csv …]      (any of the six models; needs no model)
"""

from __future__ import annotations

import argparse
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd

from equipoise.measuring.measure import Plan, measure, measured_items
from equipoise.metrics.table.calibration import CALIBRATION
from equipoise.records import RunKey
from equipoise.runs.imported import read_results
from equipoise.runs.imported.per_item import Results

CELLS = ("ece", "macroce", "ice", "brier_published", "gender_ece", "male", "female", "human_alignment")
FAMILIES = ("gptj", "llama", "gemma", "qwen", "falcon", "deepseek")


def family(name: str) -> str:
    """Return which of the poster's models a file's name means: Qwen2_5-7B is Qwen2.5-7B, Deepseek-R1-8B DeepSeek-8B."""
    plain = re.sub(r"[^a-z]", "", name.lower())
    # DeepSeek's full name ends in the Llama it was made from.
    return next((one for one in reversed(FAMILIES) if one in plain), plain)


def values(found: Results, resamples: int) -> dict[str, tuple[float, float, float]]:
    plan = Plan(CALIBRATION, by=["predicted_gender"], resamples=resamples)
    rows, _ = measure(measured_items(found.outcomes, plan), plan, RunKey(found.model, found.dataset.name, found.task))
    cells = {row.metric: row.estimate for row in rows if row.group == "all"}
    cells |= {row.group.partition("=")[2]: row.estimate for row in rows if row.metric == "ece" and row.group != "all"}
    table = {name: (one.value, one.low, one.high) for name, one in cells.items()}
    mass = np.exp(found.outcomes.logprobs).sum(axis=1)
    return {**table, "mass": (float(np.median(mass)), math.nan, math.nan)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--resamples", type=int, default=2000)
    chosen = parser.parse_args()
    poster = pd.read_csv(Path(__file__).with_name("gender_ece_poster.csv"))
    poster["family"] = poster["model"].map(family)
    _row("dataset", "model", "cell", "printed", "here", "truncated", "match")
    _row(*["---"] * 7)
    strict, matches, total = [], 0, 0
    for file in chosen.files:
        (found,) = read_results(file, format="gender-ece")
        here, dataset = values(found, chosen.resamples), found.dataset.name
        row = poster[(poster["family"] == family(found.model)) & (poster["dataset"] == dataset)].iloc[0]
        for cell in CELLS:
            if pd.isna(row[cell]):
                continue
            value = here[cell][0]
            truncated = math.floor(1000 * value) / 1000
            total, matches = total + 1, matches + (truncated == row[cell])
            name = {"male": "ECE, male", "female": "ECE, female"}.get(cell, f"`{cell}`")
            same = "yes" if truncated == row[cell] else "**no**"
            _row(dataset, row["model"], name, f"{row[cell]:.3f}", f"{value:.6f}", f"{truncated:.3f}", same)
        strict.append((dataset, row["model"], here, len(found.outcomes)))
    print(f"\n{matches} of {total} cells come out.\n")
    names = ("ece", "ece_debiased", "gender_ece_gap", "brier")
    _row("dataset", "model", "n", *(f"`{name}`" for name in names), "`ece_floor`", "printed Brier", "median mass")
    _row(*["---"] * 10)
    for dataset, model, here, n in strict:
        spans = ["{:.3f} [{:.3f}, {:.3f}]".format(*here[name]) for name in names]
        rest = (f"{here['ece_floor'][0]:.3f}", f"{here['brier_published'][0]:.3f}", f"{here['mass'][0]:.2g}")
        _row(dataset, model, str(n), *spans, *rest)


def _row(*cells: str) -> None:
    print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
