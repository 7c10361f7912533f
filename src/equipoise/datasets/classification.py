"""A table of any classification as Examples: a text, its possible labels, the right one, and whom it is about.

There is no pronoun: rows of one `set` differ only in the people (`group`). What is asked comes from a column `question`
(a question) or `statement` (the beginning of an answer), or from the user, whose wording may use any column.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..records import DatasetError, Example, grouped
from .columns import Columns, as_candidates, as_choice, as_flag, as_kind, as_label, as_text, column_slots
from .dataset import Dataset, Fault
from .rows import Rows

KINDS = {True: "answerable", False: "unanswerable"}


@dataclass(frozen=True, slots=True)
class _Labelled:
    """An example and its place in the file."""

    where: str
    example: Example
    group: str


def load_classification(table: Rows, used: Columns, *, name: str, source: str) -> Dataset:
    """Return the rows of the table as a dataset; a row without counterpart, or of a group twice, is a fault."""
    rows = table.parsed(lambda where, number, cells: _labelled(where, f"{name}-{number:05}", cells, used))
    sizes = {len(row.example.candidates) for row in rows}
    if len(sizes) > 1:
        odd = next(row for row in rows if len(row.example.candidates) != len(rows[0].example.candidates))
        raise DatasetError(
            f"{odd.where}: every row needs {len(rows[0].example.candidates)} candidates, as the first has"
        )
    return Dataset(name, tuple(row.example for row in rows), (*table.blank_faults, *_faults(rows)), source)


def _labelled(where: str, id: str, row: Mapping[str, Any], used: Columns) -> _Labelled:
    cells = used.cells(row)
    candidates = as_candidates(cells)
    gold = as_choice("gold", cells.get("gold"), candidates)
    answerable = as_flag("answerable", cells.get("answerable"))
    answerable = gold is not None if answerable is None else answerable
    if answerable and gold is None:
        raise DatasetError("is answerable, but its right answer is not given")
    group = as_label("group", cells.get("group"))
    if not group:
        raise DatasetError("group is empty; it says whom the text is about")
    id = as_label("id", cells.get("id")) or id
    labels = {key: as_label(key, cells.get(f"group:{key}")) for key in used.groups}
    example = Example(
        id=id,
        text=as_text("text", cells["text"]),
        candidates=candidates,
        gold=gold,
        answerable=answerable,
        stereotype=as_choice("stereotype", cells.get("stereotype"), candidates),
        groups={"type": as_kind(cells.get("type")) or KINDS[answerable], "group": group, **labels},
        set_id=as_label("set", cells.get("pair")) or id,
        cluster_id=as_label("cluster", cells.get("cluster")),
        slots=column_slots(row, used),
        good=as_choice("good", cells.get("good"), candidates),
    )
    return _Labelled(where, example, group)


def _faults(rows: Sequence[_Labelled]) -> Iterator[Fault]:
    sets = grouped(rows, lambda row: row.example.set_id)
    for row in rows:
        members = sets[row.example.set_id]
        if len(members) == 1:
            yield Fault(row.where, "no counterfactual set", "no other row has its set", "kept, unpaired")
        repeated = [group for group, count in Counter(member.group for member in members).items() if count > 1]
        if row.group in repeated:
            what = f"its set {row.example.set_id!r} has several rows of the group {row.group!r}"
            yield Fault(row.where, "not a counterfactual set", what, "kept as the table says")
        if row.example.candidates != members[0].example.candidates:
            what = f"its candidates are not those of {members[0].where}, of the same set"
            yield Fault(row.where, "candidates differ", what, "kept as the table says")
        elif row.example.gold != members[0].example.gold:
            what = f"its right answer is not that of {members[0].where}, of the same set"
            yield Fault(row.where, "right answers differ", what, "kept as the table says")
