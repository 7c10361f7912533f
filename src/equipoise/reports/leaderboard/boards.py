"""Boards: the models that were asked the same sentences in the same way, and their ranks by every metric."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from ...records import Measurement
from ...runs.measurements import kind_title, metric_of, metric_place, ordered_kinds
from ...stats.ranks import Rank, rank_ranges
from ...uncertainty import ESTIMATORS, PERPLEXITY
from ..behaviour.charts import filter_link
from .submissions import Entry


@dataclass(frozen=True)
class MetricName:
    """A column of measurements: a row of the table of metrics, and the estimator that it was taken with."""

    name: str
    label: str
    estimator: str
    better: str
    summary: str

    @property
    def title(self) -> str:
        """The metric in words, with its estimator where that is not the usual one."""
        return self.label if self.estimator in ("", PERPLEXITY.name) else f"{self.label} ({self.estimator})"


@dataclass(frozen=True)
class Place:
    """A model on a board by one metric; without a rank where it has no value, no direction, or is not valid."""

    entry: Entry
    row: Measurement | None
    rank: Rank | None
    why: str = ""

    def address(self, kind: str) -> str:
        """The address of the cases behind the value, from the site's root."""
        part = f"{self.entry.dataset} · {self.entry.task}"
        return quote(self.entry.submission.page) + filter_link(part=part, type=kind)


@dataclass(frozen=True)
class Board:
    """The models on one dataset, task and type: `entries` holds the newest run of each, `earlier` the others."""

    dataset: str
    task: str
    kind: str
    variant: str
    entries: Sequence[Entry]
    earlier: Sequence[Entry]
    level: float = 0.95
    _places: dict[str, list[Place]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def title(self) -> str:
        """Dataset, task and type in words."""
        kind = f", {kind_title(self.kind)}" if self.kind else ""
        return f"{self.dataset_title} · {self.task}{kind}"

    @property
    def dataset_title(self) -> str:
        """The dataset, with what tells it from others of its name."""
        return f"{self.dataset} ({self.variant})" if self.variant else self.dataset

    def places(self, metric: str) -> list[Place]:
        """Return every model of the board by that metric, in the order of the entries."""
        # Every page asks for the same ranks: they are found out once.
        if metric not in self._places:
            self._places[metric] = self._ranked(metric)
        return self._places[metric]

    def _ranked(self, metric: str) -> list[Place]:
        rows = [entry.measured.get(metric, type=self.kind) for entry in self.entries]
        ranked = [
            number
            for number, (entry, row) in enumerate(zip(self.entries, rows, strict=True))
            if row is not None and row.better != "neither" and not entry.invalid
        ]
        ranks: dict[int, Rank] = {}
        if len(ranked) > 1:
            estimates = [row.estimate for number in ranked if (row := rows[number]) is not None]
            higher = next(row.better for row in rows if row is not None) == "higher"
            ranks = dict(zip(ranked, rank_ranges(estimates, higher=higher, level=self.level), strict=True))
        return [
            Place(entry, row, ranks.get(number), entry.invalid)
            for number, (entry, row) in enumerate(zip(self.entries, rows, strict=True))
        ]

    def place(self, model: str, metric: str) -> Place | None:
        """Return a model's place by that metric; None where the board does not have the model."""
        return next((place for place in self.places(metric) if place.entry.model == model), None)

    def history(self, model: str) -> list[Entry]:
        """Return all runs of a model on this board, the oldest first."""
        several = [entry for entry in (*self.entries, *self.earlier) if entry.model == model]
        return sorted(several, key=lambda entry: entry.submission.manifest.finished or "")


def boards(entries: Iterable[Entry], *, level: float = 0.95) -> list[Board]:
    """Return a board for every dataset, task and type; runs that were asked something else are on another board."""
    groups: dict[tuple[str, str, str], list[Entry]] = {}
    for entry in entries:
        groups.setdefault((entry.dataset, entry.task, entry.asked), []).append(entry)
    made = []
    for (dataset, task, asked), several in sorted(
        groups.items(), key=lambda item: (*item[0][:2], -item[1][0].sentences, item[0][2])
    ):
        # Another hash under one name: fewer sentences, another revision or another way to ask.
        rivals = [key for key in groups if key[:2] == (dataset, task)]
        sizes = {groups[key][0].sentences for key in rivals}
        count = f"{several[0].sentences:,} sentences"
        variant = "" if len(rivals) == 1 else count if len(sizes) == len(rivals) else f"{count}, {asked[:6]}"
        newest, earlier = _by_date(several)
        for kind in ordered_kinds({kind for entry in several for kind in entry.kinds}):
            having = [entry for entry in newest if kind in entry.kinds]
            older = [entry for entry in earlier if kind in entry.kinds]
            made.append(Board(dataset, task, kind, variant, having, older, level))
    return made


def _by_date(entries: Sequence[Entry]) -> tuple[list[Entry], list[Entry]]:
    """Return the newest entry of each model, and the others."""
    ordered = sorted(entries, key=lambda entry: entry.submission.manifest.finished or "", reverse=True)
    newest: dict[str, Entry] = {}
    earlier = []
    for entry in ordered:
        if newest.setdefault(entry.model, entry) is not entry:
            earlier.append(entry)
    return sorted(newest.values(), key=lambda entry: entry.model), earlier


def metric_names(several: Iterable[Board]) -> list[MetricName]:
    """Return the leading metrics that some board has, in the order of the table of metrics."""
    names = {
        name: None
        for board in several
        for entry in board.entries
        for name in entry.measured.metrics
        if entry.measured.get(name, type=board.kind) is not None
    }
    return sorted(_leading(names), key=lambda metric: (metric_place(metric.name), metric.name))


def usual(metrics: Iterable[MetricName]) -> list[MetricName]:
    """Return each metric once, with its first estimator: tables of all metrics stay narrow enough to read."""
    return list({metric.label: metric for metric in reversed(list(metrics))}.values())[::-1]


def _leading(names: Iterable[str]) -> Iterator[MetricName]:
    for name in names:
        metric = metric_of(name)
        if metric is None or not metric.leading:
            continue
        # What follows the metric's name is an estimator, or what a test adds, such as a p-value.
        rest = name[len(metric.name) + 1 :]
        known = {name.replace("-", "_"): name for name in ESTIMATORS}
        if not rest or rest in known:
            estimator = known[rest] if rest else PERPLEXITY.name if metric.estimated else ""
            yield MetricName(name, metric.label, estimator, metric.better, metric.summary)
