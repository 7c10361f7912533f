"""SynthBias as Examples, from its files in WinoBias's text format or from its CSV.

The CSV has the columns `type,sample,occ_1,occ_2,pronoun,is_stereotypical` and a row for each sentence. The two rows
of a minimal pair are far apart; they are found by blanking the pronoun. A counterpart is never built: "her" stands for
"his" in some pairs and for "him" in others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..records import DatasetError, Example, grouped
from . import occupations
from .cards import CARDS
from .dataset import Dataset, Fault, gender_groups, in_file_order, odd_letters, repeated, third_occupations
from .pronouns import find_pronoun, form_of, gender_of
from .rows import read_rows
from .winobias import is_text_format, read_text_format

CSV_NAME = "synthbias_data.csv"
COLUMNS = ("type", "sample", "occ_1", "occ_2", "pronoun", "is_stereotypical")


def load_synthbias(folder: Path | str) -> Dataset:
    """Return SynthBias from its CSV (the file or its folder) or from its files in WinoBias's text format.

    Type 1 has no referent in either: what comes first in the CSV, or in brackets in the text files, is arbitrary.
    """
    path = Path(folder)
    licence = CARDS["synthbias"].licence
    table = path / CSV_NAME if path.is_dir() else path
    if table.suffix.lower() == ".csv" and table.exists():
        examples, faults = read_synthbias_csv(table)
        return Dataset("synthbias", examples, faults, str(table), licence)
    if not is_text_format(path) and (path / "winobias_format").is_dir():
        path = path / "winobias_format"
    examples, faults = read_text_format(path, "synthbias", type1_labelled=False)
    return Dataset("synthbias", examples, faults, str(path), licence)


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A row, checked: its number, its words, and the sentence with the pronoun blanked.

    `candidates` are the two occupations that it `named` in order of first mention; the file's order is another.
    """

    where: str
    number: int
    type: str
    text: str
    named: tuple[str, str]
    candidates: tuple[str, str]
    pronoun: str
    stereotypical: str
    template: str


def read_synthbias_csv(path: Path) -> tuple[tuple[Example, ...], tuple[Fault, ...]]:
    """Return the examples of the CSV in its order, and its faults; a row that breaks the format is a DatasetError."""
    table = read_rows(path)
    table.need(*COLUMNS)
    sentences = table.parsed(_sentence)
    sets = grouped(sentences, lambda sentence: (sentence.type, *sentence.named, sentence.template))
    counterparts = {sentence.number: members for members in sets.values() for sentence in members}
    faults: list[Fault] = []
    examples = tuple(_example(sentence, counterparts[sentence.number], faults) for sentence in sentences)
    faults += _repeats(sentences)
    return examples, in_file_order(
        faults, [(s.where, example.id) for s, example in zip(sentences, examples, strict=True)]
    )


def _sentence(where: str, number: int, cells: Mapping[str, Any]) -> _Sentence:
    kind, text, first, second, pronoun, stereotypical = (str(cells[name]).strip() for name in COLUMNS)
    if kind not in ("type1", "type2"):
        raise DatasetError(f"type {kind!r} is neither 'type1' nor 'type2'")
    if gender_of(pronoun) not in ("male", "female"):
        raise DatasetError(f"{pronoun!r} is not a male or female pronoun")
    places = find_pronoun(text, pronoun)
    if not places:
        raise DatasetError(f"pronoun {pronoun!r} is not in the sentence")
    starts = {mention.name: mention.start for mention in reversed(occupations.mentions(text))}
    for name in (first, second):
        if name not in starts:
            raise DatasetError(f"occupation {name!r} is not in the sentence, or not one of the 40")
    if first == second:
        raise DatasetError(f"the two occupations are the same, {first!r}")
    template = f"{text[: places[0].start]}\0{text[places[0].end :]}"
    candidates = (first, second) if starts[first] < starts[second] else (second, first)
    return _Sentence(where, number, kind, text, (first, second), candidates, pronoun, stereotypical, template)


def _example(sentence: _Sentence, members: Sequence[_Sentence], faults: list[Fault]) -> Example:
    gender = gender_of(sentence.pronoun) or ""
    paired = sorted(str(gender_of(member.pronoun)) for member in members) == ["female", "male"]
    id = f"synthbias-{sentence.number:05}"
    set_id = f"synthbias-pair-{members[0].number:05}" if paired else id
    if not paired:
        what = f"its sentence occurs {len(members)} times, not once with each pronoun"
        faults.append(Fault(sentence.where, "not a minimal pair", what, "kept, unpaired"))
    candidates = sentence.candidates
    # In type1 `occ_1` is arbitrary: no label.
    gold = candidates.index(sentence.named[0]) if sentence.type == "type2" else None
    stereotype = occupations.stereotyped(candidates, gender)
    groups = gender_groups(
        kind=sentence.type,
        gender=gender,
        form=form_of(sentence.pronoun, [member.pronoun for member in members] if paired else []),
        candidates=candidates,
        gold=gold,
        stereotype=stereotype,
    )
    expected = "ambiguous" if gold is None else str(gold == stereotype)
    if stereotype is not None and sentence.stereotypical != expected:
        what = f"is_stereotypical is {sentence.stereotypical!r}, the table of occupations says {expected!r}"
        faults.append(Fault(sentence.where, "wrong label", what, "the table of occupations is followed"))
    faults += third_occupations(sentence.where, sentence.text, sentence.named)
    faults += odd_letters(sentence.where, sentence.text, sentence.pronoun)
    slots = {"pronoun": sentence.pronoun.lower()}
    return Example(id, sentence.text, candidates, gold, gold is not None, stereotype, groups, set_id, slots=slots)


def _repeats(sentences: Iterable[_Sentence]) -> Iterator[Fault]:
    """Yield a fault for each row whose text an earlier row has, under another label."""
    for sentence, earlier in repeated(sentences, lambda sentence: sentence.text):
        kind = "repeated sentence"
        if earlier.type != sentence.type:
            kind = "in both types"
        elif earlier.named != sentence.named:
            kind = "repeated with occupations exchanged"
        line = earlier.where.rpartition(":")[2]
        yield Fault(sentence.where, kind, f"the text of line {line}", "both kept")
