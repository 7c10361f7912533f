"""The rows of pairs of groups by name, in sets of more than two (measuring/group_pairs.py)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ..groups import mean
from ..metric import Metric

_pair = partial(Metric, function=mean, better="neither", unit="pair")


def _rows() -> Iterator[Metric]:
    for column, reach in (("certainty", 1.0), ("desirability", 2.0)):
        name, title = f"{column}_difference", f"{column.capitalize()} difference"
        summary = f"{column} with the first - with the second group of a pair; 0 is best"
        yield _pair(name=name, inputs=(f"{column}_apart",), label=title, summary=summary, bounds=(-reach, reach))
        for ending, correction in (("p", ""), ("p_holm", ", corrected for all pairs (Holm)")):
            yield _pair(
                name=f"{name}_{ending}",
                inputs=(),
                label=f"{title}, p-value",
                summary=f"p-value of 'the two groups do not differ in {column}'{correction}",
                bounds=(0, 1),
                resampled=False,
            )


GROUP_PAIRS = tuple(_rows())
