"""A user's own table (CSV, TSV, JSON lines, JSON, …) as Examples; docs/how-to/audit-your-own-data.md has the format."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from ..records import DatasetError, Example
from .checked_rows import Facts, Item, Remembered, read_items
from .classification import load_classification
from .columns import map_columns
from .dataset import Dataset, Fault, gender_groups, in_file_order, repeated, third_occupations
from .pronouns import form_of, forms_of, gender_of, pronouns_in
from .proper_names import are_names
from .rows import Rows, read_rows

_BLANK = "\0"
_NO_MAP: Mapping[str, str] = MappingProxyType({})


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

    items = read_items(table, used, name, pronouns)
    _check_together(items, table.file)
    repeats = _repeated_texts(items)
    sets = _counterparts(items, name, repeats)
    shared = _Shared()
    examples = tuple([shared.example(item, together) for item, together in zip(items, sets, strict=True)])
    faults = _faults(items, sets, repeats, table.file)
    return Dataset(name, examples, (*table.blank_faults, *faults), table.source)


def _check_together(items: Sequence[Item], file: str) -> None:
    """Raise where rows do not go together: an id given twice, or another number of candidates."""
    size = len(items[0].facts.candidates)
    first: dict[str, Item] = {}
    for item in items:
        earlier = first.setdefault(item.id, item)
        if earlier is not item:
            raise DatasetError(f"{file}:{item.line}: duplicate id {item.id!r}, already used at {file}:{earlier.line}")
        if len(item.facts.candidates) != size:
            raise DatasetError(
                f"{file}:{item.line}: has {len(item.facts.candidates)} candidates, but {file}:{items[0].line} has "
                f"{size}; every row needs the same number"
            )


def _repeated_texts(items: Sequence[Item]) -> Collection[str]:
    """Return the sentences of several rows, be it about several of their pronouns: few, where there are any."""
    if len({item.text for item in items}) == len(items):
        return ()
    return {text for text, count in Counter(item.text for item in items).items() if count > 1}


class _Set(NamedTuple):
    """A counterfactual set: its id, the pronouns of its members, and whether these are of different genders."""

    id: str
    pronouns: tuple[str, ...]
    differ: bool


def _counterparts(items: Sequence[Item], name: str, repeats: Collection[str]) -> list[_Set]:
    """Return for each item the counterfactual set it is in; of one item if it has no counterpart.

    Rows with a `pair` go by that. Of the others those belong together that are equal once the pronoun is blanked
    ("he saw her" / "she saw her"), then those that are once all pronouns of its gender are ("he … his" / "she …
    her").
    """
    sets: dict[int, _Set] = {}

    def put_together(id: str, members: Sequence[int]) -> None:
        genders = {items[member].facts.gender for member in members}
        pronouns = tuple([items[member].facts.pronoun for member in members])
        together = _Set(id, pronouns, len(genders) == len(members))
        for member in members:
            sets[member] = together

    given: dict[str, list[int]] = defaultdict(list)
    for number, item in enumerate(items):
        if item.pair:
            given[item.pair].append(number)
    for pair, members in given.items():
        put_together(f"{name}-pair-{pair}", members)
    for blanked in (_one_blanked, _all_blanked):
        alone = [number for number in range(len(items)) if number not in sets]
        for members in _alike(items, alone, repeats, blanked):
            if len(members) > 1:
                put_together(f"{name}-pair-of-{items[members[0]].id}", members)
    for number, item in enumerate(items):
        if number not in sets:
            put_together(item.id, [number])
    return [sets[number] for number in range(len(items))]


def _one_blanked(item: Item) -> str:
    return f"{item.text[: item.start]}{_BLANK}{item.text[item.end :]}"


def _all_blanked(item: Item) -> str:
    text, gender = item.text, gender_of(item.facts.pronoun)
    for pronoun in reversed(pronouns_in(text)):
        if gender_of(pronoun.word) == gender:
            text = f"{text[: pronoun.start]}{_BLANK}{text[pronoun.end :]}"
    return text


def _alike(
    items: Sequence[Item], numbers: Sequence[int], repeats: Collection[str], blanked: Callable[[Item], str]
) -> Iterator[list[int]]:
    """Yield the sets of items that are equal when blanked, one a gender, in forms that go together."""
    open_sets: dict[Hashable, list[list[int]]] = defaultdict(list)
    copies: dict[Hashable, int] = defaultdict(int)
    for number in numbers:
        item, copy = items[number], 1
        facts = item.facts
        if item.text in repeats:
            # The n-th copy of a row goes with the n-th copy of its counterpart.
            copies[item.text, facts.pronoun, facts.asked] += 1
            copy = copies[item.text, facts.pronoun, facts.asked]
        places = open_sets[blanked(item), copy, facts.asked]
        for members in places:
            if all(_differ(items[member].facts, facts) for member in members):
                members.append(number)
                break
        else:
            places.append([number])
    for places in open_sets.values():
        yield from places


def _differ(facts: Facts, other: Facts) -> bool:
    """Return whether two rows are of different genders, in forms that go together."""
    if facts.gender == other.gender:
        return False
    forms, others = forms_of(facts.pronoun), forms_of(other.pronoun)
    return not forms or not others or not forms.isdisjoint(others)


class _Shared:
    """Makes examples; equal groups and slots are one object: of a million rows most have those of another one."""

    def __init__(self) -> None:
        self._groups = Remembered[Mapping[str, str]]()
        self._equal_groups = Remembered[Mapping[str, str]]()
        self._equal_slots = Remembered[Mapping[str, str]]()

    def example(self, item: Item, together: _Set) -> Example:
        """Return an item as an example, given its counterfactual set."""
        facts, about = item.facts, (item.facts, together.pronouns)
        groups = self._groups.get(about)
        if groups is None:
            groups = self._groups.keep(about, self._groups_of(facts, together.pronouns))
        return Example(
            item.id,
            item.text,
            facts.candidates,
            facts.gold,
            facts.answerable,
            facts.stereotype,
            groups,
            together.id,
            together.id,
            self._slots_of(item),
        )

    def _groups_of(self, facts: Facts, pronouns: Sequence[str]) -> Mapping[str, str]:
        groups = gender_groups(
            kind=facts.kind,
            gender=facts.gender,
            form=facts.form or form_of(facts.pronoun, pronouns),
            candidates=facts.candidates,
            gold=facts.gold,
            stereotype=facts.stereotype,
        )
        key = (*groups.items(), *facts.groups.items())
        return self._equal_groups.get(key) or self._equal_groups.keep(key, {**groups, **facts.groups})

    def _slots_of(self, item: Item) -> Mapping[str, str]:
        """Return the words that a question about an item may quote."""
        # Whether the people have names, so that the question takes no article.
        named = are_names(item.text, item.facts.candidates)
        key = (item.facts.pronoun, named, *item.slots.items())
        slots = self._equal_slots.get(key)
        if slots is None:
            further = {"pronoun": item.facts.pronoun, **({"named": "yes"} if named else {})}
            slots = self._equal_slots.keep(key, {**item.slots, **further})
        return slots


def _faults(items: Sequence[Item], sets: Sequence[_Set], repeats: Collection[str], file: str) -> tuple[Fault, ...]:
    """Return what is wrong with rows, in the order of the file."""
    faults: list[Fault] = []
    for item, together in zip(items, sets, strict=True):
        if item.names_others or item.unmentioned or not together.differ or len(together.pronouns) == 1:
            faults += _item_faults(f"{file}:{item.line}", item, together)
    asked_again = repeated(
        [item for item in items if item.text in repeats], lambda item: (item.text, item.facts.pronoun)
    )
    for item, earlier in asked_again:
        what = f"asks the same as {file}:{earlier.line}"
        faults.append(Fault(f"{file}:{item.line}", "repeated sentence", what, "both kept"))
    return in_file_order(faults, ((f"{file}:{item.line}", item.id) for item in items)) if faults else ()


def _item_faults(where: str, item: Item, together: _Set) -> Iterator[Fault]:
    if not together.differ:
        what = f"its pair {item.pair!r} has two rows of one gender"
        yield Fault(where, "not a minimal pair", what, "kept as the table says")
    if len(together.pronouns) == 1:
        yield Fault(where, "not a minimal pair", "no row differs from it only in the pronoun", "kept, unpaired")
    for candidate in item.unmentioned:
        what = f"candidate {candidate!r} is not in the sentence"
        yield Fault(where, "candidate not mentioned", what, "kept; candidates stay in the table's order")
    yield from third_occupations(where, item.text, item.facts.candidates)
