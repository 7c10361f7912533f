"""Where a model's answers lie on the scale of behaviour: desirability, certainty and U, by group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from ..comparing.values import values as values_of
from ..records import Floats, Measurement
from ..records.showing import (
    Axis,
    Bar,
    Chart,
    Column,
    Dot,
    Key,
    Line,
    Panel,
    Point,
    Row,
    Section,
    Table,
    Tone,
    cases_link,
)
from ..runs.measurements import kind_title
from ..runs.run import Part, Run
from ..runs.tables import column, main_estimator
from ..verdict.words import words_of

BANDWIDTH = 0.04
"""Of the curves on the scale, in units of D: fine enough to show a peak at ±1, coarse enough to be read."""

FEW = 60
"""With fewer values, or fewer different ones, a smooth curve would show more than the data do: bars are drawn."""

GROUP_WORDS = {("stereotype", "pro"): "with the stereotype", ("stereotype", "anti"): "against the stereotype"}

GROUP_TONES: dict[tuple[str, str], Tone] = {
    ("stereotype", "pro"): "toward",
    ("stereotype", "anti"): "against",
    ("gender", "male"): "he",
    ("gender", "female"): "she",
    ("gender", "neutral"): "they",
}
"""The colours of the groups that have one of their own."""


@dataclass(frozen=True)
class Strip:
    """One group's values on the scale, and their mean with its interval."""

    name: str
    values: Floats
    mean: Measurement
    tone: Tone
    n: int


@dataclass(frozen=True)
class Scale:
    """The groups of a type on the linear scale of behaviour preference (UCerF paper, Fig. 2 and 3)."""

    part: Part
    kind: str
    quantity: str
    strips: Sequence[Strip]

    @property
    def axis(self) -> Axis:
        """Desirability from surely wrong to surely right or, where nothing is right, certainty."""
        if self.quantity == "D":
            return Axis("desirability D", -1.0, 1.0, ends=("surely wrong", "cannot tell", "surely right"))
        return Axis("certainty c", 0.0, 1.0, ends=("cannot tell", "", "sure of one"))


def scales(part: Part) -> Iterator[Scale]:
    """Yield the groups of each type: with and against the stereotype where there is a right answer, else he and she."""
    values = [main_estimator(part.items, name) for name in ("desirability", "certainty")]
    read = {"example_id", "type", "answerable", "stereotype", "gender", *values}
    chosen = part.items[[name for name in part.items if name in read]]  # not to copy all columns of a million rows
    for kind in part.kinds:
        items = part.of_kind(chosen, kind)
        answerable = items[items["answerable"].astype(bool)]
        if len(answerable):
            yield from _scale(part, kind, answerable, "D", ("stereotype", "gender"))
        else:
            yield from _scale(part, kind, items, "certainty", ("gender",))


def _scale(part: Part, kind: str, items: pd.DataFrame, quantity: str, keys: Sequence[str]) -> Iterator[Scale]:
    metric, words = main_estimator(items, "desirability" if quantity == "D" else quantity), words_of([part])
    for key in keys:
        strips: list[Strip] = []
        for value in _values(items, key):
            row = part.measured.get(metric, **{key: value, "type": kind})
            rows = items[items[key] == value]
            if row is not None and len(rows):
                tone = GROUP_TONES.get((key, value), len(strips))
                name = words.gender(value) if key == "gender" else GROUP_WORDS.get((key, value), value)
                strips.append(Strip(name, column(rows, metric), row, tone, rows["example_id"].nunique()))
        if len(strips) > 1:
            yield Scale(part, kind, quantity, strips)
            return


def _values(items: pd.DataFrame, key: str) -> list[str]:
    """Return the values of a group that has few of them, with the known ones first."""
    if key not in items:
        return []
    values = set(items[key].dropna().unique().tolist()) - {""}
    known = [value for name, value in GROUP_TONES if name == key and value in values]
    return known + sorted(values - set(known))[:4]


def scale_chart(scale: Scale) -> Chart:
    """Return a curve for each group with its mean and interval, over the scale itself."""
    low = scale.axis.low
    at = np.linspace(low, 1.0, 241)
    curves = [profile(strip.values, at, low=low) for strip in scale.strips]
    top = max(float(curve.max()) for curve in curves)
    panels = []
    for strip, curve in zip(scale.strips, curves, strict=True):
        points = [(float(x), float(y)) for x, y in zip(at, curve, strict=True)]
        mean = Dot(strip.mean.estimate, -0.12 * top, strip.tone, label=strip.name)
        title = f"{strip.name} (n = {strip.n:,}): {strip.mean}"
        # The mean is under the curve, where it hides nothing of it.
        y = Axis(low=-0.25 * top, high=1.02 * top, hidden=True)
        panels.append(Panel([Line(points, strip.tone, filled=True), mean], scale.axis, y, title, height=0.15))
    means = [strip.mean.value for strip in scale.strips]
    bar = [
        Bar((x, x + (1 - low) / 24), (0.0, 1.0), _side(scale, x), strength=0.12 + 0.8 * abs(x + (1 - low) / 48))
        for x in np.linspace(low, 1.0, 25)[:-1].tolist()
    ]
    dots = [Dot(strip.mean.value, 1.6, strip.tone, small=True) for strip in scale.strips]
    panels.append(Panel([*bar, *dots], scale.axis, Axis(low=0.0, high=2.2, hidden=True), height=0.04))
    caption = f"The means of the groups differ by {max(means) - min(means):.3f}."
    title, about = scale.part.title(scale.kind), scale.part.about(scale.kind)
    return Chart(title, panels, "scale", about, caption=caption, data=_scale_table(scale))


