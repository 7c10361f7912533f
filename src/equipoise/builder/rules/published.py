"""The filter applied to a published dataset: its sentences as drafts, and our counterparts against its own."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from ...datasets import Dataset
from ...records import Example
from ..steps import Draft
from .counterparts import Unresolved, counterpart


@dataclass(frozen=True, slots=True)
class Swapped:
    """How often our counterpart equals the dataset's, for one pronoun."""

    pronoun: str
    pairs: int
    equal: int
    other: int
    aside: int

    @property
    def share(self) -> float:
        """The share of equal counterparts among those made; sentences set aside do not count."""
        made = self.equal + self.other
        return self.equal / made if made else float("nan")


def drafts_of_dataset(dataset: Dataset) -> list[Draft]:
    """Return the sentences of a dataset as drafts; the target is the right answer, or the first person."""
    drafts = []
    for example in dataset.examples:
        target = example.candidates[example.gold or 0]
        other = next(name for name in example.candidates if name != target)
        kind = example.groups.get("type") or ("type2" if example.answerable else "type1")
        drafts.append(Draft(example.id, kind, target, other, example.text, example.text, dataset.name))
    return drafts


def swapped(dataset: Dataset) -> list[Swapped]:
    """Return how often swapping a pronoun gives the sentence that the dataset pairs with it, for each pronoun."""
    pairs: Counter[str] = Counter()
    outcomes: dict[str, Counter[str]] = defaultdict(Counter)
    for example, partner in _paired(dataset):
        pronoun = example.slots["pronoun"]
        pairs[pronoun] += 1
        try:
            ours = counterpart(example.text).text
        except Unresolved:
            outcomes[pronoun]["aside"] += 1
        else:
            outcomes[pronoun]["equal" if ours == partner.text else "other"] += 1
    return [
        Swapped(pronoun, pairs[pronoun], counts["equal"], counts["other"], counts["aside"])
        for pronoun, counts in sorted(outcomes.items())
    ]


def _paired(dataset: Dataset) -> Iterator[tuple[Example, Example]]:
    """Yield both examples of every minimal pair, each with its partner."""
    sets: dict[str, list[Example]] = defaultdict(list)
    for example in dataset.examples:
        sets[example.set_id].append(example)
    for members in sets.values():
        if len(members) == 2 and all("pronoun" in member.slots for member in members):
            yield members[0], members[1]
            yield members[1], members[0]
