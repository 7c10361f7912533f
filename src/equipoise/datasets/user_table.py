"""A user's own table (CSV, TSV, JSON lines, JSON, …) as Examples; docs/how-to/audit-your-own-data.md has the format."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ..records import DatasetError, Example
from ..records.scripts import first_mention, lowered, word_around
from . import occupations
from .agreement import agreeing
from .classification import load_classification
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
    map_columns,
)
from .dataset import Dataset, Fault, gender_groups, in_file_order, repeated, third_occupations
from .pronouns import PRONOUNS, Found, find_pronoun, form_of, forms_of, gender_of, group_of, pronoun_sets, pronouns_in
from .proper_names import are_names
from .rows import Rows, read_rows

_SLOT = re.compile(r"\{pronoun\}|\[pronoun\]|_{3,}", re.IGNORECASE)
_BLANK = "\0"
LONGEST_WORD = 60
MOST_REMEMBERED = 2**16
"""Where every row has cells or groups of its own, remembering them all would only cost memory."""
_NO_MAP: Mapping[str, str] = MappingProxyType({})


@dataclass(slots=True)
class _Item:
    """A row, checked, before it is known which rows are its counterparts. Not frozen: a million would take 3 s more."""

    where: str
    id: str
    text: str
    pronoun: str
    gender: str
    form: str
    candidates: tuple[str, ...]
    gold: int | None
    answerable: bool
    stereotype: int | None
    kind: str
    pair: str
    unmentioned: tuple[str, ...]
    place: Found
    groups: Mapping[str, str]
    slots: Mapping[str, str] = field(default_factory=dict)


def load_table(
    table: Path | str | Rows, columns: Mapping[str, str] = _NO_MAP, *, pronouns: Sequence[str] = ("he", "she")
) -> Dataset:
    """Return the rows of a file, or rows in memory, as a dataset; `columns` maps our names to the table's.

    A table without pronouns is a classification (datasets/classification.py). Rows that differ only in the pronoun
    become a pair. `pronouns` fill the slot of sentences that have one (`{pronoun}`, `[pronoun]` or `___`) in a table
    without a pronoun column. Raises DatasetError with file and line.
    """
    table = table if isinstance(table, Rows) else read_rows(Path(table))
    name = Path(table.file).stem
    used = map_columns(table.file, table.columns, columns)
    if used.is_classification:
        return load_classification(table, used, name=name, source=table.source)

    reader = _Reader(used)

    def parse(where: str, number: int, row: Mapping[str, Any]) -> list[_Item]:
        id, slots = f"{name}-{number:05}", column_slots(row, used)
        return [reader.item(where, id, cells, slots) for cells in _variants(used.cells(row), number, used, pronouns)]

    items = [item for several in table.parsed(parse) for item in several]
    _check_together(items)
    sets = _counterparts(items, name)
    faults = [fault for item in items for fault in _item_faults(item, sets[item.id].members)]
    for item, earlier in repeated(items, lambda item: (item.text, item.pronoun)):
        faults.append(Fault(item.where, "repeated sentence", f"asks the same as {earlier.where}", "both kept"))
    shared = _Shared()
    examples = tuple(_example(item, sets[item.id], shared) for item in items)
    ordered = in_file_order(faults, ((item.where, item.id) for item in items))
    return Dataset(name, examples, (*table.blank_faults, *ordered), table.source)


def _variants(
    cells: Mapping[str, Any], number: int, used: Columns, pronouns: Sequence[str]
) -> Iterator[Mapping[str, Any]]:
    """Yield the row's cells; where its sentence has a slot in place of a pronoun, once for each pronoun."""
    if "pronoun" in used:
        yield cells
        return
    text, form = as_text("text", cells["text"]), as_label("form", cells["form"]).lower()
    slots = _SLOT.findall(text)
    if len(slots) != 1:
        raise DatasetError(f"needs one slot for the pronoun ({{pronoun}}, [pronoun] or ___), has {len(slots)}")
    id, pair = as_label("id", cells.get("id")), as_label("pair", cells.get("pair"))
    before, after = _SLOT.split(text)
    for chosen in pronoun_sets(pronouns):
        word, subject = chosen.in_form(form), chosen.subject
        rest = agreeing(after, plural=True) if form == "subject" and chosen.plural else after
        filled = f"{before}{word if before else word.capitalize()}{rest}"
        filled_cells = {"text": filled, "pronoun": word, "variant": f"-{subject}", "pair": pair or f"{number:05}"}
        yield {**cells, "group": chosen.group, **filled_cells, "id": f"{id}-{subject}" if id else None}


