"""A dataset as files that others can read: CSV, JSON lines, Parquet, WinoBias's text format, and a card."""

from __future__ import annotations

import io
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd

from .. import __version__
from ..datasets.cards import CARDS
from ..datasets.dataset import Dataset
from ..datasets.identity import NAME as IDENTITY
from ..files import write_file
from ..records import DatasetError, Example
from ..runs.csv_files import to_csv

UNSTATED = "none stated"
NO_CHANGES = re.compile(r"\bND\b")
"""The part of a Creative Commons licence that forbids passing changed copies on."""

HUB_LICENCES = {"MIT": "mit", "CC0-1.0": "cc0-1.0", "CC BY 4.0": "cc-by-4.0", "CC BY-NC-ND 4.0": "cc-by-nc-nd-4.0"}
TOGETHER = 10_000
"""Rows that are taken out of a table at once."""

OWN_GROUPS = ("type", "group", "gender", "form", "occupation", "other", "position", "side", "stereotype", "split")
"""Groups that a loader derives from the other columns."""


def export_dataset(
    dataset: Dataset, folder: str | Path, *, private: bool = False, made_with: Mapping[str, Any] | None = None
) -> list[Path]:
    """Return the files of a dataset, written into a folder: the data in each format, and README.md, its card.

    Where the licence does not allow passing changed copies on, this is refused unless the copy is `private`.
    `made_with` are the choices that made the dataset, for the card.
    """
    reason = obstacle(dataset)
    if reason and not private:
        raise DatasetError(f"{dataset.name}: {reason}; a private copy, for your own use, can be written")
    place, names = Path(folder), []
    # One after the other, so that none is held with another.
    for name, content in chain(text_format(dataset.examples), _table_files(dataset.examples)):
        write_file(place / name, content)
        names.append(name)
    write_file(place / "README.md", _card(dataset, sorted(names), made_with or {}, reason).encode())
    return [place / name for name in (*sorted(names), "README.md")]


def _table_files(examples: Sequence[Example]) -> Iterator[tuple[str, bytes | Iterator[bytes]]]:
    table = example_table(examples)
    yield "data.csv", to_csv(table)
    yield "data.jsonl", _json_lines(table)
    yield "data.parquet", _parquet(table)


def obstacle(dataset: Dataset) -> str:
    """Return why the licence does not allow passing a changed copy on; "" where it does, or where it is the user's."""
    if dataset.licence == UNSTATED:
        return "no licence is stated, so nothing allows passing copies on"
    if NO_CHANGES.search(dataset.licence):
        return f"its licence, {dataset.licence}, does not allow passing changed copies on"
    return ""


def example_table(examples: Sequence[Example]) -> pd.DataFrame:
    """Return the examples as a table that `equipoise audit --data FILE` reads back."""
    columns: defaultdict[str, list[Any]] = defaultdict(list)
    for number, example in enumerate(examples):
        for name, value in _row(example).items():
            column = columns[name]
            column += [None] * (number - len(column))  # of examples that do not have it
            column.append(value)
    for column in columns.values():
        column += [None] * (len(examples) - len(column))
    return pd.DataFrame({name: cells for name, cells in columns.items() if any(cell is not None for cell in cells)})


def _row(example: Example) -> dict[str, Any]:
    groups = {f"group:{name}": value for name, value in example.groups.items() if name not in OWN_GROUPS}
    if example.pair is not None:
        more, less = (f"{example.pair.before} {rest}".strip() for rest in example.pair.rests)
        label = None if example.gold is None else int(example.gold == 0)
        return {"sent_more": more, "sent_less": less, "y": label, "id": example.id, **groups}
    return {
        "id": example.id,
        "type": example.groups.get("type"),
        "text": example.text,
        "pronoun": example.slots.get("pronoun"),
        **{f"candidate_{number}": name for number, name in enumerate(example.candidates, 1)},
        "gold": None if example.gold is None else example.candidates[example.gold],
        "answerable": str(example.answerable).lower(),
        "stereotype": None if example.stereotype is None else example.candidates[example.stereotype],
        "good": None if example.good is None else example.candidates[example.good],
        "question": example.slots.get("question"),
        "group": example.groups.get("gender") or example.groups.get("group"),
        "form": example.groups.get("form") if "pronoun" in example.slots else None,
        "pair": example.set_id,
        "cluster": example.cluster_id,
        **groups,
    }


