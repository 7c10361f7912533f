"""The rows of a user's table, each checked by itself: its sentence, where its pronoun is, what its other cells say."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from ..records import DatasetError
from ..records.scripts import first_mention, lowered, spaced, spaced_word, word_around
from . import occupations
from .agreement import agreeing
from .columns import (
    Columns,
    as_candidates,
    as_choice,
    as_flag,
    as_kind,
    as_label,
    as_stereotype,
    as_text,
    column_slots,
)
from .pronouns import PRONOUNS, find_pronoun, gender_of, group_of, pronoun_sets
from .rows import Row, Rows

_SLOT = re.compile(r"\{pronoun\}|\[pronoun\]|_{3,}", re.IGNORECASE)
LONGEST_WORD = 60
MOST_REMEMBERED = 2**16
"""Where every row has cells or groups of its own, remembering them all would only cost memory."""
_NO_SLOTS: Mapping[str, str] = {}

Known = TypeVar("Known")


class Remembered(dict[Hashable, Known]):
    """What was made for a key, to be used again for equal ones; no more than there is room for."""

    def keep(self, key: Hashable, made: Known) -> Known:
        """Return what was made, and remember it where there is room."""
        if len(self) < MOST_REMEMBERED:
            self[key] = made
        return made


@dataclass(slots=True, eq=False)
class Facts:
    """What the cells of a row say besides its sentence and its names; most rows share theirs with many others."""

    pronoun: str
    gender: str
    form: str
    kind: str
    candidates: tuple[str, ...]
    gold: int | None
    answerable: bool
    stereotype: int | None
    groups: Mapping[str, str]
    asked: Hashable = field(init=False)
    spaced_pronoun: bytes = field(init=False)
    spaced_candidates: tuple[bytes, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.asked = (self.candidates, self.gold, self.kind)
        self.spaced_pronoun = spaced_word(self.pronoun)
        self.spaced_candidates = tuple(map(spaced_word, self.candidates))


@dataclass(slots=True)
class Item:
    """A row, checked, before it is known which rows are its counterparts. Not frozen: a million would take 1 s more.

    Its pronoun is at `start` to `end` of the text. `names_others` says whether it may name people besides candidates.
    """

    line: int
    id: str
    text: str
    facts: Facts
    pair: str
    start: int
    end: int
    unmentioned: tuple[str, ...]
    names_others: bool
    slots: Mapping[str, str]


class _Cells(NamedTuple):
    """The cells of a sentence: `others` are in the order of the reader's names, `variant` ends the id it gets."""

    text: Any
    id: Any
    pair: Any
    others: tuple[Any, ...]
    slots: Mapping[str, str]
    variant: str = ""


def read_items(table: Rows, used: Columns, name: str, pronouns: Sequence[str]) -> list[Item]:
    """Return the sentences of a table, checked; ids begin with its name. The error of a bad cell has file and line."""
    reader, items = _Reader(used, pronouns), []
    cells_of = reader.cells if "pronoun" in used else reader.filled_cells
    try:
        for number, row in enumerate(table.rows, start=1):
            for cells in cells_of(row, number):
                items.append(reader.item(cells, row.line, f"{name}-{number:05}"))
    except DatasetError as error:
        raise DatasetError(f"{table.file}:{row.line}: {error}") from None
    return items