def _side(scale: Scale, x: float) -> Tone:
    return "neither" if scale.quantity != "D" else "right" if x >= -1e-9 else "wrong"


def _scale_table(scale: Scale) -> Table:
    rows = []
    for strip in scale.strips:
        quartiles = np.quantile(strip.values, (0.25, 0.5, 0.75)).tolist()
        rows.append(Row((strip.name, strip.mean, *quartiles)))
    titles = ("group", "mean", "lower quartile", "median", "upper quartile")
    return Table("", [Column(title, words=not at) for at, title in enumerate(titles)], rows)


def density(values: Floats, at: Floats, *, low: float) -> Floats:
    """Return a Gaussian density of the values, reflected at the ends of the scale so that none leaks out of it."""
    # Counted first: a quarter of a million values against 200 points would be 50 million exponentials.
    counts, edges = np.histogram(values, bins=400, range=(low, 1.0))
    centres = (edges[:-1] + edges[1:]) / 2
    total = np.zeros_like(at)
    for mirrored in (centres, 2 * low - centres, 2.0 - centres):
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


@dataclass(frozen=True)
class Series:
    """Values of one group for a histogram, and the number of sentences or sets behind them."""

    name: str
    values: Floats
    tone: Tone
    n: int


def histograms(part: Part) -> Iterator[Chart]:
    """Yield the histogram of D by group and that of U, for each type (Fig. 8)."""
    for scale in scales(part):
        series = [Series(strip.name, strip.values, strip.tone, strip.n) for strip in scale.strips]
        yield histogram(part, scale.kind, scale.quantity, series, scale.axis.low)
    for kind in part.kinds:
        pairs = part.of_kind(part.pairs, kind)
        values = column(pairs, main_estimator(pairs, "u")) if len(pairs) else np.empty(0)
        values = np.clip(values[~np.isnan(values)], 0.0, 1.0)
        if len(values):
            yield histogram(part, kind, "U", [Series("sets", values, "neither", len(values))], 0.0, bins=40)


def histogram(part: Part, kind: str, quantity: str, series: Sequence[Series], low: float, *, bins: int = 0) -> Chart:
    """Return how often values occur, an outline for each group; each step opens its cases."""
    edges = np.linspace(low, 1.0, (bins or (40 if low < 0 else 20)) + 1)
    counted = [np.histogram(group.values, edges)[0] for group in series]
    most = max(float(max(counts)) for counts in counted) * 1.05 or 1.0
    marks: list[Line | Bar] = [
        Line(outline(edges, counts), group.tone, group.name, filled=True)
        for group, counts in zip(series, counted, strict=True)
    ]
    filtered = {"U": "u", "D": "d"}.get(quantity, "c")
    for (left, right), total in zip(pairwise(edges.tolist()), np.sum(counted, axis=0).tolist(), strict=True):
        if total:
            link = cases_link(part=str(part), type=kind, **{filtered: f"{left:.3f}~{right:.3f}"})
            label = f"{left:.2f} to {right:.2f}: {total:,}"
            marks.append(Bar((left, right), (0.0, most), label=label, link=link, strength=0.0))
    unit = "sets" if quantity == "U" else "sentences"
    panel = Panel(marks, Axis(quantity, low, 1.0), Axis(unit, 0.0, most), height=0.4)
    keys = [Key(f"{group.name} ({_size(group)})", group.tone) for group in series] if len(series) > 1 else []
    about, data = {"quantity": quantity, **part.about(kind)}, _bins(quantity, edges, series, counted)
    return Chart(f"{quantity}: {part.title(kind)}", [panel], "histogram", about, keys, data=data)


def dataset_spreads(runs: Sequence[Run]) -> Iterator[Chart]:
    """Yield D and U of each model, dataset over dataset (Fig. 8), from one run or from a run for each dataset."""
    parts: dict[tuple[str, str], dict[str, Part]] = {}
    for run in runs:
        for part in run.parts:
            parts.setdefault((run.name, part.task), {})[part.dataset] = part
    for (name, task), by_dataset in parts.items():
        yield from spreads_of(by_dataset, "spread-of-datasets", {"run": name, "task": task})


