"""SynthBias's CSV: `type,sample,occ_1,occ_2,pronoun,is_stereotypical`, one sentence a row.

The two rows of a minimal pair are far apart; they are found by blanking the pronoun. A counterpart is never
built: "her" stands for "his" in some pairs and for "him" in others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..records import DatasetError, Example
from . import occupations
from .dataset import Fault, gender_groups
from .pronouns import find_pronoun, form_of, gender_of
from .rows import Row, read_rows

CSV_NAME = "synthbias_data.csv"
COLUMNS = ("type", "sample", "occ_1", "occ_2", "pronoun", "is_stereotypical")


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A row, checked: its number, its words, and the sentence with the pronoun blanked."""

    where: str
    number: int
    type: str
    text: str
    named: tuple[str, str]
    pronoun: str
    stereotypical: str
    template: str

    @property
    def candidates(self) -> tuple[str, str]:
        """The two occupations in order of first mention; the file's order is another."""
        first = {mention.name: mention.start for mention in reversed(occupations.mentions(self.text))}
        left, right = self.named
        return (left, right) if first[left] < first[right] else (right, left)


def read_synthbias_csv(path: Path) -> tuple[tuple[Example, ...], tuple[Fault, ...]]:
    """Return the examples of the CSV in its order, and its faults; a row that breaks the format is a DatasetError."""
    table = read_rows(path)
    missing = [name for name in COLUMNS if name not in table.columns]
    if missing:
        raise DatasetError(f"{table.file}: SynthBias's column {missing[0]!r} is missing; it has {list(table.columns)}")
    sentences = [_sentence(table.file, number, row) for number, row in enumerate(table.rows, start=1)]
    sets: dict[tuple[str, str, str, str], list[_Sentence]] = defaultdict(list)
    for sentence in sentences:
        sets[(sentence.type, *sentence.named, sentence.template)].append(sentence)
    counterparts = {sentence.number: members for members in sets.values() for sentence in members}
    faults: list[Fault] = []
    examples = tuple(_example(sentence, counterparts[sentence.number], faults) for sentence in sentences)
    faults += _repeats(sentences)
    order = {sentence.where: sentence.number for sentence in sentences}
    return examples, tuple(sorted(faults, key=lambda fault: order[fault.where]))


def _sentence(file: str, number: int, row: Row) -> _Sentence:
    where = f"{file}:{row.line}"
    kind, text, first, second, pronoun, stereotypical = (str(row.cells[name]).strip() for name in COLUMNS)
    if kind not in ("type1", "type2"):
        raise DatasetError(f"{where}: type {kind!r} is neither 'type1' nor 'type2'")
    if gender_of(pronoun) not in ("male", "female"):
        raise DatasetError(f"{where}: {pronoun!r} is not a male or female pronoun")
    places = find_pronoun(text, pronoun)
    if not places:
        raise DatasetError(f"{where}: pronoun {pronoun!r} is not in the sentence")
    mentioned = {mention.name for mention in occupations.mentions(text)}
    for name in (first, second):
        if name not in mentioned:
            raise DatasetError(f"{where}: occupation {name!r} is not in the sentence, or not one of the 40")
    if first == second:
        raise DatasetError(f"{where}: the two occupations are the same, {first!r}")
    template = f"{text[: places[0].start]}\0{text[places[0].end :]}"
    return _Sentence(where, number, kind, text, (first, second), pronoun, stereotypical, template)


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
    faults += _row_faults(sentence)
    slots = {"pronoun": sentence.pronoun.lower()}
    return Example(id, sentence.text, candidates, gold, gold is not None, stereotype, groups, set_id, slots=slots)


def _row_faults(sentence: _Sentence) -> Iterator[Fault]:
    third = occupations.third_occupations(sentence.text, sentence.named)
    if third:
        yield Fault(sentence.where, "third occupation", f"also names {', '.join(third)}", "not a candidate")
    if not sentence.text.isascii():
        yield Fault(sentence.where, "not ASCII", "has a character beyond ASCII", "kept as it is")
    if sentence.pronoun != sentence.pronoun.lower():
        yield Fault(
            sentence.where, "capitalised pronoun", f"its pronoun is {sentence.pronoun!r}", "quoted in lower case"
        )


def _repeats(sentences: Iterable[_Sentence]) -> Iterator[Fault]:
    """Yield a fault for each row whose text an earlier row has, under another label."""
    seen: dict[str, _Sentence] = {}
    for sentence in sentences:
        earlier = seen.setdefault(sentence.text, sentence)
        if earlier is sentence:
            continue
        kind = "repeated sentence"
        if earlier.type != sentence.type:
            kind = "in both types"
        elif earlier.named != sentence.named:
            kind = "repeated with occupations exchanged"
        line = earlier.where.rpartition(":")[2]
        yield Fault(sentence.where, kind, f"the text of line {line}", "both kept")
