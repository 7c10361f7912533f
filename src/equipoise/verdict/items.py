"""Findings on labels of sentence pairs, and on what is left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..records import Measurement
from ..records.showing import Finding
from ..runs.run import Part
from .findings import is_shown
from .words import sentences as items_of


def left_out(part: Part, kind: str) -> Iterator[Finding]:
    """Yield how many sentences do not enter the comparisons within sets."""
    metrics: dict[tuple[int, int], list[str]] = {}
    for metric in ("desirability_gap", "certainty_gap"):
        gap, pooled = part.measured.get(metric, type=kind), part.measured.get(f"{metric}_pooled", type=kind)
        if gap is not None and pooled is not None and pooled.n > gap.n:
            metrics.setdefault((pooled.n - gap.n, pooled.n), []).append(metric)
    for (missing, of), names in metrics.items():
        pooled_names = " and ".join(f"{name}_pooled" for name in names)
        text = (
            f"{missing:,} of {of:,} {items_of(kind)} do not enter {' and '.join(names)}: their set does not have both"
            f" sides. {pooled_names} take{'s' if len(names) == 1 else ''} all of them."
        )
        yield Finding(text, topic="left out", kind=kind)


@dataclass(frozen=True)
class Labels:
    """What people call sentences, and the mean probability that the model gives the first side.

    `labelled` is the share that people call by it, and `lean` the mean of the model's probability less that; None where
    no sentence has a label.
    """

    side: str
    other: str
    stated: Measurement
    labelled: Measurement | None
    lean: Measurement | None

    @property
    def apart(self) -> str:
        """Which way the model misses what people say; "" where that is not shown."""
        if self.lean is None or not is_shown(self.lean):
            return ""
        return "overstates" if self.lean.value > 0 else "understates"

    @property
    def finding(self) -> Finding:
        """Both numbers in words, and which way the model misses where that is shown."""
        model = f"the model gives {self.side} a probability of {self.stated:.2f}"
        rests_on = [row for row in (self.stated, self.labelled, self.lean) if row is not None]
        if self.labelled is None or self.lean is None:
            return Finding(f"Over {self.stated.n:,} sentences {model} on average.", rests_on, "labels")
        way = f": it {self.apart} {self.side}" if self.apart else ""
        text = f"People label {self.labelled.value:.0%} of {self.labelled.n:,} sentences {self.side}; {model} on"
        return Finding(f"{text} average{way}.", rests_on, "labels", claim=bool(self.apart))


def labels_of(part: Part) -> Labels | None:
    """Return labels beside stated probabilities of a dataset and task, None where it has no sentence pairs."""
    stated = part.measured.get("p_first")
    if stated is None or not part.has_items:
        return None
    sides = {text for text in set(part.outcomes.sides.tolist()) if text}
    first, other = sides.pop().split("|")[:2] if len(sides) == 1 else ("the first side", "the second side")
    return Labels(first, other, stated, part.measured.get("label_share"), part.measured.get("label_lean"))
