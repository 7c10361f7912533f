"""Which answers change with the group word: what became of each counterfactual set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd

from ..measuring.items import Items
from ..records import Integers
from ..records.showing import Axis, Bar, Chart, Column, Dot, Key, Panel, Row, Square, Table, case_link, cases_link
from ..runs.measurements import kind_title
from ..runs.run import Part
from ..verdict.words import ways, words_of

FATES = ("same", "toward", "against", "neither")
"""By number; `neither` has changed, but not as a stereotype would have it or its opposite."""

FATE_ORDER = ("toward", "against", "neither", "same")
"""As they are shown."""

FATE_WORDS = {
    "same": "same answer",
    "toward": "changed toward the stereotype",
    "against": "changed against the stereotype",
    "neither": "changed, neither way",
}
SHOWN = 300
"""Squares of one picture; of more sets a sample is drawn, spread evenly over the data."""


@dataclass(frozen=True)
class SetFates:
    """The sets of a dataset, task and type, each with its fate; `shown` are those that a picture has room for.

    `asked` says in how many ways each was asked: "10 wordings"; "" for one.
    """

    part: Part
    kind: str
    counts: Mapping[str, int]
    shown: Sequence[tuple[str, str]]
    asked: str

    @property
    def n(self) -> int:
        """The number of sets."""
        return sum(self.counts.values())


@lru_cache(maxsize=4)
def _items(part: Part) -> Items:
    return Items(part.outcomes)


def members_and_fates(part: Part) -> tuple[Integers, Integers]:
    """Return the first item of every set (by its place among the part's items), and the set's fate as a number."""
    items = _items(part)
    if not len(items.members):
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    flips = items.flips
    fates = np.where(flips["flipped_toward"] == 1, 1, np.where(flips["flipped_against"] == 1, 2, 3))
    return items.members[:, 0], np.where(flips["flipped"] == 0, 0, fates)


def set_fates(part: Part) -> Iterator[SetFates]:
    """Yield the fates of a dataset and task by type, ambiguous sets first; nothing without sets."""
    firsts, fates = members_and_fates(part)
    rows = part.items.iloc[firsts]
    kinds = [kind for kind in reversed(part.kinds) if kind in KNOWN] + [k for k in part.kinds if k not in KNOWN]
    for kind in kinds:
        inside = (rows["type"] == kind).to_numpy() if kind else np.ones(len(rows), dtype=bool)
        if inside.any():
            members = rows[inside]
            table = pd.DataFrame({"set": members["set_id"].astype(str).to_numpy(), "fate": fates[inside]})
            # A set that was asked in several ways is one set: what most of them gave is its fate.
            counted = table.groupby(["set", "fate"], sort=False).size().reset_index(name="times")
            counted = counted.sort_values(["times", "fate"], kind="stable").drop_duplicates("set", keep="last")
            final = counted.set_index("set")["fate"].reindex(list(dict.fromkeys(table["set"])))
            count = len(table) // len(final)
            asked = f"{count} {ways(members['variant'].fillna('').unique())}" if count > 1 else ""
            yield _counted(part, kind, final, asked)


KNOWN = ("type2", "type1")


def _counted(part: Part, kind: str, final: pd.Series, asked: str) -> SetFates:
    numbers = final.to_numpy(dtype=np.int64)
    counts = {name: int((numbers == number).sum()) for number, name in enumerate(FATES)}
    chosen = np.unique(np.linspace(0, len(final) - 1, min(SHOWN, len(final))).round().astype(int))
    shown = sorted(((str(final.index[at]), int(numbers[at])) for at in chosen), key=lambda pair: _PLACES[pair[1]])
    return SetFates(part, kind, counts, [(name, FATES[number]) for name, number in shown], asked)


_PLACES = {1: 0, 2: 1, 3: 2, 0: 3}
"""Changed sets come first in a picture."""


def squares(fates: SetFates) -> Chart:
    """Return a square for each set, changed ones first; each opens its case."""
    part, kind = fates.part, fates.kind
    marks = [Square(fate, case_link(name, str(part))) for name, fate in fates.shown]
    keys = [
        Key(f"{fates.counts[fate]:,} {FATE_WORDS[fate]}", fate, link=cases_link(part=str(part), type=kind, flip=fate))
        for fate in FATE_ORDER
        if fates.counts[fate]
    ]
    if fates.n > len(fates.shown):
        caption = f"A sample: {len(fates.shown)} of {fates.n:,} sets, spread evenly over the data."
    else:
        caption = f"One square is one set: {words_of([part]).asked}."
    if fates.asked:
        caption += f" Its colour is the result of most of its {fates.asked}; rates are means over all of them."
    rows = [Row((FATE_WORDS[fate], count, f"{count / fates.n:.1%}")) for fate, count in fates.counts.items()]
    data = Table("", (Column("answer", words=True), Column("sets"), Column("share")), rows)
    title = f"The {fates.n:,} sets of {part.title(kind)}"
    return Chart(title, [Panel(marks)], "squares", part.about(kind), keys, caption, data=data)


def flips(part: Part) -> Iterator[Chart]:
    """Yield the share of sets whose answer changes with the group word, by type and direction, with intervals."""
    by_kind = {kind: rate for kind in part.measured.kinds if (rate := part.measured.get("flip_rate", type=kind))}
    marks: list[Bar | Dot] = []
    for place, (kind, rate) in enumerate(by_kind.items()):
        left = 0.0
        for metric, tone in (("flip_toward", "toward"), ("flip_against", "against")):
            share = part.measured.get(metric, type=kind)
            if share is not None:
                marks.append(Bar((left, left + share.value), (place - 0.3, place + 0.3), tone, label=metric))
                left += share.value
        label = f"{kind_title(kind)}, {rate.value:.1%} of {rate.n:,} sets"
        marks.append(Dot(rate.estimate, float(place), "neither", label=label))
    if marks:
        rates = [rate.estimate for rate in by_kind.values()]
        across = Axis.over([0.0, *rates], "share of sets whose answer changes", within=(0.0, 1.0))
        panel = Panel(marks, across, Axis.of_names(list(map(kind_title, by_kind))))
        keys = [Key("toward the stereotype", "toward"), Key("against it", "against"), Key("all changes", "neither")]
        words = words_of([part])
        title = f"{words.answer.capitalize()}s that change with the {words.group_word}, {part}"
        yield Chart(title, [panel], "flips", part.about(), keys)
