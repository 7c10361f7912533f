"""The numbers that the papers print (`published.csv`), and what does not fit in them (`errata.toml`)."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from .. import packaged
from ..records import group_label
from ..topics.published import PublishedValue


@dataclass(frozen=True, slots=True)
class Published:
    """A printed number: where it is, whose it is, what it is of, and the erratum that it falls under ("" for none).

    `gender` also holds pro and anti. `printed` is the number as printed, with all its digits.
    """

    paper: str
    place: str
    model: str
    dataset: str
    task: str
    type: str
    augmentation: str
    attribute: str
    gender: str
    metric: str
    printed: str
    doubt: str

    @property
    def value(self) -> float:
        """The number."""
        return float(self.printed)

    @property
    def cell(self) -> tuple[str, ...]:
        """What the number is of, whoever's it is."""
        return (self.dataset, self.task, self.type, self.augmentation, self.attribute, self.gender, self.metric)

    @property
    def groups(self) -> dict[str, str]:
        """The group that the number is of, as measurements name it."""
        if self.dataset == "bbq":
            return {"category": self.attribute}
        gender = "predicted_gender" if self.paper == "gender-ece" else "gender"
        parts = {"type": self.type, "augmentation": self.augmentation, "attribute": self.attribute, gender: self.gender}
        return {name: value for name, value in parts.items() if value}


@dataclass(frozen=True, slots=True)
class Erratum:
    """Something that does not fit in a paper's numbers."""

    place: str
    text: str


@cache
def published() -> Sequence[Published]:
    """Return every printed number, in the order of the papers."""
    lines = packaged.text(__package__, "published.csv").splitlines()
    return [Published(*row) for row in list(csv.reader(lines))[1:]]


def published_values(paper: str) -> list[PublishedValue]:
    """Return the printed numbers of a paper as a page shows them beside those of runs."""
    values = []
    for number in published():
        if number.paper == paper:
            about = (number.dataset, number.task, group_label(number.groups), number.metric, number.printed)
            doubt = ERRATA[number.doubt].text if number.doubt else ""
            values.append(PublishedValue(f"{paper}-paper, {number.place}", number.model, *about, doubt))
    return values


ERRATA: Mapping[str, Erratum] = {
    name: Erratum(**fields) for name, fields in packaged.toml(__package__, "errata.toml").items()
}
"""Name -> erratum."""
