"""What the tables of a run hold of every item and of every counterfactual set, beyond its probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..metrics.naming import suffix
from ..metrics.sides import side_columns
from ..records import ABSENT
from ..uncertainty import Estimator
from .columns import Columns
from .items import Items


def item_columns(items: Items, estimators: Sequence[Estimator]) -> Columns:
    """Return what `outcomes.parquet` holds besides the probabilities."""
    derived: dict[str, Any] = {name: items.shared[name] for name in ("correct", "perplexity", "candidate_mass")}
    for estimator in estimators:
        columns = items.columns(estimator)
        derived |= {name + suffix(estimator.name): columns[name] for name in ("certainty", "desirability")}
    if (items.outcomes.sides != "").any():
        sides = side_columns(items.outcomes)
        derived |= {name: sides[name] for name in ("y", "p", "predicted_side")}
    return derived


def set_columns(items: Items, estimators: Sequence[Estimator]) -> Columns:
    """Return what `pairs.parquet` holds: D and certainty of each member of every counterfactual set, and its U."""
    outcomes, members = items.outcomes, items.members
    first = members[:, 0]
    table: dict[str, Any] = {
        "set_id": outcomes.set_id[first],
        "cluster_id": outcomes.cluster_id[first],
        "variant": outcomes.variant[first],
    }
    for name in ("type", "occupation", "other"):
        table[name] = outcomes.group(name)[first]
    gender = outcomes.group("gender")
    gender = gender if (gender != "").any() else outcomes.group("group")
    sides = sorted(set(gender[members[members != ABSENT]].tolist()) - {""})
    places = {side: (members != ABSENT) & (gender[members] == side) for side in sides}
    for estimator in estimators:
        columns = items.columns(estimator)
        for short, name in (("d", "desirability"), ("c", "certainty")):
            for side, inside in places.items():
                rows = members[np.arange(len(members)), inside.argmax(axis=1)]
                values = np.where(inside.any(axis=1), columns[name][rows], np.nan)
                table[f"{short}_{side}{suffix(estimator.name)}"] = values
        for name in ("u", "u_eq3", "u_signed"):
            table[name + suffix(estimator.name)] = columns[name][first]
    return table