def _json_lines(table: pd.DataFrame) -> Iterator[bytes]:
    for start in range(0, len(table), TOGETHER):
        for row in table[start : start + TOGETHER].to_dict("records"):
            known = {name: value for name, value in row.items() if not pd.isna(value)}
            yield f"{json.dumps(known, ensure_ascii=False)}\n".encode()


def _parquet(table: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    table.to_parquet(buffer, index=False)
    return buffer.getvalue()


def text_format(examples: Sequence[Example]) -> Iterator[tuple[str, bytes]]:
    """Yield the files of WinoBias's text format: the labelled pairs of two people, with and against the stereotype.

    A line is `N text` with the referent and the pronoun in brackets; the same line of both files is a pair.
    """
    sets: dict[str, dict[str, Example]] = defaultdict(dict)
    for example in examples:
        side = example.groups.get("stereotype")
        if side in ("pro", "anti") and example.pair is None and len(example.candidates) == 2:
            sets[example.set_id][side] = example
    lines: dict[tuple[str, str], list[str]] = defaultdict(list)
    for members in sets.values():
        if len(members) == 2:
            pro, anti = members["pro"], members["anti"]
            marked = (_bracketed(pro, anti), _bracketed(anti, pro))
            if all(marked):
                kind = pro.groups.get("type", "type2")
                lines["pro", kind].append(marked[0])
                lines["anti", kind].append(marked[1])
    for (side, kind), texts in sorted(lines.items()):
        numbered = [f"{number} {text}\n" for number, text in enumerate(texts, 1)]
        yield f"winobias/{side}_stereotyped_{kind}.txt", "".join(numbered).encode()


def _bracketed(example: Example, counterpart: Example) -> str:
    """Return the text with brackets around the referent and the pronoun; "" where one of them is not found."""
    assert example.gold is not None
    word = re.escape(example.candidates[example.gold])
    referent = re.search(rf"\b(?:(?:the|an?)\s+)?{word}\b", example.text, re.IGNORECASE)
    pairs = zip(example.text, counterpart.text, strict=False)
    differing = next((place for place, (a, b) in enumerate(pairs) if a != b), len(example.text))
    pronoun = re.escape(example.slots.get("pronoun", ""))
    places = [m for m in re.finditer(rf"\b{pronoun}\b", example.text, re.IGNORECASE) if m.end() > differing]
    if referent is None or not pronoun or not places:
        return ""
    text = example.text
    for match in sorted((referent, places[0]), key=lambda m: m.start(), reverse=True):
        text = f"{text[: match.start()]}[{match[0]}]{text[match.end() :]}"
    return text


def _card(dataset: Dataset, files: Sequence[str], made_with: Mapping[str, Any], reason: str) -> str:
    """Return README.md: metadata that dataset viewers read, where the data is from, and what was done to it."""
    base = dataset.name.removeprefix(f"{IDENTITY}-")
    source = CARDS.get(base)
    licence = dataset.licence or "not stated: yours"
    head = ["---", f"license: {HUB_LICENCES.get(dataset.licence, 'other')}", "tags:", "- equipoise", "configs:"]
    head += ["- config_name: default", "  data_files: data.parquet", "---", "", f"# {dataset.name}", ""]
    if reason:
        head += [f"**Private copy: do not pass it on.** {reason[0].upper()}{reason[1:]}.", ""]
    facts = [f"{len(dataset.examples):,} examples in {dataset.sets:,} sets, sha256 {dataset.sha256}."]
    facts += [f"Licence: {licence}{f' ({source.licence_url})' if source else ''}."]
    if source:
        facts += [f"Source: {source.title}, {source.home}, revision {source.revision}."]
    changes = "texts as they are asked: numbers and brackets removed, known repairs made"
    if dataset.name != base:
        changes += ", and words for identities put before people"
    facts += [f"Changed by Equipoise {__version__}: {changes}."]
    facts += [f"Made with {name}: {value}." for name, value in made_with.items()]
    facts += [f"Files: {', '.join(files)}."]
    citation = ["", "```bibtex", source.citation, "```"] if source and source.citation else []
    return "\n".join([*head, *(f"- {fact}" for fact in facts), *citation, ""])
