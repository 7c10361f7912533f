"""D and U of runs and datasets as histograms, and TPR beside TPD (UCerF paper, Fig. 8 and 5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from markupsafe import Markup

from ...records import Floats
from ...runs.measurements import kind_title
from ...runs.run import Part, Run, all_parts, column, main_estimator
from ...stats.bounded import mean_interval
from ..behaviour.views import Estimated, short
from ..page.rendering import Panel, Section, panels
from ..palette import class_of
from ..svg.drawing import WIDTH, Axis, line, mark, path, picture, steps, text, whisker
from ..svg.values import Values, estimated

TOP, BOTTOM = 28.0, 162.0


@dataclass(frozen=True)
class Spread:
    """The values of D, certainty or U of several runs or datasets, on the same scale."""

    title: str
    quantity: str
    low: float
    series: Sequence[tuple[str, Floats]]

    @property
    def edges(self) -> Floats:
        """The ends of the bins."""
        return np.linspace(self.low, 1.0, 41 if self.low < 0 else 21)

    def shares(self, values: Floats) -> Floats:
        """Return the share of the values in each bin: groups of different sizes can be compared."""
        counts = np.histogram(np.clip(values, self.low, 1.0), self.edges)[0]
        return np.asarray(counts / max(len(values), 1), dtype=np.float64)


@dataclass(frozen=True)
class Rates:
    """The share of right answers and mean desirability, scaled to 0..1, with and against the stereotype."""

    name: str
    group: str
    n: int
    right: Estimated
    desirability: Estimated


def run_spreads(runs: Sequence[Run]) -> Iterator[Spread]:
    """Yield the spreads of each dataset and task, a series for each run that has it."""
    for dataset, task in all_parts(runs):
        parts = [(run.name, part) for run in runs for part in run.parts if (part.dataset, part.task) == (dataset, task)]
        yield from _spreads(f"{dataset} · {task}", parts)


def dataset_spreads(runs: Sequence[Run]) -> Iterator[Spread]:
    """Yield the spreads of each run and task that was asked on several datasets, a series for each dataset."""
    for run in runs:
        for task in dict.fromkeys(part.task for part in run.parts):
            yield from _spreads(
                f"{run.name} · {task}", [(part.dataset, part) for part in run.parts if part.task == task]
            )


def _spreads(title: str, parts: Sequence[tuple[str, Part]]) -> Iterator[Spread]:
    for kind in dict.fromkeys(kind for _, part in parts for kind in part.kinds):
        for quantity in ("D", "certainty", "U"):
            series = [(name, _values(part, kind, quantity)) for name, part in parts]
            known = [(name, values) for name, values in series if len(values)]
            if len(known) > 1:
                yield Spread(f"{title}, {kind_title(kind)}", quantity, -1.0 if quantity == "D" else 0.0, known)


def _values(part: Part, kind: str, quantity: str) -> Floats:
    """Return D of sentences with a right answer, the certainty of those without, or U of sets."""
    if bool((part.outcomes.sides != "").any()) or kind not in part.kinds:
        return np.empty(0)
    if quantity == "U":
        table = part.of_kind(part.pairs, kind)
        values = column(table, main_estimator(table, "u"))
    else:
        table = part.of_kind(part.items, kind)
        table = table[table["answerable"].astype(bool) == (quantity == "D")]
        values = column(table, main_estimator(table, "desirability" if quantity == "D" else "certainty"))
    return values[~np.isnan(values)]


def rates(part: Part, name: str) -> Iterator[Rates]:
    """Yield TPR and TPD with and against the stereotype: positive is the occupation stereotyped as male, as in EO."""
    items = part.items[part.items["answerable"].astype(bool)]
    desirability = main_estimator(items, "desirability")
    if not {"stereotype", "gender", desirability} <= set(items):
        return
    for side, gender in (("pro", "male"), ("anti", "female")):
        rows = items[(items["stereotype"] == side) & (items["gender"] == gender) & items["correct"].notna()]
        if len(rows):
            words = "with the stereotype" if side == "pro" else "against the stereotype"
            right = _mean(rows, rows["correct"], part.run.level)
            scaled = _mean(rows, (rows[desirability] + 1) / 2, part.run.level)
            yield Rates(name, words, len(rows), right, scaled)


def _mean(rows: pd.DataFrame, values: pd.Series, level: float) -> Estimated:
    units = np.asarray(values.astype(float).groupby(rows["cluster_id"].to_numpy()).mean(), dtype=np.float64)
    estimate = mean_interval(units, (0.0, 1.0), level=level)
    return Estimated(estimate.value, estimate.low, estimate.high)


def spread_chart(view: Spread) -> Markup:
    """Return an outline for each series: the share of its values in each bin."""
    x = Axis(view.low, 1.0, 48.0, WIDTH - 12.0)
    shares = [view.shares(values) for _, values in view.series]
    y = Axis(0.0, max(float(share.max()) for share in shares) * 1.05, BOTTOM, TOP)
    parts = [y.beside(x.start, grid_to=x.end), x.below(BOTTOM), text(2, 13, "share", class_="tick")]
    for number, ((name, values), share) in enumerate(zip(view.series, shares, strict=True)):
        outline = steps(view.edges, share, x, y)
        parts += [path(outline, f"area {class_of(number)}", closed=True), path(outline, f"outline {class_of(number)}")]
        foot = BOTTOM + 52 + number * 17
        label = f"{short(name, 36)}: mean {values.mean():.3f} (n = {len(values):,})"
        parts += [mark(x.start + 6, foot - 4, number), text(x.start + 16, foot, label, class_="label")]
    parts.append(text((x.start + x.end) / 2, BOTTOM + 32, view.quantity, anchor="middle", class_="tick"))
    caption = "; ".join(f"{name}: mean {values.mean():.3f} of {len(values):,}" for name, values in view.series)
    title = f"Histograms of {view.quantity}, {view.title}"
    return picture(BOTTOM + 44 + 17 * len(view.series), title, f"{caption}.", parts)


def rates_chart(title: str, several: Sequence[Rates]) -> Markup:
    """Return TPR over TPD for each run and side of the stereotype, with intervals."""
    x, step = Axis(0.0, 1.0, 14.0, WIDTH - 14.0), 66.0
    bottom = 14.0 + step * len(several)
    parts = [x.below(bottom, grid_to=8.0)]
    for number, rate in enumerate(several):
        top = 22.0 + number * step
        parts.append(text(14, top, f"{short(rate.name, 26)}, {rate.group} (n = {rate.n:,})", class_="label"))
        for row, (name, estimate) in enumerate((("TPR", rate.right), ("TPD", rate.desirability))):
            y = top + 14 + row * 16
            parts += [whisker(x, y, estimate.low, estimate.high, row), mark(x(estimate.value), y, row)]
            parts.append(_beside(x, y, f"{name} {estimate.value:.2f}", estimate))
    parts.append(line(x(0.5), 8.0, x(0.5), bottom, "contour"))
    caption = "; ".join(
        f"{rate.name} {rate.group}: TPR {rate.right.value:.3f}, TPD {rate.desirability.value:.3f}" for rate in several
    )
    return picture(bottom + 20, f"TPR and TPD, {title}", f"{caption}.", parts)


def _beside(x: Axis, y: float, words: str, estimate: Estimated) -> Markup:
    """Return the words beside an interval, on the side that has room."""
    right = x(estimate.high) + 8
    if right < x.end - 64:
        return text(right, y + 4, words, class_="tick label")
    return text(x(estimate.low) - 8, y + 4, words, anchor="end", class_="tick label")


def spread_values(view: Spread) -> Values:
    """Return the share of each series in each bin that has some."""
    shares = [view.shares(values) for _, values in view.series]
    rows = [
        (f"{left:.3f} to {right:.3f}", *(f"{share:.1%}" for share in several))
        for left, right, *several in zip(view.edges[:-1], view.edges[1:], *shares, strict=True)
        if any(several)
    ]
    return Values((view.quantity, *(name for name, _ in view.series)), rows)


def rates_values(several: Sequence[Rates]) -> Values:
    """Return TPR and TPD with their intervals, a row for each run and side."""
    rows = [
        (rate.name, rate.group, f"{rate.n:,}", *estimated(rate.right), *estimated(rate.desirability))
        for rate in several
    ]
    return Values(("run", "sentences", "n", "TPR", "low", "high", "TPD", "low", "high"), rows)


def spreads(runs: Sequence[Run]) -> Section | None:
    """Return the histograms of D and U, run against run and dataset against dataset."""
    intro = (
        "D is the place of an answer on the scale from surely wrong to surely right; where there is no right answer,"
        " certainty. U is 1 if all sentences of a set are treated alike. The bars are shares, so that data of different"
        " sizes can be compared: first run against run, then dataset against dataset."
    )
    views = [*run_spreads(runs), *dataset_spreads(runs)]
    shown = (Panel(f"{view.quantity}: {view.title}", spread_chart(view), values=spread_values(view)) for view in views)
    body = panels(intro, shown)
    return None if body is None else Section("spreads", "Distribution of D and U", body)


def odds(runs: Sequence[Run]) -> Section | None:
    """Return TPR beside TPD of every dataset and task with both sides of the stereotype."""
    intro = (
        "TPR is the share of right answers among sentences that mean the occupation stereotyped as male, which is all"
        " that equalized odds sees; TPD is their mean desirability, scaled to 0..1. TPR above TPD: right, but not sure."
        " TPD above TPR: wrong, but not sure of it either. Lines are intervals."
    )
    shown = []
    for dataset, task in all_parts(runs):
        parts = [part for run in runs for part in run.parts if (part.dataset, part.task) == (dataset, task)]
        several = [rate for part in parts for rate in rates(part, part.run.name)]
        if several:
            title = f"{dataset} · {task}"
            shown.append(Panel(title, rates_chart(title, several), values=rates_values(several)))
    body = panels(intro, shown)
    return None if body is None else Section("odds", "True positives and their certainty", body)