class _Facts(NamedTuple):
    """What the cells of a row say besides its sentence and its names."""

    gender: str
    form: str
    kind: str
    listed: tuple[str, ...]
    gold: int | None
    answerable: bool
    stereotype: int | None
    groups: Mapping[str, str]


class _Reader:
    """Reads rows; cells that many rows share are read once, as a million sentences have a few thousand kinds."""

    def __init__(self, used: Columns) -> None:
        self._used = used
        self._names = [*(name for name in used.by_name if name not in ("text", "id", "pair")), "group"]
        self._known: dict[Hashable, _Facts] = {}

    def item(self, where: str, default_id: str, cells: Mapping[str, Any], slots: Mapping[str, str]) -> _Item:
        """Return the row, checked; the DatasetError of a bad cell lacks file and line, which the caller knows."""
        text, pronoun = as_text("text", cells["text"]), sys.intern(lowered(as_text("pronoun", cells["pronoun"])))
        places = find_pronoun(text, pronoun)
        if not places:
            whole = word_around(text, pronoun)
            part = f" as a word of its own: it is a part of {whole!r}" if whole and len(whole) < LONGEST_WORD else ""
            raise DatasetError(f"pronoun {pronoun!r} is not in the sentence{part}")
        gender, form, kind, listed, gold, answerable, stereotype, groups = self._facts(cells, pronoun)
        starts = [first_mention(text, candidate) for candidate in listed]
        unmentioned: tuple[str, ...] = ()
        if min(starts) < 0:
            unmentioned = tuple([name for name, start in zip(listed, starts, strict=True) if start < 0])
        elif starts != sorted(starts):
            # In order of mention, as in the other datasets: `position` and the signed UCerF go by it.
            order = sorted(range(len(listed)), key=starts.__getitem__)
            listed = tuple([listed[index] for index in order])
            gold, stereotype = (None if index is None else order.index(index) for index in (gold, stereotype))
        return _Item(
            where=where,
            id=as_label("id", cells.get("id")) or f"{default_id}{cells.get('variant', '')}",
            text=text,
            pronoun=pronoun,
            gender=gender,
            form=form,
            candidates=listed,
            gold=gold,
            answerable=answerable,
            stereotype=stereotype,
            kind=kind or ("type2" if answerable else "type1"),
            pair=as_label("pair", cells.get("pair")),
            unmentioned=unmentioned,
            place=places[0],
            groups=groups,
            slots=slots,
        )

    def _facts(self, cells: Mapping[str, Any], pronoun: str) -> _Facts:
        read = [cells.get(name) for name in self._names]
        # By type too: True is 1 to Python, and not to us.
        key = (pronoun, *read, *map(type, read))
        try:
            facts = self._known.get(key)
        except TypeError:  # a list of candidates
            return _facts(cells, pronoun, self._used)
        if facts is None:
            facts = _facts(cells, pronoun, self._used)
            if len(self._known) < MOST_REMEMBERED:
                self._known[key] = facts
        return facts


def _facts(cells: Mapping[str, Any], pronoun: str, used: Columns) -> _Facts:
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
    groups = {group: as_label(group, cells.get(f"group:{group}")) for group in used.groups}
    return _Facts(gender, form, kind, listed, gold, answerable, stereotype, groups)


def _check_together(items: Sequence[_Item]) -> None:
    """Raise where rows do not go together: an id given twice, or another number of candidates."""
    first: dict[str, _Item] = {}
    for item in items:
        earlier = first.setdefault(item.id, item)
        if earlier is not item:
            raise DatasetError(f"{item.where}: duplicate id {item.id!r}, already used at {earlier.where}")
        if len(item.candidates) != len(items[0].candidates):
            raise DatasetError(
                f"{item.where}: has {len(item.candidates)} candidates, but {items[0].where} has "
                f"{len(items[0].candidates)}; every row needs the same number"
            )


class _Set(NamedTuple):
    """A counterfactual set: its id, which all members share, and the members."""

    id: str
    members: list[_Item]


