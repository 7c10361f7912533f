"""What a list says of each run below a folder: from its manifest and its measurements, never from its rows.

A run is read again only when its manifest has another time or size. Links are not followed, and a folder that is
damaged, or from a stranger, is listed with what is wrong with it.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..datasets.gendered import CONTROL_NAME
from ..files import sha256
from ..progress import Progress
from ..records import Better, EquipoiseError, Estimate, FirstResults, Measurement, RunError, RunManifest, parse_group
from ..runs.csv_files import original
from ..runs.folder import RunFolder, folder_name
from ..runs.manifest import NAME as MANIFEST
from ..runs.measurements import Measurements, ordered_kinds
from ..runs.progress_file import Going, read_progress
from ..runs.run import Run
from ..verdict.summary import VERDICTS, part_summary

LISTED = ("flip_rate", "ucerf")
"""The metrics of the list."""

MOST_FOLDERS = 100_000
"""Folders that are looked into at most."""

LOOK_EVERY = 1.0
"""Seconds between two looks at the disk, however many pages ask."""

_FOR_ALL = re.compile(rb',(?:all|type=[^,"]*|"type=[^"]*.*"),')
"""In a row of measurements: a group that is a type, or all. One of several parts has commas, and so is in quotes."""

FINISHED, RUNNING, STOPPED, DAMAGED = "finished", "running", "stopped", "damaged"


@dataclass(frozen=True)
class ListedPart:
    """What the list says of a run on one dataset as one task: the listed metrics by type, and its verdict.

    The verdict is its status and its sentence; both are "" where it is not known yet. While a run is going, the metrics
    are those of `sets` whole sets of `of`, and there is no verdict.
    """

    dataset: str
    task: str
    metrics: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict)
    status: str = ""
    sentence: str = ""
    sets: int = 0
    of: int = 0


@dataclass(frozen=True)
class Entry:
    """A run of the list: `slug` is its name in addresses, `place` its folder as seen from the folder of all."""

    slug: str
    place: str
    folder: Path
    state: str
    model: str
    parts: Sequence[ListedPart]
    date: str = ""
    note: str = ""
    going: Going | None = None
    changed: int = 0

    @property
    def title(self) -> str:
        """The name of the run where its model's name is not enough: with its folder."""
        return f"{self.model} ({self.place})"


Stamp = tuple[int, ...]


class Index:
    """All runs below a folder, as they are now; safe to be asked by several threads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        if not self.folder.is_dir():
            raise EquipoiseError(f"{folder} is not a folder; name the one that holds your runs")
        self.version = 0
        self._entries: dict[str, Entry] = {}
        self._stamps: dict[str, Stamp] = {}
        self._gone: dict[str, int] = {}
        self._looked = -math.inf
        self._lock = threading.RLock()

    def look(self, progress: Progress | None = None) -> None:
        """Look at the disk again, unless somebody just did."""
        with self._lock:
            if time.monotonic() - self._looked < LOOK_EVERY:
                return
            places = dict(run_places(self.folder))
            for number, (slug, folder) in enumerate(places.items()):
                self._look_at(slug, folder)
                if progress:
                    progress("reading runs", number + 1, len(places))
            for slug in self._entries.keys() - places.keys():
                self.version += 1
                del self._entries[slug], self._stamps[slug]
                self._gone[slug] = self.version
            self._looked = time.monotonic()

    def _look_at(self, slug: str, folder: Path) -> None:
        stamp = _stamp(folder)
        earlier = self._entries.get(slug)
        if earlier is None or stamp != self._stamps.get(slug):
            entry = read_entry(slug, folder, self.folder)
        elif earlier.state in (RUNNING, STOPPED):
            entry = _with_progress(earlier)
        else:
            return
        if earlier is None or replace(entry, changed=earlier.changed) != earlier:
            self._put(entry)
        self._stamps[slug] = stamp

    def _put(self, entry: Entry) -> None:
        self.version += 1
        self._gone.pop(entry.slug, None)
        self._entries[entry.slug] = replace(entry, changed=self.version)

    def entries(self) -> list[Entry]:
        """Return all runs, the newest first."""
        self.look()
        with self._lock:
            return sorted(self._entries.values(), key=lambda entry: (entry.date, entry.place), reverse=True)

    def since(self, version: int) -> tuple[list[Entry], list[str]]:
        """Return the runs that changed after a version of the list, the newest first, and those that went."""
        changed = [entry for entry in self.entries() if entry.changed > version]
        with self._lock:
            return changed, [slug for slug, at in self._gone.items() if at > version]

    def get(self, slug: str) -> Entry | None:
        """Return the run of that name in addresses, or None."""
        self.look()
        with self._lock:
            return self._entries.get(slug)

    def judge_next(self) -> bool:
        """Find the verdict of a run whose folder does not have it, the newest first; return whether there was one."""
        unknown = [entry for entry in self.entries() if entry.state == FINISHED and _lacks_verdict(entry)]
        if not unknown:
            return False
        entry = unknown[0]
        stamp = self._stamps.get(entry.slug)
        judged = _judged(entry, self.folder)
        with self._lock:
            if self._stamps.get(entry.slug) == stamp:  # neither changed nor gone in the meantime
                self._put(judged)
        return True


def run_places(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the name in addresses and the folder of every run at a place and below it; no link is followed."""
    waiting, seen = [folder], 0
    while waiting and seen < MOST_FOLDERS:
        place, seen = waiting.pop(), seen + 1
        try:
            with os.scandir(place) as inside:
                children = [child for child in inside if not child.is_symlink()]
        except OSError:
            continue
        waiting += sorted(Path(child.path) for child in children if child.is_dir() and not child.name.startswith("."))
        if any(child.name == MANIFEST and child.is_file() for child in children):
            yield slug_of(place, folder), place


