"""StereoSet's JSON file as sentence pairs: the stereotype first, the anti-stereotype second.

An entry of "intrasentence" fills a blank, one of "intersentence" follows its context. The unrelated sentence of each
entry is left out: a pair compares two. The label would always name the first sentence, so none is read: what is
measured is which of the two a model prefers, not its calibration.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..records import DatasetError
from .dataset import Dataset
from .rows import Row, Rows, read_text
from .sentence_pairs import load_sentence_pairs

KINDS = ("intrasentence", "intersentence")
COLUMNS = {"id": "id", "more": "stereotype", "less": "anti-stereotype"}
GROUPS = {"group:bias_type": "bias_type", "group:target": "target", "group:kind": "kind"}
LONGEST_HEAD = 4096


def is_stereoset(path: Path) -> bool:
    """Return whether a file is StereoSet's JSON: an object whose data are kinds of sentences."""
    if path.suffix.lower() != ".json" or not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(LONGEST_HEAD)
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and any(f'"{kind}"'.encode() in head for kind in KINDS)


def load_stereoset(path: Path) -> Dataset:
    """Return the pairs of a StereoSet file, named after it; groups are the bias type, the target and the kind."""
    try:
        content = json.loads(read_text(path))
    except (json.JSONDecodeError, RecursionError) as error:
        raise DatasetError(f"{path.name}: is not JSON ({error})") from None
    data = content.get("data", content) if isinstance(content, dict) else {}
    entries = [(kind, entry) for kind in KINDS for entry in _entries(data, kind, path.name)]
    rows = tuple(Row.of(number, cells) for number, cells in enumerate(_rows(entries, path.name), start=1))
    if not rows:
        raise DatasetError(f"{path.name}: holds no sentence")
    table = Rows(path.name, tuple(rows[0].cells), rows, path)
    return load_sentence_pairs(table, {**COLUMNS, **GROUPS})


def _entries(data: Any, kind: str, file: str) -> list[Any]:
    entries = data.get(kind, []) if isinstance(data, dict) else []
    if not isinstance(entries, list):
        raise DatasetError(f"{file}: {kind} is not a list")
    return entries


def _rows(entries: list[tuple[str, Any]], file: str) -> Iterator[Mapping[str, Any]]:
    for number, (kind, entry) in enumerate(entries, start=1):
        where = f"{file}: {kind}, entry {number}"
        try:
            sentences = {sentence["gold_label"]: str(sentence["sentence"]) for sentence in entry["sentences"]}
            pair = {label: sentences[label] for label in ("stereotype", "anti-stereotype")}
            context, about = str(entry["context"]), {name: str(entry[name]) for name in ("id", "bias_type", "target")}
        except (KeyError, TypeError) as error:
            raise DatasetError(f"{where}: has no {error}") from None
        if kind == "intersentence":
            pair = {label: f"{context} {sentence}" for label, sentence in pair.items()}
        yield {**about, **pair, "kind": kind}
