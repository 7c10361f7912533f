"""Boards: the models that were asked the same sentences in the same way, and their ranks by every metric.

Of run folders those of finished runs are taken; models of one name are told apart by what differs.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...files import sha256, written
from ...measuring.sampling import dataset_samples
from ...metrics.naming import metric_of
from ...progress import Progress
from ...records import Better, EquipoiseError, Estimate, Measurement, RunError, RunManifest, grouped
from ...runs.manifest import NAME as MANIFEST
from ...runs.measurements import (
    Measurements,
    kind_title,
    measurements_frame,
    metric_place,
    ordered_kinds,
)
from ...runs.run import Part, Run
from ...stats.ranks import Rank, ranks_of
from ...uncertainty import PERPLEXITY
from ...verdict.summary import PartSummary, part_summary
from ...verdict.words import DECISION, DECISIONS, GROUP_WORD
from ..ordering import Ordering
from .rivals import Rivals, differences

IDENTIFYING = ("engine", "weights", "dtype", "quantize", "adapter", "merged", "bos", "tokenizer", "reductions")
"""What makes two runs of one name runs of different models; the device does not."""

SHORT_HASH = 8


@dataclass(frozen=True)
class Submission:
    """A finished run: `model` is its name on the site, `slug` names its page, `verified` says if it was checked."""

    folder: Path
    manifest: RunManifest
    model: str
    slug: str = ""
    verified: bool = False

    @property
    def finished(self) -> str:
        """When the run ended, in UTC: `2026-11-15 20:04`."""
        return (self.manifest.finished or "")[:16].replace("T", " ")

    @property
    def page(self) -> str:
        """The address of the run's own page, from the site's root."""
        return f"runs/{self.slug}.html"


@dataclass(frozen=True)
class Entry:
    """A submission on one dataset as one task. `asked` is the hash of the sentences and of how they were asked."""

    submission: Submission
    dataset: str
    task: str
    asked: str
    sentences: int
    measured: Measurements
    kinds: Sequence[str]
    summary: PartSummary

    @property
    def pronouns(self) -> str:
        """The pronouns that the sentences were asked with, such as "he, they"; "" where they are not known."""
        return ", ".join(self.submission.manifest.settings.get("pronouns") or ())

    @property
    def model(self) -> str:
        """The model's name on the site."""
        return self.submission.model

    @property
    def invalid(self) -> str:
        """Why the entry is not ranked; empty where it is."""
        verdict = self.summary.verdict
        return "" if verdict.usable else verdict.sentence


@dataclass(frozen=True)
class Submissions:
    """Everything that a site is made of, and why folders were left out."""

    entries: Sequence[Entry]
    left_out: Sequence[str]

    @property
    def runs(self) -> list[Submission]:
        """The runs, each once."""
        return list({entry.submission.slug: entry.submission for entry in self.entries}.values())


def run_folders(paths: Iterable[str | Path]) -> list[Path]:
    """Return the run folders at these paths and below them, sorted; a path without any is an error."""
    folders: dict[Path, None] = {}
    for path in map(Path, paths):
        inside = sorted(file.parent for file in path.rglob(MANIFEST)) if path.is_dir() else []
        if not inside:
            raise EquipoiseError(f"{path} holds no run folder")
        folders.update(dict.fromkeys(inside))
    return list(folders)


def read_submissions(
    folders: Sequence[Path], *, verified: Iterable[Path] = (), progress: Progress | None = None
) -> Submissions:
    """Return the finished runs of these folders; one that is unfinished or damaged is left out, and a note says why."""
    entries: list[Entry] = []
    left_out: list[str] = []
    checked = set(verified)
    for number, folder in enumerate(folders):
        try:
            run = Run(folder)
            submission = Submission(folder, run.manifest, run.name, verified=folder in checked)
            entries += [_entry(submission, part) for part in run.parts]
            run.forget()
        except RunError as error:
            left_out.append(str(error))
        if progress:
            progress("reading runs", number + 1, len(folders))
    if not entries:
        reason = f": {left_out[0]}" if left_out else ""
        raise EquipoiseError(f"none of the {len(folders)} folders holds a finished run{reason}")
    return Submissions(_named(entries), left_out)


def _entry(submission: Submission, part: Part) -> Entry:
    """Return what a leaderboard needs of a part; the run's tables are not kept in memory."""
    manifest = submission.manifest
    facts = manifest.datasets.get(part.dataset, {})
    settings = dict(manifest.tasks.get(part.task, {}))
    if dataset_samples(manifest, part.task):
        del settings["samples"]
    asked = json.dumps([facts.get("sha256"), settings], sort_keys=True, default=str)
    return Entry(
        submission=submission,
        dataset=part.dataset,
        task=part.task,
        asked=sha256(asked),
        sentences=int(facts.get("examples", 0) or 0),
        measured=part.measured,
        kinds=part.kinds,
        summary=part_summary(part),
    )


