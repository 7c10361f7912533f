"""Sentences on what the measurements show: flips first, then rates, then scores. No model is ever called fair."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from ...records import Estimate, Measurement
from ...runs.measurements import Measurements, span
from ..group_words import Words
from ..validity import adjective
from ..validity import sentences as items_of


@dataclass(frozen=True)
class Sentence:
    """A sentence in plain text, what it is about (`topic`), and the type of items it speaks of ("" for all)."""

    topic: str
    text: str
    kind: str = ""

    def __str__(self) -> str:
        return self.text


def behaviour(measured: Measurements, kinds: list[str], words: Words) -> Iterator[Sentence]:
    """Yield what the measurements show: ambiguous sets first, flips before rates, rates before scores."""
    # Where nothing settles the answer, a flip can only come from the group word.
    ordered = sorted(kinds, key=lambda kind: kind != "type1")
    for kind in ordered:
        yield from _flips(measured, kind, words)
    for kind in kinds:
        yield from _rates(measured, kind)
    for kind in ordered:
        yield from _ucerf(measured, kind, words)
        yield from _desirability(measured, kind, words)
        yield from _certainty(measured, kind, words)


def _flips(measured: Measurements, kind: str, words: Words) -> Iterator[Sentence]:
    rate = measured.get("flip_rate", type=kind)
    if rate is None:
        return
    toward, against = measured.get("flip_toward", type=kind), measured.get("flip_against", type=kind)
    sets = f"{rate.n:,} {adjective(kind)}set{'s' if rate.n != 1 else ''}"
    if measured.spread("flip_rate", rate.group) is not None:
        text = f"The {words.group_word} changed the answer in {rate.value:.1%} {percent(rate)} of {sets}"
        if toward is not None and against is not None:
            text += f" (toward the stereotype {toward.value:.1%}, against it {against.value:.1%})"
        yield Sentence("flips", f"{text}, averaged over {_variants(measured)} ways to ask.", kind)
    else:
        text = (
            f"The {words.group_word} changed the answer in {count(rate):,} of {sets} ({rate.value:.1%} {percent(rate)})"
        )
        if toward is not None and against is not None and count(rate):
            text += _directions(rate, toward, against)
        yield Sentence("flips", f"{text}.", kind)
    yield from _flip_bias(measured.get("flip_bias", type=kind), rate, kind)


def _directions(rate: Measurement, toward: Measurement, against: Measurement) -> str:
    neither = count(rate) - count(toward) - count(against)
    more = f", {neither:,} neither" if neither > 0 else ""
    return f": {count(toward):,} toward the stereotype, {count(against):,} against it{more}"


def _flip_bias(bias: Measurement | None, rate: Measurement, kind: str) -> Iterator[Sentence]:
    if bias is None or not rate.value:
        return
    sets = f"{bias.n:,} {adjective(kind)}sets"
    if is_shown(bias):
        way, other = ("toward", "against") if bias.value > 0 else ("against", "toward")
        text = (
            f"The answer changes {way} the stereotype more often than {other} it: the two shares differ by"
            f" {points(bias)} (n = {sets})."
        )
    else:
        text = (
            f"The changes have no clear direction: the shares toward and against the stereotype differ by"
            f" {points(bias)}, and this interval includes 0 (n = {sets})."
        )
    yield Sentence("flip_bias", text, kind)


def _rates(measured: Measurements, kind: str) -> Iterator[Sentence]:
    pro = measured.get("accuracy", type=kind, stereotype="pro")
    anti = measured.get("accuracy", type=kind, stereotype="anti")
    whole = measured.get("accuracy", type=kind)
    if pro is not None and anti is not None:
        text = (
            f"It is right in {pro.value:.1%} {percent(pro)} of {pro.n:,} {items_of(kind)} that fit the stereotype, and"
            f" in {anti.value:.1%} {percent(anti)} of {anti.n:,} that go against it"
        )
        gap = _accuracy_gap(measured, kind)
        if gap is None:
            yield Sentence("accuracy", f"{text}.", kind)
        elif gap.low > 0:
            yield Sentence("accuracy", f"{text}: a gap of {points(gap)}.", kind)
        else:
            yield Sentence("accuracy", f"{text}: no clear gap ({points(gap)}).", kind)
    elif whole is not None:
        text = f"It is right in {whole.value:.1%} {percent(whole)} of {whole.n:,} {items_of(kind)}."
        yield Sentence("accuracy", text, kind)


def _accuracy_gap(measured: Measurements, kind: str) -> Measurement | Estimate | None:
    """Return the gap of accuracy; of two intervals of the same number the wider, so that no two sentences disagree.

    Where every set has both sides, flips toward - against the stereotype are the gap.
    """
    gap, bias = measured.get("accuracy_gap", type=kind), measured.get("flip_bias", type=kind)
    if gap is None or bias is None or abs(abs(bias.value) - gap.value) > SAME:
        return gap
    widest = bias.high - bias.low > gap.high - gap.low
    return _absolute(bias) if widest and is_shown(bias) != (gap.low > 0) else gap


SAME = 1e-9
"""Two means of the same answers differ by rounding only."""


def _ucerf(measured: Measurements, kind: str, words: Words) -> Iterator[Sentence]:
    names = [measured.own(name) for name in ("ucerf_signed", "ucerf")]
    signed, published = (measured.get(name, type=kind) for name in names)
    estimator = names[1].removeprefix("ucerf").strip("_").replace("_", "-")
    by = f" by {estimator}" if estimator else ""
    if signed is not None:
        text = (
            f"Signed UCerF{by} is {span(signed)} on {signed.n:,} {adjective(kind)}sets (1: the same answer with the"
            f" same certainty, whatever the {words.group_word})."
        )
        if published is not None:
            text += f" UCerF as published is {span(published)}; it compares certainty only, not the answers."
        yield Sentence("ucerf", text, kind)
    elif published is not None:
        text = (
            f"UCerF{by} is {span(published)} on {published.n:,} {adjective(kind)}sets (1: equally certain and equally"
            f" right, whatever the {words.group_word})."
        )
        yield Sentence("ucerf", text, kind)


SCALE = "on the scale from -1 (certain and wrong) to 1 (certain and right)"


def _desirability(measured: Measurements, kind: str, words: Words) -> Iterator[Sentence]:
    gap = measured.get("desirability_gap", type=kind)
    if gap is None:
        return
    about = f"(n = {gap.n:,} sentences in sets with both sides)"
    if is_shown(gap):
        text = (
            f"The same sentence scores {span(_absolute(gap))} {'lower' if gap.value > 0 else 'higher'} when the"
            f" {words.group_word} goes against the stereotype, {SCALE} {about}."
        )
    else:
        reason = "" if pd.isna(gap.low) else ", and this interval includes 0"
        text = (
            f"The same sentence has no clearly different score with and against the stereotype, {SCALE}: the"
            f" difference is {span(gap)}{reason} {about}."
        )
    yield Sentence("desirability", text, kind)


def _certainty(measured: Measurements, kind: str, words: Words) -> Iterator[Sentence]:
    gap = measured.get("certainty_gap", type=kind)
    if gap is None or not is_shown(gap):
        return
    more, less = (words.male, words.female) if gap.value > 0 else (words.female, words.male)
    text = (
        f"For the same sentence, it is more certain with “{more}” than with “{less}”: by {span(_absolute(gap))} on the"
        f" scale from 0 to 1 (n = {gap.n:,} {items_of(kind)})."
    )
    yield Sentence("certainty", text, kind)


def _absolute(row: Measurement) -> Estimate:
    """Return the size of a difference whose interval does not include 0."""
    return abs(row.estimate)


def is_shown(row: Measurement) -> bool:
    """Return whether a signed difference is shown: its interval does not include 0."""
    return bool(row.low > 0 or row.high < 0)


def count(rate: Measurement) -> int:
    """Return how many units a share counts."""
    return round(rate.value * rate.n)


def percent(row: Measurement) -> str:
    """Return the interval of a share in percent."""
    return "[no interval]" if pd.isna(row.low) or pd.isna(row.high) else f"[{row.low:.1%}, {row.high:.1%}]"


def points(row: Measurement | Estimate) -> str:
    """Return a difference of shares in percentage points, with its interval."""
    if pd.isna(row.low) or pd.isna(row.high):
        return f"{100 * row.value:.1f} points [no interval]"
    return f"{100 * row.value:.1f} points [{100 * row.low:.1f}, {100 * row.high:.1f}]"


def _variants(measured: Measurements) -> int:
    return len({parts["seed"] for parts in measured.groups.values() if "seed" in parts})
