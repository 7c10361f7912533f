"""Which answers change with the group word: what became of each counterfactual set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..comparing.values import items_of
from ..records import ABSENT, DECIDED, Floats, Integers
from ..records.showing import Axis, Bar, Chart, Column, Dot, Key, Panel, Row, Square, Table, case_link, cases_link
from ..runs.measurements import kind_title
from ..runs.run import Part
from ..stats.bootstrap import cluster_numbers, joint_numbers, numbered
from ..verdict.words import ways, words_of

FATES = ("same", "toward", "against", "neither", "unknown")
"""By number; `neither` has changed, but not as a stereotype would have it or its opposite, `unknown` without one."""

FATE_ORDER = ("toward", "against", "neither", "unknown", "same")
"""As they are shown."""

FATE_WORDS = {
    "same": "same answer",
    "toward": "changed toward the stereotype",
    "against": "changed against the stereotype",
    "neither": "changed, neither way",
    "unknown": "changed, no stereotype known",
}
SAYS = {
    "type1": "The sentence does not say who is meant.",
    "type2": "The sentence says who is meant.",
    DECIDED: "That word decides who is meant, so the answer should change with it.",
}
"""What the sentences of a type have in common, for a reader who sees its name for the first time."""

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


def members_and_fates(part: Part) -> tuple[Integers, Integers]:
    """Return the first item of every set (by its place among the part's items), and the set's fate as a number."""
    items = items_of(part)
    flips = items.flips
    # Where no set of a type has a stereotype, all four ways are NaN: a change of it is unknown, too.
    fates = np.full(len(items.members), FATES.index("unknown"))
    for way in ("toward", "against", "neither"):
        fates[flips[f"flipped_{way}"] == 1] = FATES.index(way)
    fates[flips["flipped"] == 0] = FATES.index("same")
    return items.members[:, 0], fates


def of_sets(part: Part, values: Floats, rows: Integers) -> Floats:
    """Return the values of the set of each of these items, NaN without one; `values` are by row of the part's pairs."""
    pairs, outcomes = part.pairs, part.outcomes
    sets = np.concatenate([pairs["set_id"].to_numpy(object), outcomes.set_id[rows]])
    variants = np.concatenate([pairs["variant"].to_numpy(object), outcomes.variant[rows]])
    numbers = joint_numbers(cluster_numbers(sets), cluster_numbers(variants))
    known, wanted = numbers[: len(pairs)], numbers[len(pairs) :]
    by_number = np.full((len(numbers), *values.shape[1:]), np.nan)
    by_number[known[::-1]] = values[::-1]  # of equal ones the first counts
    return by_number[wanted]


def set_fates(part: Part) -> Iterator[SetFates]:
    """Yield the fates of a dataset and task by type, ambiguous sets first; nothing without sets."""
    firsts, fates = members_and_fates(part)
    outcomes, types = part.outcomes, part.outcomes.group("type")[firsts]
    kinds = [kind for kind in reversed(part.kinds) if kind in KNOWN] + [k for k in part.kinds if k not in KNOWN]
    for kind in kinds:
        inside = np.flatnonzero(types == kind) if kind else np.arange(len(firsts))
        if len(inside):
            numbers, names = numbered(outcomes.set_id[firsts[inside]])
            # A set that was asked in several ways is one set: what most of them gave is its fate, or the last of these.
            times = np.bincount(numbers * len(FATES) + fates[inside], minlength=len(names) * len(FATES))
            final = len(FATES) - 1 - times.reshape(-1, len(FATES))[:, ::-1].argmax(axis=1)
            count = len(inside) // len(names)
            asked = f"{count} {ways(pd.unique(outcomes.variant[firsts[inside]]))}" if count > 1 else ""
            yield _counted(part, kind, names, final, asked)


KNOWN = ("type2", "type1")


def _counted(part: Part, kind: str, names: NDArray[Any], fates: Integers, asked: str) -> SetFates:
    counts = {name: int((fates == number).sum()) for number, name in enumerate(FATES)}
    chosen = np.unique(np.linspace(0, len(fates) - 1, min(SHOWN, len(fates))).round().astype(int))
    shown = sorted(((str(names[at]), int(fates[at])) for at in chosen), key=lambda pair: _PLACES[pair[1]])
    return SetFates(part, kind, counts, [(name, FATES[number]) for name, number in shown], asked)


_PLACES = {FATES.index(fate): place for place, fate in enumerate(FATE_ORDER)}
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
    caption = " ".join(filter(None, [f"One square is one set: {words_of([part]).asked}.", SAYS.get(kind)]))
    if fates.n > len(fates.shown):
        caption += f" A sample: {len(fates.shown)} of {fates.n:,} sets, spread evenly over the data."
    if fates.asked:
        caption += f" Its colour is the result of most of its {fates.asked}; rates are means over all of them."
    counts = [(FATE_WORDS[fate], count) for fate, count in fates.counts.items() if count]
    rows = [Row((words, count, f"{count / fates.n:.1%}")) for words, count in counts]
    data = Table("", (Column("answer", words=True), Column("sets"), Column("share")), rows)
    title = f"The {fates.n:,} sets of {part.title(kind)}"
    return Chart(title, [Panel(marks)], "squares", part.about(kind), keys, caption, data=data)


def flips(part: Part) -> Iterator[Chart]:
    """Yield the share of sets whose answer changes with the group word, by type and direction, with intervals."""
    by_kind = {kind: rate for kind in part.measured.kinds if (rate := part.measured.get("flip_rate", type=kind))}
    marks: list[Bar | Dot] = []
    rows = []
    for place, (kind, rate) in enumerate(by_kind.items()):
        left = 0.0
        shares = {way: part.measured.get(f"flip_{way}", type=kind) for way in DIRECTIONS}
        if not any(shares.values()) and not _has_stereotype(part, kind):
            marks.append(Bar((0.0, rate.value), (place - 0.38, place + 0.12), "unknown", "flip_rate"))
        for way, words in DIRECTIONS.items():
            share = shares[way]
            if share is not None and (share.value or way in ALWAYS):
                marks.append(Bar((left, left + share.value), (place - 0.38, place + 0.12), way, f"flip_{way}"))
                left += share.value
                rows.append(Row((f"{kind_title(kind)}, {words}", share)))
        rows.append(Row((f"{kind_title(kind)}, all changes", rate)))
        label = f"{kind_title(kind)}, {rate.value:.1%} of {rate.n:,} sets"
        marks.append(Dot(rate.estimate, place + 0.3, label=label))  # under the bars, where its interval hides none
    if marks:
        rates = [rate.estimate for rate in by_kind.values()]
        across = Axis.over([0.0, *rates], "share of sets whose answer changes", within=(0.0, 1.0))
        panel = Panel(marks, across, Axis.of_names(list(map(kind_title, by_kind))), spacing=1.4)
        drawn = {mark.tone for mark in marks if isinstance(mark, Bar)}
        keys = [*(Key(words, way) for way, words in DIRECTIONS.items() if way in drawn), Key("all changes", 0)]
        asked = words_of([part])
        title = f"{asked.answer.capitalize()}s that change with the {asked.group_word}, {part}"
        # Of stacked bars a list of the marks would tell where they end, not how long they are.
        data = Table("", (Column("", words=True), Column(across.label)), rows)
        yield Chart(title, [panel], "flips", part.about(), keys, data=data)


def _has_stereotype(part: Part, kind: str) -> bool:
    """Return whether a stereotype is known of any item of a type, or cannot be told."""
    if not part.has_items:
        return True
    inside = part.outcomes.group("type") == kind
    return bool((part.outcomes.stereotype[inside] != ABSENT).any())


DIRECTIONS = {
    "toward": "toward the stereotype",
    "against": "against it",
    "neither": "neither way",
    "unknown": "no stereotype known",
}
"""What a change is: the metric's and the colour's name -> words."""

ALWAYS = ("toward", "against")
"""What is shown where nothing changed in that way, too."""