def slug_of(place: Path, folder: Path) -> str:
    """Return the name of a run in addresses: its folder in words, and a hash that tells it from all others."""
    within = place.relative_to(folder).as_posix()
    words = folder_name(place.name if within == "." else within, longest=60).strip("+._-") or "run"
    return f"{words}-{sha256(within.encode('utf-8', 'surrogateescape'))[:10]}".lower()


def _stamp(folder: Path) -> Stamp:
    try:
        status = (folder / MANIFEST).stat()
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns


def read_entry(slug: str, folder: Path, below: Path) -> Entry:
    """Return what the list says of the run in a folder."""
    place = folder.relative_to(below).as_posix()
    place = folder.name if place == "." else place
    try:
        manifest = RunFolder(folder).manifest()
    except RunError as error:
        return Entry(slug, place, folder, DAMAGED, place, (), note=_within(str(error), below))
    date = manifest.finished or manifest.started
    if manifest.finished is None:
        asked = [ListedPart(name, task) for name in manifest.datasets for task in manifest.tasks]
        parts = [part for part in asked if part.dataset != CONTROL_NAME] or asked
        return _with_progress(Entry(slug, place, folder, STOPPED, manifest.model, parts, date))
    try:
        listed = _parts(RunFolder(folder), manifest)
    except (RunError, ValueError) as error:
        note = _within(str(error), below)
        return Entry(slug, place, folder, DAMAGED, manifest.model, (), date, note)
    return Entry(slug, place, folder, FINISHED, manifest.model, listed, date)


def _within(text: str, below: Path) -> str:
    """Return a sentence with paths as seen from the folder of all runs: the page tells nothing of the machine."""
    return text.replace(f"{below}{os.sep}", "").replace(str(below), ".")


def _with_progress(entry: Entry) -> Entry:
    going = read_progress(entry.folder)
    state = RUNNING if going and going.is_alive() else STOPPED
    known = {(results.dataset, results.task): results for results in going.so_far} if going else {}
    parts = [_so_far(part, known.get((part.dataset, part.task))) for part in entry.parts]
    return replace(entry, going=going, state=state, parts=parts)


def _so_far(part: ListedPart, results: FirstResults | None) -> ListedPart:
    """Return a part of a run that is still going, with what it says so far."""
    if results is None:
        return part
    metrics = {}
    for name in LISTED:
        values = results.metrics.get(name, {})
        known = {kind: values[kind] for kind in ordered_kinds(set(values)) if kind in values}
        metrics[name] = {kind: Estimate.alone(value, level=0.0, n=n, method="") for kind, (value, n) in known.items()}
    return replace(part, metrics=metrics, sets=results.sets, of=results.of)