class _Reader:
    """Reads rows; cells that many rows share are read once, as a million sentences have a few thousand kinds."""

    def __init__(self, used: Columns, pronouns: Sequence[str]) -> None:
        self._used = used
        self._pronouns = pronouns
        filled = () if "pronoun" in used else ("pronoun", "group")
        names = (name for name in used.by_name if name not in ("text", "id", "pair"))
        self._names = tuple(dict.fromkeys((*names, *filled)))
        self._layouts = Remembered[Callable[[Row], _Cells]]()
        self._known = Remembered[Facts]()
        self._reordered = Remembered[Facts]()

    def cells(self, row: Row, number: int) -> Iterable[_Cells]:
        """Return the cells of the one sentence of a row."""
        cut = self._layouts.get(row.columns)
        if cut is None:
            cut = self._layouts.keep(row.columns, self._layout(row.columns))
        return (cut(row),)

    def _layout(self, columns: tuple[str, ...]) -> Callable[[Row], _Cells]:
        """Return what cuts a row with these columns into its cells."""
        used = self._used
        places = {name: columns.index(column) for name, column in used.by_name.items() if column in columns}
        # A cell that a JSON line lacks is the None that is put behind its last one.
        text, id, pair = (places.get(name, len(columns)) for name in ("text", "id", "pair"))
        others: Callable[..., Any] = itemgetter(*[places.get(name, len(columns)) for name in self._names])
        has_slots = not used.known.issuperset(columns)

        def cut(row: Row) -> _Cells:
            values = (*row.values, None)
            slots = column_slots(row.cells, used) if has_slots else _NO_SLOTS
            return _Cells(values[text], values[id], values[pair], others(values), slots)

        return cut

    def filled_cells(self, row: Row, number: int) -> Iterator[_Cells]:
        """Yield the cells of a row whose sentence has a slot in place of a pronoun, for each pronoun that fills it."""
        cells, slots = self._used.cells(row.cells), column_slots(row.cells, self._used)
        text, form = as_text("text", cells["text"]), as_label("form", cells["form"]).lower()
        count = len(_SLOT.findall(text))
        if count != 1:
            raise DatasetError(f"needs one slot for the pronoun ({{pronoun}}, [pronoun] or ___), has {count}")
        id, pair = as_label("id", cells.get("id")), as_label("pair", cells.get("pair"))
        before, after = _SLOT.split(text)
        for chosen in pronoun_sets(self._pronouns):
            word, variant = chosen.in_form(form), f"-{chosen.subject}"
            rest = agreeing(after, plural=True) if form == "subject" and chosen.plural else after
            filled = f"{before}{word if before else word.capitalize()}{rest}"
            completed = {**cells, "group": chosen.group, "pronoun": word}
            others = tuple([completed[name] for name in self._names])
            yield _Cells(filled, f"{id}{variant}" if id else None, pair or f"{number:05}", others, slots, variant)

    def item(self, cells: _Cells, line: int, default_id: str) -> Item:
        """Return the row, checked; the DatasetError of a bad cell lacks file and line, which the caller knows."""
        text = as_text("text", cells.text)
        facts = self._facts(text, cells.others)
        words = spaced(text)
        start = words.find(facts.spaced_pronoun)
        end = start + len(facts.pronoun)
        if start < 0:
            start, end = _place(text, facts.pronoun)
        starts = [words.find(candidate) for candidate in facts.spaced_candidates]
        if -1 in starts or b"-" in words:  # which joins words, but not candidates
            starts = [first_mention(text, candidate) for candidate in facts.candidates]
        unmentioned: tuple[str, ...] = ()
        if -1 in starts:
            unmentioned = tuple([name for name, at in zip(facts.candidates, starts, strict=True) if at < 0])
        elif starts != sorted(starts):
            facts = self._in_order_of_mention(facts, starts)
        return Item(
            line,
            as_label("id", cells.id) or f"{default_id}{cells.variant}",
            text,
            facts,
            as_label("pair", cells.pair),
            start,
            end,
            unmentioned,
            occupations.names_others(words, facts.candidates),
            cells.slots,
        )

    def _facts(self, text: str, others: tuple[Any, ...]) -> Facts:
        # By type too: True is 1 to Python, and not to us.
        key: Hashable = (*others, *map(type, others))
        try:
            facts = self._known.get(key)
        except TypeError:  # a list of candidates
            key = repr(others)
            facts = self._known.get(key)
        return self._known.keep(key, self._read(text, others)) if facts is None else facts

    def _read(self, text: str, others: tuple[Any, ...]) -> Facts:
        cells = dict(zip(self._names, others, strict=True))
        pronoun = lowered(as_text("pronoun", cells["pronoun"]))
        _place(text, pronoun)  # first, because a pronoun that is not in its sentence is what is wrong with a row
        return _facts(cells, pronoun, self._used)

    def _in_order_of_mention(self, facts: Facts, starts: Sequence[int]) -> Facts:
        """Return the facts with the candidates as mentioned: `position` and the signed UCerF go by it."""
        order = tuple(sorted(range(len(starts)), key=starts.__getitem__))
        known = self._reordered.get((facts, order))
        if known is None:
            gold, stereotype = (None if i is None else order.index(i) for i in (facts.gold, facts.stereotype))
            candidates = tuple([facts.candidates[index] for index in order])
            reordered = replace(facts, candidates=candidates, gold=gold, stereotype=stereotype)
            known = self._reordered.keep((facts, order), reordered)
        return known


def _place(text: str, pronoun: str) -> tuple[int, int]:
    """Return where a sentence first has its pronoun; DatasetError where it does not."""
    places = find_pronoun(text, pronoun)
    if not places:
        whole = word_around(text, pronoun)
        part = f" as a word of its own: it is a part of {whole!r}" if whole and len(whole) < LONGEST_WORD else ""
        raise DatasetError(f"pronoun {pronoun!r} is not in the sentence{part}")
    return places[0].start, places[0].end


def _facts(cells: Mapping[str, Any], pronoun: str, used: Columns) -> Facts:
    """Return what the cells of a row say besides its sentence and its names."""
    gender = as_label("group", cells.get("group")).lower() or gender_of(pronoun) or group_of(pronoun)
    if not gender:
        raise DatasetError(f"pronoun {pronoun!r} is not known; add a column 'group' that says whom it refers to")
    form = as_label("form", cells.get("form")).lower()
    if form and form not in PRONOUNS:
        raise DatasetError(f"unknown form {form!r}; known: {', '.join(PRONOUNS)}")
    kind = as_kind(cells.get("type"))
    listed = as_candidates(cells)
    gold = as_choice("gold", cells.get("gold"), listed)
    if used.is_synthbias:
        # SynthBias has no column for it: its first occupation is the referent in type 2, and arbitrary in type 1.
        gold = 0 if kind == "type2" else None
    answerable = as_flag("answerable", cells.get("answerable"))
    if answerable is None:
        answerable = gold is not None and kind != "type1"
    if answerable and gold is None:
        raise DatasetError("is answerable, but its right answer is not given")
    stereotype = as_stereotype(cells.get("stereotype"), listed, gold)
    if stereotype is None:
        stereotype = occupations.stereotyped(listed, gender)
    kind = kind or ("type2" if answerable else "type1")
    groups = {group: as_label(group, cells.get(f"group:{group}")) for group in used.groups}
    return Facts(pronoun, gender, form, kind, listed, gold, answerable, stereotype, groups)
