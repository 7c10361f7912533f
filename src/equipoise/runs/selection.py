"""Which rows of a run are wanted."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pandas as pd

from ..datasets.selection import Described, chosen


def selected_ids(examples: pd.DataFrame, where: Sequence[str], source: str) -> set[str]:
    """Return the ids of the examples of one dataset that meet one of the conditions."""
    groups = {text: json.loads(text) for text in examples["groups"].unique()}
    paired = examples["set_id"].duplicated(keep=False)
    rows = zip(examples["groups"], examples["candidates"], paired, strict=True)
    described = [
        Described(groups[text], [str(name) for name in candidates], bool(two)) for text, candidates, two in rows
    ]
    return set(examples["id"][chosen(described, where, source)])
