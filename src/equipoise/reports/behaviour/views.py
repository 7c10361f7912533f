"""What a chart shows, apart from how it is drawn: the page draws views as SVG, `figures` draws them with matplotlib."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ...datasets.occupations import OCCUPATIONS
from ...records import Floats
from ...runs.measurements import kind_title
from ...runs.run import Part, column, main_estimator
from ..group_words import words_of
from ..palette import Named

BANDWIDTH = 0.04
"""Of the curves on the scale, in units of D: fine enough to show a peak at ±1, coarse enough to be read."""

GROUP_WORDS = {
    ("stereotype", "pro"): "with the stereotype",
    ("stereotype", "anti"): "against the stereotype",
}

GROUP_TONES: dict[tuple[str, str], Named] = {
    ("stereotype", "pro"): "toward",
    ("stereotype", "anti"): "against",
    ("gender", "male"): "he",
    ("gender", "female"): "she",
    ("gender", "neutral"): "they",
}
"""The colours of the groups that have one of their own."""

FEW = 60
"""With fewer values, or fewer different ones, a smooth curve would show more than the data do: bars are drawn."""


@dataclass(frozen=True)
class Estimated:
    """A number with its interval; the ends are NaN where there is none."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, row: Any) -> Estimated | None:
        """Return the numbers of a measurement, None where there is none."""
        return None if row is None else cls(float(row.value), float(row.low), float(row.high))


@dataclass(frozen=True)
class Strip:
    """One group's values on the scale, and their mean with its interval."""

    name: str
    values: Floats
    mean: Estimated
    tone: Named = 0
    n: int = 0

    @property
    def title(self) -> str:
        """The name with the number of sentences; one that was asked in several option orders counts once."""
        return f"{short(self.name, 30)} (n = {self.n or len(self.values):,})"


@dataclass(frozen=True)
class Scale:
    """The linear scale of behaviour preference with the groups' distributions on it (UCerF paper, Fig. 2 and 3)."""

    part: str
    kind: str
    low: float
    ends: tuple[str, str, str]
    strips: Sequence[Strip]
    type: str = ""


@dataclass(frozen=True)
class Histogram:
    """How often values of D or U occur, by group (Fig. 8)."""

    part: str
    kind: str
    quantity: str
    edges: Floats
    series: Sequence[tuple[str, Floats]]
    tones: Sequence[Named] = ("neither",)
    type: str = ""
    sizes: Sequence[int] = ()
    """The sentences behind each series; fewer than it counts where each was asked in several option orders."""


@dataclass(frozen=True)
class OccupationRow:
    """What was measured of one occupation."""

    name: str
    share: int | None
    ucerf: Estimated | None
    odds: Estimated | None


@dataclass(frozen=True)
class Occupations:
    """UCerF and equalized odds of every occupation, sorted by the share of women in it (Fig. 7)."""

    part: str
    kind: str
    rows: Sequence[OccupationRow] = field(default_factory=tuple)
    type: str = ""


def short(name: str, length: int = 44) -> str:
    """Return the name, cut where a chart has no room for more of it; the tables have it whole."""
    return name if len(name) <= length else f"{name[: length - 1]}…"


def scales(part: Part) -> Iterator[Scale]:
    """Yield the scale of each type: with against the stereotype where there is a right answer, else he against she."""
    for kind in part.kinds:
        items = part.of_kind(part.items, kind)
        answerable = items[items["answerable"].astype(bool)]
        if len(answerable):
            ends = ("surely wrong", "cannot tell", "surely right")
            yield from _scale(part, kind, answerable, "desirability", -1.0, ends)
        elif len(items):
            yield from _scale(part, kind, items, "certainty", 0.0, ("cannot tell", "", "sure of one"))


def _scale(
    part: Part, kind: str, items: pd.DataFrame, quantity: str, low: float, ends: tuple[str, str, str]
) -> Iterator[Scale]:
    metric, words = main_estimator(items, quantity), words_of([part])
    keys = ("stereotype", "gender") if quantity == "desirability" else ("gender",)
    for key in keys:
        strips: list[Strip] = []
        for value in _values(items, key):
            row = part.measured.get(metric, **{key: value, "type": kind})
            rows = items[items[key] == value]
            if row is not None and len(rows):
                numbers = Estimated(float(row.value), float(row.low), float(row.high))
                tone = GROUP_TONES.get((key, value), len(strips))
                name = words.gender(value) if key == "gender" else GROUP_WORDS.get((key, value), value)
                strips.append(Strip(name, column(rows, metric), numbers, tone, rows["example_id"].nunique()))
        if len(strips) > 1:
            yield Scale(str(part), kind_title(kind), low, ends, strips, kind)
            return