def _counterparts(items: Sequence[_Item], name: str) -> dict[str, _Set]:
    """Return for each item's id the counterfactual set it is in; of one item if it has no counterpart.

    Rows with a `pair` go by that. Of the others those belong together that are equal once the pronoun is blanked
    ("he saw her" / "she saw her"), then those that are once all pronouns of its gender are ("he … his" / "she …
    her").
    """
    sets: dict[str, _Set] = {}
    given: dict[str, _Set] = {}
    for item in items:
        if item.pair:
            sets[item.id] = given.setdefault(item.pair, _Set(f"{name}-pair-{item.pair}", []))
            sets[item.id].members.append(item)
    for blanked in (_one_blanked, _all_blanked):
        for members in _alike([item for item in items if item.id not in sets], blanked):
            if len(members) > 1:
                together = _Set(f"{name}-pair-of-{members[0].id}", members)
                sets.update((member.id, together) for member in members)
    for item in items:
        if item.id not in sets:
            sets[item.id] = _Set(item.id, [item])
    return sets


def _one_blanked(item: _Item) -> str:
    return f"{item.text[: item.place.start]}{_BLANK}{item.text[item.place.end :]}"


def _all_blanked(item: _Item) -> str:
    text = item.text
    for pronoun in reversed(pronouns_in(text)):
        if gender_of(pronoun.word) == gender_of(item.pronoun):
            text = f"{text[: pronoun.start]}{_BLANK}{text[pronoun.end :]}"
    return text


def _alike(items: Sequence[_Item], blanked: Callable[[_Item], str]) -> Iterator[list[_Item]]:
    """Yield the sets of items that are equal when blanked, one a gender, in forms that go together."""
    open_sets: dict[Hashable, list[list[_Item]]] = defaultdict(list)
    copies: dict[Hashable, int] = defaultdict(int)
    for item in items:
        asked = (item.candidates, item.gold, item.kind)
        # The n-th copy of a row goes with the n-th copy of its counterpart.
        copies[item.text, item.pronoun, asked] += 1
        places = open_sets[blanked(item), copies[item.text, item.pronoun, asked], asked]
        for members in places:
            if all(member.gender != item.gender and _forms_agree(member.pronoun, item.pronoun) for member in members):
                members.append(item)
                break
        else:
            places.append([item])
    for places in open_sets.values():
        yield from places


def _forms_agree(form: str, other_form: str) -> bool:
    return not forms_of(form) or not forms_of(other_form) or bool(forms_of(form) & forms_of(other_form))


class _Shared:
    """Groups and slots, equal ones as one object: of a million rows most have those of another one."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Mapping[str, str]] = {}

    def groups(self, item: _Item, form: str) -> Mapping[str, str]:
        """Return the groups of an item whose pronoun has that form."""

        def made() -> Mapping[str, str]:
            groups = gender_groups(
                kind=item.kind,
                gender=item.gender,
                form=form,
                candidates=item.candidates,
                gold=item.gold,
                stereotype=item.stereotype,
            )
            return {**groups, **item.groups}

        about = (item.kind, item.gender, form, item.candidates, item.gold, item.stereotype)
        return self._once((*about, *item.groups.items()), made)

    def slots(self, item: _Item) -> Mapping[str, str]:
        """Return the words that a question about an item may quote."""
        # Whether the people have names, so that the question takes no article.
        named = {"named": "yes"} if are_names(item.text, item.candidates) else {}
        key = (item.pronoun, bool(named), *item.slots.items())
        return self._once(key, lambda: {**item.slots, "pronoun": item.pronoun, **named})

    def _once(self, key: Hashable, made: Callable[[], Mapping[str, str]]) -> Mapping[str, str]:
        mapping = self._known.get(key)
        if mapping is None:
            mapping = made()
            if len(self._known) < MOST_REMEMBERED:
                self._known[key] = mapping
        return mapping


def _example(item: _Item, together: _Set, shared: _Shared) -> Example:
    form = item.form or form_of(item.pronoun, [member.pronoun for member in together.members])
    return Example(
        id=item.id,
        text=item.text,
        candidates=item.candidates,
        gold=item.gold,
        answerable=item.answerable,
        stereotype=item.stereotype,
        groups=shared.groups(item, form),
        set_id=together.id,
        slots=shared.slots(item),
    )


def _item_faults(item: _Item, members: Sequence[_Item]) -> Iterator[Fault]:
    if len({member.gender for member in members}) < len(members):
        what = f"its pair {item.pair!r} has two rows of one gender"
        yield Fault(item.where, "not a minimal pair", what, "kept as the table says")
    if len(members) == 1:
        yield Fault(item.where, "not a minimal pair", "no row differs from it only in the pronoun", "kept, unpaired")
    for candidate in item.unmentioned:
        what = f"candidate {candidate!r} is not in the sentence"
        yield Fault(item.where, "candidate not mentioned", what, "kept; candidates stay in the table's order")
    yield from third_occupations(item.where, item.text, item.candidates)
