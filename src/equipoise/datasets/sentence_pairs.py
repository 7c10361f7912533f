"""Sentence pairs with a human label as Examples: GenderLex, the Gender-ECE paper's CSVs, WinoQueer, a user's own.

A row holds both sentences of a pair, so an Example is the pair itself: its candidates are the words in which the two
differ, `sent_more` first, and `gold` is the side that people call the biased one. Rows that a left-to-right model
cannot tell apart share a `cluster_id`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from .. import packaged
from ..files import sha256
from ..records import DatasetError, Example, SentencePair
from . import occupations
from .columns import as_label, as_text, is_missing
from .dataset import Dataset, Fault, in_file_order, repeated
from .pronouns import form_of, gender_of, pronouns_in
from .rows import Rows, read_rows

ALIASES: Mapping[str, tuple[str, ...]] = {
    "more": ("sent_more", "sentence_more", "sent_x", "more"),
    "less": ("sent_less", "sentence_less", "sent_y", "less"),
    "y": ("y", "label", "true_label", "stereo_antistereo"),
    "group:identity": ("gender_id_x",),
    "group:other_identity": ("gender_id_y",),
    "group:bias_type": ("bias_type",),
    "id": ("id", "example_id"),
}
"""What we need -> what a column may be called (in any case); the first two are needed."""

_LABELS = {"1": 0, "0": 1, "stereo": 0, "antistereo": 1}
_WORD = re.compile(r"[\w'’-]+|[^\w\s]")
_PLURAL = re.compile(r"\b(?:he|she) (?:were|are|have)\b", re.IGNORECASE)
_GROUP = re.compile(r"group:[A-Za-z][\w-]*")
_NO_MAP: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Split:
    """Two sentences cut where they first differ: what precedes, the words that differ, and the rest from there on."""

    before: str
    words: tuple[str, str]
    rests: tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Pair:
    """A row, checked."""

    where: str
    number: int
    id: str
    more: str
    less: str
    gold: int | None
    split: Split
    groups: Mapping[str, str]


def is_pair_table(header: Iterable[str], given: Mapping[str, str] = _NO_MAP) -> bool:
    """Return whether a table with this header, and this column map, is one of sentence pairs."""
    column_of = _recognised(header, given)
    return "more" in column_of and "less" in column_of


def load_sentence_pairs(
    table: Path | str | Rows, columns: Mapping[str, str] = _NO_MAP, *, name: str = "", licence: str = ""
) -> Dataset:
    """Return the table's sentence pairs as a dataset named after the file; `columns` maps our names to the file's."""
    table = table if isinstance(table, Rows) else read_rows(Path(table))
    used = _columns(table.file, table.columns, columns)
    pairs = table.parsed(lambda where, number, cells: _pair(where, number, cells, used))
    name = name or Path(table.file).stem
    asked_as: dict[str, _Pair] = {}
    keys = dict.fromkeys(key for pair in pairs for key in pair.groups)
    varied = {key for key in keys if len({pair.groups.get(key) for pair in pairs}) > 1}
    examples = tuple(_example(pair, asked_as.setdefault(pair.split.before, pair), name, varied) for pair in pairs)
    faults = [*(fault for pair in pairs for fault in _pair_faults(pair)), *_repeats(pairs)]
    faults += [] if table.path is None else _known_faults(table.path, pairs)
    ordered = in_file_order(faults, [(pair.where, example.id) for pair, example in zip(pairs, examples, strict=True)])
    return Dataset(name, examples, (*_shared_prefixes(table.file, pairs), *ordered), table.source, licence)


def split_pair(more: str, less: str) -> Split:
    """Return where two sentences first differ; of two pronouns that one word each, else all up to the common end."""
    words_more, words_less = list(_WORD.finditer(more)), list(_WORD.finditer(less))
    first = 0
    while first < min(len(words_more), len(words_less)) and words_more[first].group() == words_less[first].group():
        first += 1
    if first == len(words_more) == len(words_less):
        raise DatasetError("the two sentences are the same")
    ends = (len(words_more), len(words_less))
    if first < min(ends) and gender_of(words_more[first].group()) and gender_of(words_less[first].group()):
        ends = (first + 1, first + 1)
    else:
        while min(ends) > first + 1 and words_more[ends[0] - 1].group() == words_less[ends[1] - 1].group():
            ends = (ends[0] - 1, ends[1] - 1)
        if first == min(ends):  # one sentence only has words more: the word before is then part of both sides
            first = max(first - 1, 0)
    if first == min(ends):
        raise DatasetError("one of the two sentences is only the end of the other")
    starts = (words_more[first].start(), words_less[first].start())
    words = (more[starts[0] : words_more[ends[0] - 1].end()], less[starts[1] : words_less[ends[1] - 1].end()])
    return Split(more[: starts[0]].rstrip(), words, (more[starts[0] :], less[starts[1] :]))


def _recognised(header: Iterable[str], given: Mapping[str, str]) -> dict[str, str]:
    by_name = {column.strip().lower(): column for column in header}
    column_of = {
        ours: next((by_name[name] for name in names if name in by_name), "") for ours, names in ALIASES.items()
    }
    return {**{ours: column for ours, column in column_of.items() if column}, **given}


def _columns(file: str, header: Sequence[str], given: Mapping[str, str]) -> dict[str, str]:
    """Return our name -> the file's column; an unknown or a missing name or column is an error."""
    columns_there = f"the columns are {', '.join(header)}"
    for ours, theirs in given.items():
        if ours not in ALIASES and not _GROUP.fullmatch(ours):
            known = ", ".join([name for name in ALIASES if not name.startswith("group:")])
            raise DatasetError(f"{ours!r} is not a known column of sentence pairs; known: {known} or group:NAME")
        if theirs not in header:
            raise DatasetError(f"{file}: column {theirs!r}, named for {ours!r}, does not exist; {columns_there}")
    column_of = _recognised(header, given)
    for needed in ("more", "less"):
        if needed not in column_of:
            raise DatasetError(f"{file}: the column sent_{needed} is missing; {columns_there}")
    return column_of