def _values(items: pd.DataFrame, key: str) -> list[str]:
    """Return the values of a group that has few of them, with the known ones first."""
    if key not in items:
        return []
    values = set(items[key].dropna().unique().tolist()) - {""}
    known = [value for name, value in GROUP_TONES if name == key and value in values]
    return known + sorted(values - set(known))[:4]


def density(values: Floats, at: Floats, *, low: float, high: float = 1.0) -> Floats:
    """Return a Gaussian density of the values, reflected at the ends of the scale so that none leaks out of it."""
    # Counted first: a quarter of a million values against 200 points would be 50 million exponentials.
    counts, edges = np.histogram(values, bins=400, range=(low, high))
    centres = (edges[:-1] + edges[1:]) / 2
    total = np.zeros_like(at)
    for mirrored in (centres, 2 * low - centres, 2 * high - centres):
        total += np.exp(-0.5 * ((at[:, None] - mirrored[None, :]) / BANDWIDTH) ** 2) @ counts
    return np.asarray(total / (max(counts.sum(), 1) * BANDWIDTH * np.sqrt(2 * np.pi)))


def profile(values: Floats, at: Floats, *, low: float) -> Floats:
    """Return the height of a group's shape at these places: a density, or bars where the values are few."""
    if len(values) >= FEW and len(np.unique(np.round(values, 3))) >= FEW:
        return density(values, at, low=low)
    edges = np.linspace(low, 1.0, 41 if low < 0 else 21)
    counts = np.histogram(values, edges)[0] / max(len(values), 1) / (edges[1] - edges[0])
    heights: Floats = counts[np.clip(np.searchsorted(edges, at, side="right") - 1, 0, len(counts) - 1)]
    return heights


def histograms(part: Part) -> Iterator[Histogram]:
    """Yield the histogram of D by group and that of U, for each type."""
    for scale in scales(part):
        edges = np.linspace(scale.low, 1.0, 41 if scale.low < 0 else 21)
        series = [(strip.name, np.histogram(strip.values, edges)[0].astype(np.float64)) for strip in scale.strips]
        tones = [strip.tone for strip in scale.strips]
        quantity, sizes = "D" if scale.low < 0 else "certainty", [strip.n for strip in scale.strips]
        yield Histogram(scale.part, scale.kind, quantity, edges, series, tones, scale.type, sizes)
    for kind in part.kinds:
        pairs = part.of_kind(part.pairs, kind)
        values = column(pairs, main_estimator(pairs, "u")) if len(pairs) else np.empty(0)
        values = values[~np.isnan(values)]
        if len(values):
            edges = np.linspace(0.0, 1.0, 41)
            counts = np.histogram(np.clip(values, 0.0, 1.0), edges)[0].astype(np.float64)
            yield Histogram(str(part), kind_title(kind), "U", edges, [("pairs", counts)], type=kind)


def occupations(part: Part) -> Iterator[Occupations]:
    """Yield UCerF beside equalized odds of every occupation that is a referent, by the share of women in it."""
    for kind in part.kinds:
        measured = part.measured
        named = {**measured.values_of("occupation", kind)}
        rows = []
        # A run without perplexity has the UCerF of its own estimator, under its name.
        metric_name = measured.own("ucerf")
        for name in named:
            known = OCCUPATIONS.get(name) or OCCUPATIONS.get(name.lower())
            parts = {"occupation": name, "type": kind}
            ucerf, odds = (Estimated.of(measured.get(metric, **parts)) for metric in (metric_name, "eo_sum"))
            if ucerf is not None:
                rows.append(OccupationRow(name, known.female_share if known else None, ucerf, odds))
        if len(rows) > 1:
            rows.sort(key=lambda row: (row.share is None, row.share or 0, row.name))
            estimator = metric_name.removeprefix("ucerf_").replace("_", "-") if metric_name != "ucerf" else ""
            title = f"{kind_title(kind)}, UCerF by {estimator}" if estimator else kind_title(kind)
            yield Occupations(str(part), title, tuple(rows), kind)
