"""What a comparison shows of each run apart from its measurements: single values, and true positives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..measuring.items import Items
from ..records import Estimate, Floats
from ..runs.run import Part, Run, remembered


def parts_of(runs: Sequence[Run], dataset: str, task: str) -> list[Part]:
    """Return the part of each run that is of a dataset and task."""
    return [part for run in runs for part in run.parts if (part.dataset, part.task) == (dataset, task)]


@remembered
def items_of(part: Part) -> Items:
    """Return what can be computed of the answers of a part, once for all that ask for it."""
    return Items(part.outcomes)


def values(part: Part, kind: str, quantity: str) -> Floats:
    """Return D of sentences with a right answer, the certainty of those without, or U of sets, where it is known."""
    if bool((part.outcomes.sides != "").any()) or kind not in part.kinds:
        return np.empty(0)
    if quantity == "U":
        known = part.numbers("pairs.parquet", "u", kind)
    else:
        known = part.numbers("outcomes.parquet", "desirability" if quantity == "D" else "certainty", kind)
        known = known[part.answerable(kind) == (quantity == "D")]
    return known[~np.isnan(known)]


def rates(part: Part) -> Iterator[tuple[str, Estimate, Estimate]]:
    """Yield TPR and TPD with and against the stereotype, as they were measured where the text settles the answer."""
    kinds = [kind for kind in part.kinds if part.answerable(kind).any()]
    for side, words in (("pro", "with the stereotype"), ("anti", "against the stereotype")):
        for kind in kinds:
            names = ("tpr", part.measured.own("tpd"))
            rows = [part.measured.get(name, type=kind, stereotype=side) for name in names]
            known = [row.estimate for row in rows if row is not None and not np.isnan(row.value)]
            if len(known) == len(names):
                yield words, known[0], known[1]
