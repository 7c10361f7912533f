"""The pages of histories: which runs belong together, what they measured, and what the last one changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

from ..media.page.html import Head, page
from ..metrics.requirement import Requirement
from ..records import EquipoiseError, Estimate, grouped
from ..records.showing import Finding, Section
from ..runs.folder import RunFolder
from ..topics.history import Moment, Part, history, last_change
from .comparisons import compared
from .index import FINISHED, LISTED, Entry, values_of

NOT_USABLE = "not usable"


def models_with_histories(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    """Return the finished runs of every model that has several, oldest first."""
    finished = sorted((e for e in entries if e.state == FINISHED), key=lambda entry: (entry.date, entry.place))
    runs = grouped(finished, lambda entry: entry.model)
    return {model: several for model, several in sorted(runs.items()) if len(several) > 1}


def history_page(title: str, entries: Sequence[Entry], limits: Sequence[Requirement] = ()) -> str:
    """Return the page of runs over time, oldest first."""
    entries = sorted(entries, key=lambda entry: (entry.date, entry.place))
    metrics = tuple(dict.fromkeys([*LISTED, *(limit.metric for limit in limits)]))
    moments = [_moment(entry, metrics, entries) for entry in entries]
    facts = [("Runs", f"{len(entries)}"), ("From", entries[0].date[:10]), ("To", entries[-1].date[:10])]
    sections: list[Section] = [_change(entries), *history(moments, limits)]
    return page(Head(title, "History of", facts), sections)


def _moment(entry: Entry, metrics: Sequence[str], entries: Sequence[Entry]) -> Moment:
    folder = RunFolder(entry.folder)
    values: Mapping[Part, Mapping[str, Mapping[str, Estimate]]]
    values = values_of(folder.content("measurements.csv"), metrics)
    shown = {(part.dataset, part.task) for part in entry.parts}
    unusable = [(part.dataset, part.task) for part in entry.parts if part.status == NOT_USABLE]
    kept = {part: several for part, several in values.items() if part in shown}
    return Moment(_name(entry, entries), f"run-{entry.slug}.html", kept, unusable)


def _name(entry: Entry, entries: Sequence[Entry]) -> str:
    """Return what tells a run from the others: its model, else its folder, and when it was."""
    models = {other.model for other in entries}
    named = entry.model if len(models) == len(entries) else entry.place.rpartition("/")[2]
    return f"{named} {_when(entry, entries)}"


def _when(entry: Entry, entries: Sequence[Entry]) -> str:
    """Return the part of a run's time that differs: the hour within a day, the day within a year, else the date."""
    if len({other.date[:10] for other in entries}) == 1:
        return entry.date[11:16]
    if len({other.date[:4] for other in entries}) == 1:
        day = date.fromisoformat(entry.date[:10])
        return f"{day.day} {day:%b}"
    return entry.date[:10]


def _change(entries: Sequence[Entry]) -> Section:
    try:
        return last_change(compared(_last_two(entries), metrics=LISTED))
    except EquipoiseError as error:
        reason = Finding(f"The last two runs cannot be tested against each other: {error}.", state="doubt")
        return Section("Has it become better or worse?", [reason], "change", "Change")


def _last_two(entries: Sequence[Entry]) -> list[Path]:
    """Return the newest run that an earlier one can be compared with, after that one; the last two where none can."""
    asked = [{(part.dataset, part.task) for part in entry.parts} for entry in entries]
    for last in range(len(entries) - 1, 0, -1):
        for before in range(last - 1, -1, -1):
            if asked[before] & asked[last]:
                return [entries[before].folder, entries[last].folder]
    return [entry.folder for entry in entries[-2:]]
