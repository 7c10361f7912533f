"""What people's answers leave: the dataset in SynthBias's columns and in WinoBias's text format, with a datasheet."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2

from ... import __version__
from ...datasets.pronouns import find_pronoun, gender_of
from ...datasets.synthbias import COLUMNS
from ..steps import BuildError, Sentence, Step, write_whole
from ..wordlist import WordList
from .consensus import Thresholds, Verdict, shares, verdict
from .summary import Summary
from .votes import Answer, Vote

Row = Mapping[str, str]


@dataclass(frozen=True)
class Cleaned:
    """The verdict on each sentence, and the rows of the dataset: two for each kept one."""

    verdicts: Mapping[str, Verdict]
    votes: Mapping[str, Sequence[Vote]]
    rows: tuple[Row, ...]
    reasons: Counter[str]
    flipped: int


def clean(sentences: Sequence[Sentence], answers: Sequence[Answer], words: WordList, thresholds: Thresholds) -> Cleaned:
    """Return what the answers make of the sentences; the answers to a twin count with its sentence's."""
    votes: dict[str, list[Vote]] = defaultdict(list)
    for answer in answers:
        if not answer.withdrawn:
            votes[answer.sentence.removesuffix("-twin")].append(answer.vote)
    verdicts, rows, reasons, flipped = {}, [], Counter[str](), 0
    for sentence in sentences:
        found = verdict(sentence, votes.get(sentence.id, []), thresholds)
        verdicts[sentence.id] = found
        if not found.kept:
            reasons[found.reason] += 1
            continue
        flipped += found.referent not in ("", sentence.target)
        rows += _rows(sentence, found, words)
    return Cleaned(verdicts, votes, tuple(rows), reasons, flipped)


def _rows(sentence: Sentence, found: Verdict, words: WordList) -> list[Row]:
    """Return the sentence and its twin in SynthBias's columns; in type 2 the referent comes first."""
    one = found.referent or sentence.target
    other = sentence.second if one == sentence.first else sentence.first
    rows: list[Row] = []
    for text, pronoun in ((sentence.text, sentence.pronoun), (sentence.twin, sentence.twin_pronoun)):
        stereotypical = str(words.side(one) == gender_of(pronoun)) if found.referent else "ambiguous"
        values = (sentence.type, text, one, other, pronoun, stereotypical)
        rows.append(dict(zip(COLUMNS, values, strict=True)))
    return rows


def synthbias_csv(rows: Sequence[Row]) -> str:
    """Return the rows as SynthBias's CSV."""
    out = io.StringIO()
    table = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return out.getvalue()


def winobias_files(rows: Sequence[Row], words: WordList) -> dict[str, str]:
    """Return file names and contents in WinoBias's format: a pair stands on one line number of a pro and an anti file.

    In type 1 no person is the referent; as in SynthBias's own files the bracketed one is arbitrary.
    """
    lines: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        label = "pro" if words.side(row["occ_1"]) == gender_of(row["pronoun"]) else "anti"
        name = f"{label}_stereotyped_{row['type']}.txt"
        lines[name].append(f"{len(lines[name]) + 1} {_bracketed(row)}")
    return {name: "\n".join(written) + "\n" for name, written in sorted(lines.items())}


def _bracketed(row: Row) -> str:
    text = row["sample"]
    pronoun = find_pronoun(text, row["pronoun"])[-1]
    referent = re.search(rf"(?:\b[Tt]he |\b[Aa]n? )?(?<![\w-]){re.escape(row['occ_1'])}(?![\w-])", text, re.IGNORECASE)
    if referent is None:
        raise BuildError(f"the {row['occ_1']} is not in {text!r}")
    for start, end in sorted(((pronoun.start, pronoun.end), referent.span()), reverse=True):
        text = f"{text[:start]}[{text[start:end]}]{text[end:]}"
    return text


@dataclass(frozen=True)
class Sheet:
    """What the datasheet says beyond the rows: name, licence, the word list, the steps, and how people agreed."""

    name: str
    licence: str
    words: WordList
    steps: Sequence[Step]
    summary: Summary


def write_dataset(folder: Path, cleaned: Cleaned, sheet: Sheet) -> list[Path]:
    """Write the dataset, its text files, the verdicts and the datasheet; return the files."""
    files = {f"{sheet.name}.csv": synthbias_csv(cleaned.rows)}
    for name, content in winobias_files(cleaned.rows, sheet.words).items():
        files[f"winobias_format/{name}"] = content
    files["verdicts.jsonl"] = "".join(_verdict_line(cleaned, id) for id in cleaned.verdicts)
    files["DATASHEET.md"] = _datasheet(cleaned, sheet)
    for name, content in files.items():
        write_whole(folder / name, content)
    return [folder / name for name in files]


def _verdict_line(cleaned: Cleaned, id: str) -> str:
    votes = cleaned.votes.get(id, [])
    row: dict[str, Any] = {"sentence": id, **asdict(cleaned.verdicts[id])}
    return json.dumps(row | {"shares": asdict(shares(votes))}, ensure_ascii=False) + "\n"


def _datasheet(cleaned: Cleaned, sheet: Sheet) -> str:
    text = resources.files(__package__).joinpath("datasheet.md").read_text(encoding="utf-8")
    template = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True).from_string(text)
    locales = sheet.summary.locales
    return template.render(
        name=sheet.name,
        licence=sheet.licence,
        version=__version__,
        rows=cleaned.rows,
        pairs=len(cleaned.rows) // 2,
        counts={kind: sum(row["type"] == kind for row in cleaned.rows) for kind in ("type1", "type2")},
        steps=sheet.steps,
        summary=sheet.summary,
        locales={} if set(locales) <= {"not given"} else locales,
        flipped=cleaned.flipped,
        words=sheet.words.name,
    )