def _pair(where: str, number: int, row: Mapping[str, Any], used: Mapping[str, str]) -> _Pair:
    cells = {ours: row.get(theirs) for ours, theirs in used.items()}
    more, less = (" ".join(as_text(used[name], cells[name]).split()) for name in ("more", "less"))
    gold = None
    if "y" in used and not is_missing(cells["y"]):
        label = as_label(used["y"], cells["y"]).lower()
        if label not in _LABELS:
            raise DatasetError(f"{used['y']} {cells['y']!r} is neither 1 (the first sentence) nor 0 (the second)")
        gold = _LABELS[label]
    groups = {key.removeprefix("group:"): as_label(key, cells[key]) for key in used if key.startswith("group:")}
    return _Pair(where, number, as_label("id", cells.get("id")), more, less, gold, split_pair(more, less), groups)


def _example(pair: _Pair, asked: _Pair, name: str, varied: set[str]) -> Example:
    words = pair.split.words
    # A group that is the same for all, such as bias_type=gender, would only repeat every number.
    groups = {key: value for key, value in pair.groups.items() if value and key in varied}
    if all(gender_of(word) for word in words):
        groups["form"] = form_of(words[0], words[1:])
    slots: dict[str, str] = {}
    occupation = occupations.named(pair.more)
    if occupation:
        groups["occupation"] = occupation
    if occupation in occupations.OCCUPATIONS:
        slots["female_share"] = str(occupations.OCCUPATIONS[occupation].female_share)
    return Example(
        id=pair.id or f"{name}-{pair.number:05}",
        text=pair.more,
        candidates=words,
        gold=pair.gold,
        # People's judgement is a label, not an answer that the text settles.
        answerable=False,
        stereotype=pair.gold,
        groups=groups,
        set_id=pair.id or f"{name}-{pair.number:05}",
        cluster_id=f"{name}-prefix-{asked.number:05}",
        slots=slots,
        pair=SentencePair(pair.split.before, pair.split.rests, sides_of(words)),
    )


def sides_of(words: Sequence[str]) -> tuple[str, ...]:
    """Return whom each of the differing words stands for: their genders, or "more" and "less" where they have none."""
    genders = tuple(gender_of(word) or "" for word in words)
    return genders if all(genders) and len(set(genders)) == len(genders) else ("more", "less")


def _pair_faults(pair: _Pair) -> Iterator[Fault]:
    pronouns = all(gender_of(word) for word in pair.split.words)
    if pronouns and _blanked(pair.more) != _blanked(pair.less):
        what = "its sentences differ in more than the pronoun"
        yield Fault(pair.where, "not a minimal pair", what, "kept; asked about the first difference")
    elif pronouns:
        words_more, words_less = ([pronoun.word for pronoun in pronouns_in(text)] for text in (pair.more, pair.less))
        places = sum(word_more != word_less for word_more, word_less in zip(words_more, words_less, strict=True))
        if places > 1:
            yield Fault(
                pair.where, "several places", f"its sentences differ in {places} places", "the first is asked about"
            )
    if plural := _PLURAL.search(pair.more):
        yield Fault(pair.where, "plural verb", f"says {plural.group()!r}, left over from 'they'", "kept as it is")
    if not pair.split.before:
        what = "begins with the words that differ"
        yield Fault(pair.where, "nothing precedes", what, "needs a model with a beginning-of-text token (--bos always)")


def _blanked(text: str) -> str:
    return _WORD.sub(lambda word: "_" if gender_of(word.group()) else word.group(), text)


def _repeats(pairs: Iterable[_Pair]) -> Iterator[Fault]:
    for pair, earlier in repeated(pairs, lambda pair: (pair.more, pair.less)):
        same = "" if earlier.gold == pair.gold else ", with the other label"
        yield Fault(pair.where, "repeated pair", f"repeats {earlier.where}{same}", "kept, resampled together")


def _shared_prefixes(file: str, pairs: Sequence[_Pair]) -> Iterator[Fault]:
    """Yield a fault where one prefix has both labels: no left-to-right model can agree with both."""
    labels: dict[str, Counter[int]] = defaultdict(Counter)
    for pair in pairs:
        if pair.gold is not None:
            labels[pair.split.before][pair.gold] += 1
    both = sum(len(counts) > 1 for counts in labels.values())
    if both:
        total = sum(sum(counts.values()) for counts in labels.values())
        best = sum(max(counts.values()) for counts in labels.values()) / total
        what = (
            f"{total} pairs have {len(labels)} distinct beginnings before the pronoun, {both} of them with both "
            f"labels: a left-to-right model can agree with at most {best:.3f}"
        )
        yield Fault(file, "same beginning, both labels", what, "kept; they are resampled together")


def _known_faults(path: Path, pairs: Sequence[_Pair]) -> Iterator[Fault]:
    """Yield what is known to be wrong in this very file and no rule could find (`known_faults.toml`)."""
    digest = sha256(path.read_bytes())
    for fault in packaged.toml(__package__, "known_faults.toml").get(digest, {}).get("faults", []):
        for number in fault["rows"]:
            yield Fault(pairs[number - 1].where, fault["kind"], fault["what"], fault["handling"])
