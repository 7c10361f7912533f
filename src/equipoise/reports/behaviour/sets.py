"""What became of each counterfactual set: the same answer for all its members, or a changed one, and which way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd

from ...measuring.items import Items
from ...records import Integers
from ...runs.measurements import kind_title
from ...runs.run import Part, column, main_estimator
from ..group_words import Words, words_of
from ..validity import adjective

FATES = ("same", "toward", "against", "neither")
"""By number; `neither` has changed, but not as a stereotype would have it or its opposite."""

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
    """The sets of a dataset, task and type, each with its fate; `shown` are those that a picture has room for."""

    part: str
    kind: str
    title: str
    answerable: bool
    counts: dict[str, int]
    shown: Sequence[tuple[str, str]]
    orders: int
    words: Words

    @property
    def n(self) -> int:
        """The number of sets."""
        return sum(self.counts.values())

    @property
    def changed(self) -> int:
        """The sets whose answer changed."""
        return self.n - self.counts["same"]

    @property
    def sentence(self) -> str:
        """How many answers changed, and how many of them toward the stereotype."""
        often = f", in most of {self.orders} option orders" if self.orders > 1 else ""
        about = f"{adjective(self.kind)}sets{often}"
        sentence = f"The {self.words.group_word} changed the answer in {self.changed:,} of {self.n:,} {about}"
        if self.changed and self.counts["toward"] + self.counts["against"]:
            sentence += f": {self.counts['toward']:,} toward the stereotype, {self.counts['against']:,} against it"
        return f"{sentence}."


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
            # A set that was asked in several option orders is one set: what most orders gave is its fate.
            counted = table.groupby(["set", "fate"], sort=False).size().reset_index(name="times")
            counted = counted.sort_values(["times", "fate"], kind="stable").drop_duplicates("set", keep="last")
            final = counted.set_index("set")["fate"].reindex(list(dict.fromkeys(table["set"])))
            yield _counted(
                part, kind, final, answerable=bool(members["answerable"].all()), orders=len(table) // len(final)
            )


KNOWN = ("type2", "type1")


def _counted(part: Part, kind: str, final: pd.Series, *, answerable: bool, orders: int) -> SetFates:
    numbers = final.to_numpy(dtype=np.int64)
    counts = {name: int((numbers == number).sum()) for number, name in enumerate(FATES)}
    chosen = np.unique(np.linspace(0, len(final) - 1, min(SHOWN, len(final))).round().astype(int))
    shown = sorted(((str(final.index[at]), int(numbers[at])) for at in chosen), key=lambda pair: _PLACES[pair[1]])
    squares = [(name, FATES[n]) for name, n in shown]
    return SetFates(str(part), kind, kind_title(kind), answerable, counts, squares, orders, words_of([part]))


_PLACES = {1: 0, 2: 1, 3: 2, 0: 3}
"""Changed sets come first in a picture."""


def worst_set(part: Part) -> tuple[str, str] | None:
    """Return the set (id and variant) that the model treats least alike: ambiguous ones first, by signed U."""
    for kind, name in (("type1", "u_signed"), ("", "u")):
        sets = part.of_kind(part.pairs, kind)
        values = column(sets, main_estimator(sets, name))
        if len(values) and not np.isnan(values).all():
            row = sets.iloc[int(np.nanargmin(values))]
            return str(row["set_id"]), "" if pd.isna(row["variant"]) else str(row["variant"])
    return None


def worst_label(part: Part) -> tuple[str, str] | None:
    """Return the sentence pair (id and variant) that the model is surest about where people say the opposite."""
    items = part.items[(part.items["correct"] == 0) & (part.items["sides"] != "")]
    if items.empty:
        return None
    row = items.iloc[int(np.argmax([max(probs) for probs in items["probs"]]))]
    return str(row["set_id"]), "" if pd.isna(row["variant"]) else str(row["variant"])