def _named(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries with models of one name told apart by what differs, and a slug for every run."""
    submissions = {entry.submission.folder: entry.submission for entry in entries}
    identities: dict[str, list[dict[str, str]]] = {}
    for run in submissions.values():
        identities.setdefault(run.model, []).append(_identity(run.manifest.engine))
    models = [_name(run, identities[run.model]) for run in submissions.values()]
    texts = [
        f"{model} {' '.join(run.manifest.datasets)} {run.finished[:10]}"
        for model, run in zip(models, submissions.values(), strict=True)
    ]
    named = {
        run.folder: replace(run, model=model, slug=slug)
        for run, model, slug in zip(submissions.values(), models, slugs(texts), strict=True)
    }
    return [replace(entry, submission=named[entry.submission.folder]) for entry in entries]


def _identity(engine: Mapping[str, Any]) -> dict[str, str]:
    planted = str(engine.get("engine", "")).startswith("planted")
    # `identity` lists the names of fields: of two engines of other kinds it would be all that is read.
    keys = [key for key in engine if key != "identity"] if planted else [key for key in IDENTIFYING if key in engine]
    return {key: _value(engine[key]) for key in keys}


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    text = str(value)
    return text[:SHORT_HASH] if re.fullmatch(r"[0-9a-f]{32,}", text) else text


def _name(submission: Submission, identities: Sequence[Mapping[str, str]]) -> str:
    """Return the model's name, with what tells it from others of that name."""
    keys = dict.fromkeys(key for identity in identities for key in identity)
    mine = _identity(submission.manifest.engine)
    differing = [
        f"{key} {mine[key]}" for key in keys if key in mine and any(i.get(key) != mine[key] for i in identities)
    ]
    return f"{submission.model} ({', '.join(differing)})" if differing else submission.model


def slugs(texts: Iterable[str]) -> list[str]:
    """Return a file name for each text that says what it says, in letters that any web server takes; all differ."""
    names: dict[str, None] = {}
    for text in texts:
        plain = re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")[:80] or "page"
        numbered = (f"{plain}-{number}" for number in itertools.count(2))
        names[next(name for name in itertools.chain([plain], numbered) if name not in names)] = None
    return list(names)


@dataclass(frozen=True)
class MetricName:
    """A column of measurements: a row of the table of metrics, and the estimator that it was taken with."""

    name: str
    label: str
    estimator: str
    better: Better
    summary: str

    @property
    def title(self) -> str:
        """The metric in words, with its estimator where that is not the usual one."""
        return self.label if self.estimator in ("", PERPLEXITY.name) else f"{self.label} ({self.estimator})"


@dataclass(frozen=True)
class Standing:
    """A model on a board by one metric; without a rank where it has no value, no direction, or is not valid."""

    entry: Entry
    kind: str
    row: Measurement | None
    rank: Rank | None


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
    _standings: dict[str, list[Standing]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def title(self) -> str:
        """Dataset, task and type in words."""
        kind = f", {kind_title(self.kind)}" if self.kind else ""
        return f"{self.dataset_title} · {self.task}{kind}"

    @property
    def dataset_title(self) -> str:
        """The dataset, with what tells it from others of its name."""
        return f"{self.dataset} ({self.variant})" if self.variant else self.dataset

    def standings(self, metric: str) -> list[Standing]:
        """Return every model of the board by that metric, in the order of the entries."""
        # Every page asks for the same ranks: they are found out once.
        if metric not in self._standings:
            self._standings[metric] = list(self._ranked(metric))
        return self._standings[metric]

    def _ranked(self, metric: str) -> Iterator[Standing]:
        rows = [entry.measured.get(metric, type=self.kind) for entry in self.entries]
        # Where no answer is right UCerF does not see the answers: it is listed, and the signed one is ranked.
        blind = self.ranked_by(metric) != metric
        ranked = {
            number: row
            for number, (entry, row) in enumerate(zip(self.entries, rows, strict=True))
            if row is not None and row.better != "neither" and not entry.invalid and not blind
        }
        ranks: dict[int, Rank] = {}
        if len(ranked) > 1:
            values = {self.entries[number].model: row.estimate for number, row in ranked.items()}
            ordering = self.ordering(metric, values)
            better = [[model != other and ordering.is_ahead(model, other) for other in values] for model in values]
            ranks = dict(zip(ranked, ranks_of(np.array(better)), strict=True))
        for number, (entry, row) in enumerate(zip(self.entries, rows, strict=True)):
            yield Standing(entry, self.kind, row, ranks.get(number))

    def ordering(self, metric: str, values: Mapping[str, Estimate]) -> Ordering:
        """Return the models with these values in order, with the test of every two."""
        known = metric_of(metric)
        if known is None:
            raise EquipoiseError(f"unknown metric {metric!r}")
        runs = tuple((entry.model, entry.submission.folder) for entry in self.entries if not entry.invalid)
        tested = tuple(name.name for name in metric_names([self]) if name.better != "neither")
        rivals = Rivals(runs, self.dataset, self.task, tested, self.level)
        apart, paired = differences(rivals, metric, self.kind, values)
        return Ordering(known, self.title, values, apart, paired)

    def ranked_by(self, metric: str) -> str:
        """Return the metric that models are ranked by: the signed UCerF in place of UCerF, where it was measured."""
        known = metric_of(metric)
        if known is None or known.name != "ucerf":
            return metric
        signed = metric.replace("ucerf", "ucerf_signed", 1)
        return signed if any(entry.measured.get(signed, type=self.kind) for entry in self.entries) else metric

    def standing(self, model: str, metric: str) -> Standing | None:
        """Return a model by that metric; None where the board does not have the model."""
        return next((standing for standing in self.standings(metric) if standing.entry.model == model), None)

    def history(self, model: str) -> list[Entry]:
        """Return all runs of a model on this board, the oldest first."""
        several = [entry for entry in (*self.entries, *self.earlier) if entry.model == model]
        return sorted(several, key=lambda entry: entry.submission.manifest.finished or "")


def boards(entries: Iterable[Entry], *, level: float = 0.95) -> list[Board]:
    """Return a board for every dataset, task and type; runs that were asked something else are on another board."""
    groups = grouped(entries, lambda entry: (entry.dataset, entry.task, entry.asked))
    made = []
    for (dataset, task, asked), several in sorted(
        groups.items(), key=lambda item: (*item[0][:2], -item[1][0].sentences, item[0][2])
    ):
        # Another hash under one name: fewer sentences, another revision or another way to ask.
        rivals = [key for key in groups if key[:2] == (dataset, task)]
        words = {key: groups[key][0].pronouns for key in rivals}
        count = f"{several[0].sentences:,} sentences"
        if len(set(words.values())) > 1:
            count += f", {words[dataset, task, asked]}"
        told_apart = {(groups[key][0].sentences, words[key]) for key in rivals}
        variant = "" if len(rivals) == 1 else count if len(told_apart) == len(rivals) else f"{count}, {asked[:6]}"
        # Of runs that ended in the same second the first counts.
        dated = sorted(several, key=lambda entry: entry.submission.manifest.finished or "", reverse=True)[::-1]
        newest = {entry.model: entry for entry in dated}
        for kind in ordered_kinds({kind for entry in several for kind in entry.kinds}):
            having = [newest[model] for model in sorted(newest) if kind in newest[model].kinds]
            older = [entry for entry in dated if newest[entry.model] is not entry and kind in entry.kinds]
            made.append(Board(dataset, task, kind, variant, having, older, level))
    return made


def metric_names(several: Iterable[Board]) -> list[MetricName]:
    """Return the leading metrics that some board has, in the order of the table of metrics."""
    several = list(several)
    words = DECISION if all(board.kind in DECISIONS for board in several) else GROUP_WORD
    shown = [(board.kind, entry.measured) for board in several for entry in board.entries]
    leading = []
    names = dict.fromkeys(name for _, measured in shown for name in measured.metrics)
    for name in sorted(names, key=lambda name: (metric_place(name), name)):
        metric = metric_of(name)
        if metric is None or not metric.leading:
            continue
        if any(measured.get(name, type=kind) for kind, measured in shown):
            suffix = name[len(metric.name) + 1 :].replace("_", "-")
            estimator = suffix or (PERPLEXITY.name if metric.estimated else "")
            leading.append(MetricName(name, metric.label, estimator, metric.better, words.fitted(metric.summary)))
    return leading


def usual(metrics: Iterable[MetricName]) -> list[MetricName]:
    """Return each metric once, with its first estimator: tables of all metrics stay narrow enough to read."""
    return list({metric.label: metric for metric in reversed(list(metrics))}.values())[::-1]


def write_measurements(entries: Iterable[Entry], path: Path) -> Path:
    """Write all measurements of all runs as one table in Parquet; `run` is the name of a run's folder."""
    frames = []
    for entry in entries:
        submission = entry.submission
        about = {"run": submission.folder.name, "finished": submission.manifest.finished, "model": submission.model}
        frames.append(measurements_frame(entry.measured).assign(**about))
    table = pd.concat(frames, ignore_index=True)
    first = ["run", "finished", "model", "dataset", "task"]
    with written(path) as part:
        table[[*first, *table.columns.difference(first, sort=False)]].to_parquet(part, index=False)
    return path
