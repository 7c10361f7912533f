"""Which identities were asked: types, ways to mark a sentence, attributes, markers and genders, and their values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..records import Measurement
from ..runs.measurements import Measurements, kind_title, ordered_kinds
from ..runs.run import Part, Run, remembered

NONE = "none"
"""The augmentation of a sentence without a marker."""
WAYS = {"R": "marker on the referent (R)", "NR": "marker on the other person (NR)", "C": "contrasting markers (C)"}
WITH = {way: f"with {'' if way == 'C' else 'a '}{marked}" for way, marked in WAYS.items()}
"""The ways to mark a sentence, as part of another sentence."""
GENDERS = {"female": "fem", "male": "masc", "neutral": "they"}

NON_DEMOGRAPHIC = "non-demographic"
"""The attribute of markers such as "focused". Its row is the mean gap between he and she, as in the paper's Table 2."""

Named = Mapping[str, Part]
"""Parts of runs with marked sentences, each with the name of its line in a chart (`named_parts`)."""


class Subgroup(NamedTuple):
    """People who are marked in one way; without a marker its augmentation is `NONE`."""

    way: str
    attribute: str
    marker: str
    gender: str

    @property
    def name(self) -> str:
        """The marker and gender: "old fem"."""
        return f"{self.marker} {GENDERS.get(self.gender, self.gender)}".strip() or "no marker"

    @property
    def rim_name(self) -> str:
        """The same on the rim of a radar: "fem: old"."""
        gender, marker = GENDERS.get(self.gender, self.gender), self.marker or "no marker"
        return f"{gender}: {marker}" if gender else marker


class Subgroups:
    """The identities that a run was asked about on one dataset and task, in the order of its measurements."""

    def __init__(self, measured: Measurements) -> None:
        self.measured = measured
        self._markers: dict[tuple[str, str], dict[str, dict[str, None]]] = {}
        genders: dict[str, None] = {}
        jobs: dict[str, None] = {}
        for parts in measured.groups.values():
            if "augmentation" in parts:
                genders |= dict.fromkeys([parts["gender"]] if "gender" in parts else [])
                jobs |= dict.fromkeys([parts["occupation"]] if "occupation" in parts else [])
            if "augmentation" in parts and "marker" in parts:
                of_way = self._markers.setdefault((parts.get("type", ""), parts["augmentation"]), {})
                of_way.setdefault(parts["attribute"], {})[parts["marker"]] = None
        self.genders = sorted(genders, key=lambda gender: [*GENDERS, gender].index(gender)) or [""]
        self.occupations = list(jobs)

    @property
    def kinds(self) -> list[str]:
        """The types that have marked sentences, resolvable first; [] without marked sentences."""
        return ordered_kinds({kind for kind, _ in self._markers}) if self._markers else []

    def ways(self, kind: str) -> list[str]:
        """Return the ways in which sentences of a type were marked."""
        return [way for way in WAYS if (kind, way) in self._markers]

    def markers(self, kind: str, way: str) -> dict[str, list[str]]:
        """Return each attribute with its markers."""
        return {attribute: list(markers) for attribute, markers in self._markers.get((kind, way), {}).items()}

    def marked(self, kind: str, way: str, attribute: str = "") -> Iterator[Subgroup]:
        """Yield of each gender the unmarked subgroup, then those of an attribute's markers; of all without a name."""
        for gender in self.genders:
            yield Subgroup(NONE, "", "", gender)
            for name, markers in self.markers(kind, way).items():
                if attribute in ("", name):
                    yield from (Subgroup(way, name, marker, gender) for marker in markers)

    def confidence(self, kind: str, subgroup: Subgroup, occupation: str = "") -> Measurement | None:
        """Return the mean confidence of a subgroup; None where it was not asked."""
        way, attribute, marker, gender = subgroup
        parts = {"attribute": attribute, "marker": marker, "gender": gender, "occupation": occupation}
        return self.measured.get("confidence", type=kind, augmentation=way, **parts)


@remembered
def subgroups(part: Part) -> Subgroups:
    """Return the identities of a part of a run."""
    return Subgroups(part.measured)


def main_disparity(attribute: str) -> str:
    """Return the metric of an attribute's row: max - min over its subgroups, or the mean gap of he and she."""
    return "confidence_gender_gap" if attribute == NON_DEMOGRAPHIC else "confidence_disparity"


def row_title(attribute: str) -> str:
    """Return the name of an attribute's row; it says where the row is not max - min."""
    return f"{attribute} (mean of |he - she|)" if attribute == NON_DEMOGRAPHIC else attribute


def titled(what: str, kind: str, way: str = "") -> str:
    """Return a title: what is shown, of which type, and how the sentences are marked."""
    return ", ".join(filter(None, [what, kind_title(kind), WAYS.get(way, "")]))


def capital(words: str) -> str:
    """Return words as a sentence begins."""
    return words[:1].upper() + words[1:]


def named_parts(runs: Sequence[Run]) -> dict[str, Part]:
    """Return all parts with marked sentences: by the run's name, and the task's or dataset's where there are several.

    The runs must have different names.
    """
    parts = [part for run in runs for part in run.parts if subgroups(part).kinds]
    several = len({(part.dataset, part.task) for part in parts}) > 1
    datasets = len({part.dataset for part in parts})
    named = ((part, part.task if datasets == 1 else str(part)) for part in parts)
    return {f"{part.run.name} · {what}" if several else part.run.name: part for part, what in named}
