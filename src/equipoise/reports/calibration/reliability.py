"""What reliability diagrams and the occupation figure show, as tables: read from a run's outcomes, no model needed."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from ...metrics import calibration
from ...metrics.sides import predicted_group, side_columns, with_predictions
from ...records import EquipoiseError, Outcomes

COLUMNS = ("group", *calibration.ReliabilityBin.COLUMNS)


def reliability_table(outcomes: Outcomes, *, by: str = "", bins: int = 10, level: float = 0.95) -> pd.DataFrame:
    """Return the bins of all labelled sentence pairs and of each group (by default the predicted side)."""
    outcomes = with_predictions(outcomes)
    columns = side_columns(outcomes)
    y, p = columns["y"], columns["p"]
    labelled = ~(np.isnan(y) | np.isnan(p))
    if not labelled.any():
        return pd.DataFrame(columns=list(COLUMNS))
    key = by or predicted_group(outcomes)
    if key not in outcomes.groups:
        raise EquipoiseError(f"no item has a group {key!r}; known groups: {', '.join(outcomes.groups)}")
    group = outcomes.groups[key]
    rows = {"all": labelled}
    rows |= {f"{key}={name}": labelled & (group == name) for name in sorted(set(group[labelled].tolist()) - {""})}
    return pd.DataFrame(
        [
            {"group": name, **filled_bin.row()}
            for name, chosen in rows.items()
            for filled_bin in calibration.reliability(y[chosen], p[chosen], bins=bins, level=level)
        ]
    )


def occupation_table(outcomes: Outcomes, examples: pd.DataFrame) -> pd.DataFrame:
    """Return each occupation's share of men in the workforce, and the mean P(male) with a 95% interval where n > 1.

    Occupations whose share is not on record, and items that are not sentence pairs, are left out.
    """
    slots = {id: json.loads(text) for id, text in zip(examples["id"], examples["slots"], strict=True)}
    shares = [slots.get(id, {}).get("female_share") for id in outcomes.example_id]
    table = pd.DataFrame(
        {"occupation": outcomes.group("occupation"), "share": shares, "p": side_columns(outcomes)["p"]}
    )
    table = table[(table["occupation"] != "") & table["share"].notna() & table["p"].notna()]
    table["men"] = 1 - table["share"].astype(float) / 100
    by_occupation = table.groupby("occupation").agg(
        men=("men", "first"), p=("p", "mean"), sd=("p", "std"), n=("p", "size")
    )
    half = 1.96 * by_occupation["sd"] / np.sqrt(by_occupation["n"])
    by_occupation["low"], by_occupation["high"] = (
        (by_occupation["p"] - half).clip(0, 1),
        (by_occupation["p"] + half).clip(0, 1),
    )
    return by_occupation.drop(columns="sd").reset_index().sort_values("men", ignore_index=True)