def _parts(folder: RunFolder, manifest: RunManifest) -> list[ListedPart]:
    """Return the parts of a finished run: their listed metrics, and their verdicts where the folder has them."""
    by_part = values_of(folder.content("measurements.csv", manifest))
    known = _kept_verdicts(folder, manifest)
    asked = [(dataset, task) for dataset in manifest.datasets for task in manifest.tasks]
    every = list(dict.fromkeys([*by_part, *known])) or asked
    # What a run was checked with is on its own page.
    every = [part for part in every if part[0] != CONTROL_NAME] or every
    return [
        ListedPart(dataset, task, by_part.get((dataset, task), {}), *known.get((dataset, task), ("", "")))
        for dataset, task in every
    ]


def values_of(content: bytes, metrics: Sequence[str] = LISTED) -> dict[tuple[str, str], dict[str, dict[str, Estimate]]]:
    """Return some metrics of a run from its `measurements.csv`, by dataset and task, metric, and type."""
    by_part: dict[tuple[str, str], list[Measurement]] = {}
    for row in listed_rows(content, metrics):
        by_part.setdefault((row.dataset, row.task), []).append(row)
    return {part: _metrics(rows, metrics) for part, rows in by_part.items()}


def _lines(content: bytes, start: bytes) -> Iterator[bytes]:
    """Yield the lines of a file that begin so, without looking at the others."""
    at = content.find(b"\n" + start)
    while at >= 0:
        end = content.find(b"\n", at + 1)
        end = len(content) if end < 0 else end
        yield content[at + 1 : end] + b"\n"
        at = content.find(b"\n" + start, end)


def listed_rows(content: bytes, metrics: Sequence[str] = LISTED) -> Iterator[Measurement]:
    """Yield the rows of `measurements.csv` of some metrics, for a type or for all items."""
    # Thousands of other rows need not be parsed.
    lines = [line for name in metrics for line in _lines(content, name.encode()) if _FOR_ALL.search(line)]
    for cells in csv.reader(io.StringIO(b"".join(lines).decode("utf-8", "replace"))):
        row = dict(zip(Measurement.COLUMNS, cells, strict=False))
        if len(cells) != len(Measurement.COLUMNS) or not set(parse_group(original(row["group"]))) <= {"type"}:
            continue
        value, low, high, level = (float(row[name] or "nan") for name in ("value", "low", "high", "level"))
        if not math.isfinite(value):
            continue
        estimate = Estimate(value, low, high, level, int(row["n"]), "")
        metric, model, dataset, task, group = map(original, cells[:5])
        better: Better = "higher" if row["better"] == "higher" else "lower"
        yield Measurement(metric, model, dataset, task, group, estimate, better)


def _metrics(rows: Sequence[Measurement], metrics: Sequence[str]) -> dict[str, dict[str, Estimate]]:
    measured = Measurements(rows)
    kinds = ordered_kinds({parse_group(row.group).get("type", "") for row in rows})
    return {
        name: {kind: row.estimate for kind in kinds if (row := measured.get(measured.own(name), type=kind))}
        for name in metrics
    }


def _kept_verdicts(folder: RunFolder, manifest: RunManifest) -> dict[tuple[str, str], tuple[str, str]]:
    """Return the status and sentence of every part that the run's folder tells; nothing where it tells none."""
    if VERDICTS not in manifest.files:
        return {}
    try:
        rows: list[dict[str, Any]] = json.loads(folder.content(VERDICTS, manifest))
        return {(row["dataset"], row["task"]): (str(row["status"]), str(row["sentence"])) for row in rows}
    except (RunError, ValueError, TypeError, KeyError, RecursionError):
        return {}


def _lacks_verdict(entry: Entry) -> bool:
    return any(not part.status for part in entry.parts)


def _judged(entry: Entry, below: Path) -> Entry:
    """Return the entry with its verdicts, made from the run's tables."""
    try:
        run = Run(entry.folder)
        known = {(part.dataset, part.task): part_summary(part).verdict for part in run.parts}
        run.forget()  # or the rows of a hundred runs would be kept
    except EquipoiseError as error:
        return replace(entry, state=DAMAGED, note=_within(str(error), below))
    unknown = ("unknown", "The run has no measurements of this data.")
    verdicts = {key: (verdict.status, verdict.sentence) for key, verdict in known.items()}
    parts = []
    for part in entry.parts:
        status, sentence = verdicts.get((part.dataset, part.task), unknown)
        parts.append(replace(part, status=status, sentence=sentence))
    return replace(entry, parts=parts)