def spreads_apart(runs: Sequence[Run]) -> list[Chart]:
    """Return D and U of runs that share no dataset; empty where two share one, or no model has two."""
    datasets = [name for run in runs for name in run.manifest.datasets]
    return list(dataset_spreads(runs)) if len(set(datasets)) == len(datasets) else []


def spreads_of(parts: Mapping[str, Part], topic: str, about: Mapping[str, str]) -> Iterator[Chart]:
    """Yield the distributions of each type that several of the parts have."""
    for kind in dict.fromkeys(kind for part in parts.values() for kind in part.kinds):
        for quantity in ("D", "certainty", "U"):
            series = {name: values_of(part, kind, quantity) for name, part in parts.items()}
            known = {name: several for name, several in series.items() if len(several)}
            if len(known) > 1:
                title = f"{quantity}: {' · '.join(about.values())}, {kind_title(kind)}"
                yield spread_chart(title, known, topic, {"quantity": quantity, **about, "type": kind})


def spread_chart(title: str, series: Mapping[str, Floats], topic: str, about: Mapping[str, str]) -> Chart:
    """Return an outline for each series: the share of its values in each bin."""
    quantity = about["quantity"]
    edges = np.linspace(-1.0, 1.0, 41) if quantity == "D" else np.linspace(0.0, 1.0, 21)
    shares = [np.histogram(np.clip(several, edges[0], 1.0), edges)[0] / len(several) for several in series.values()]
    marks = [
        Line(outline(edges, share), number, name, filled=True)
        for number, (name, share) in enumerate(zip(series, shares, strict=True))
    ]
    up = Axis("share", 0.0, 1.05 * max(float(share.max()) for share in shares), unit="%")
    panel = Panel(marks, Axis(quantity, float(edges[0]), 1.0), up, height=0.4)
    keys = [
        Key(f"{name}: mean {several.mean():.3f} (n = {len(several):,})", number)
        for number, (name, several) in enumerate(series.items())
    ]
    rows = [
        Row((f"{left:.3f} to {right:.3f}", *several))
        for left, right, *several in zip(edges[:-1], edges[1:], *shares, strict=True)
        if any(several)
    ]
    data = Table("", [Column(quantity, words=True), *(Column(name, form=".1%") for name in series)], rows)
    return Chart(title, [panel], topic, about, keys, data=data)


def outline(edges: Floats, heights: Sequence[float] | Floats) -> list[Point]:
    """Return the outline of a histogram, from its first edge to its last along the base line."""
    points: list[Point] = [(float(edges[0]), 0.0)]
    for left, right, height in zip(edges[:-1], edges[1:], heights, strict=True):
        points += [(float(left), float(height)), (float(right), float(height))]
    return [*points, (float(edges[-1]), 0.0)]


def _size(series: Series) -> str:
    """Return n of a series in words: sentences, and how many answers they gave where that is more."""
    answers = len(series.values)
    return f"n = {series.n:,}" if series.n == answers else f"n = {series.n:,}, {answers:,} answers"


def _bins(quantity: str, edges: Floats, series: Sequence[Series], counted: Sequence[Floats]) -> Table:
    columns = [Column(quantity, words=True), *(Column(group.name) for group in series)]
    rows = [
        Row((f"{left:.3f} to {right:.3f}", *(int(number) for number in numbers)))
        for left, right, *numbers in zip(edges[:-1], edges[1:], *counted, strict=True)
        if any(numbers)
    ]
    return Table("", columns, rows)


def scale_section(run: Run) -> Section | None:
    """Return the linear scale of behaviour preference with the groups' distributions on it."""
    charts = [scale_chart(scale) for part in run.parts for scale in scales(part)]
    intro = (
        "Every answer has a place on one scale (D): from surely wrong over “cannot tell” to surely right. If the curves"
        " of two groups lie apart, their answers differ here; the findings say which differences are more than chance."
        " Where no answer is right, only certainty is compared. Dots are means, lines their intervals."
    )
    return Section("The scale of behaviour", charts, "scale", "Scale", intro) if charts else None


def dataset_section(runs: Sequence[Run]) -> Section:
    """Return D and U of each model on one dataset over another; the bars are shares, as datasets differ in size."""
    return Section("D and U on each dataset", list(dataset_spreads(runs)), "spreads", "D and U")


def histogram_section(run: Run) -> Section | None:
    """Return the histograms of D by group and of U."""
    charts = [*dataset_spreads([run]), *(chart for part in run.parts for chart in histograms(part))]
    intro = (
        "D is the place of an answer on the scale of behaviour. U compares the sentences of a set: 1 if they have the"
        " same place, 0 if one is surely right and the other surely wrong."
    )
    return Section("Distribution of D and U", charts, "histograms", "D and U", intro) if charts else None
