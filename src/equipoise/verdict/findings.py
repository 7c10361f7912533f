"""Findings from the measurements of a run: flips first, then rates, then scores. No model is ever called fair."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..records import Estimate, Measurement
from ..records.showing import Finding
from ..runs.measurements import Measurements
from .words import Words, adjective
from .words import sentences as items_of

SAME = 1e-9
"""Two means of the same answers differ by rounding only."""

SCALE = "on the scale from -1 (certain and wrong) to 1 (certain and right)"


def behaviour(measured: Measurements, kinds: list[str], words: Words) -> Iterator[Finding]:
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


def _flips(measured: Measurements, kind: str, words: Words) -> Iterator[Finding]:
    rate = measured.get("flip_rate", type=kind)
    if rate is None:
        return
    toward, against = measured.get("flip_toward", type=kind), measured.get("flip_against", type=kind)
    sets = f"{rate.n:,} {adjective(kind)}set{'s' if rate.n != 1 else ''}"
    changed = f"The {words.group_word} changed the answer in"
    ways = [way for way in (toward, against) if way is not None]
    if measured.spread("flip_rate", rate.group) is not None:
        text = f"{changed} {rate:%} of {sets}"
        if toward is not None and against is not None:
            text += f" (toward the stereotype {toward.value:.1%}, against it {against.value:.1%})"
        text += f", averaged over {_variants(measured)} ways to ask"
    else:
        text = f"{changed} {count(rate):,} of {sets} ({rate:%})"
        if toward is not None and against is not None and count(rate):
            text += _directions(rate, toward, against)
    yield Finding(f"{text}.", [rate, *ways], "flips", kind)
    yield from _flip_bias(measured.get("flip_bias", type=kind), rate, kind)


def _directions(rate: Measurement, toward: Measurement, against: Measurement) -> str:
    neither = count(rate) - count(toward) - count(against)
    more = f", {neither:,} neither" if neither > 0 else ""
    return f": {count(toward):,} toward the stereotype, {count(against):,} against it{more}"


def _flip_bias(bias: Measurement | None, rate: Measurement, kind: str) -> Iterator[Finding]:
    if bias is None or not rate.value:
        return
    n = f"(n = {bias.n:,} {adjective(kind)}sets)"
    if is_shown(bias):
        way, other = ("toward", "against") if bias.value > 0 else ("against", "toward")
        text = f"The answer changes {way} the stereotype more often than {other} it: the two shares differ by"
        text += f" {bias:points} {n}."
    else:
        text = "The changes have no clear direction: the shares toward and against the stereotype differ by"
        text += f" {bias:points}, and this interval includes 0 {n}."
    yield Finding(text, [bias], "flip_bias", kind)


def _rates(measured: Measurements, kind: str) -> Iterator[Finding]:
    pro = measured.get("accuracy", type=kind, stereotype="pro")
    anti = measured.get("accuracy", type=kind, stereotype="anti")
    whole = measured.get("accuracy", type=kind)
    if pro is not None and anti is not None:
        text = f"It is right in {pro:%} of {pro.n:,} {items_of(kind)} that fit the stereotype, and in {anti:%} of"
        text += f" {anti.n:,} that go against it"
        gap = _accuracy_gap(measured, kind)
        if gap is not None:
            text += f": a gap of {gap:points}" if gap.low > 0 else f": no clear gap ({gap:points})"
        rests_on = [pro, anti, *filter(None, [measured.get("accuracy_gap", type=kind)])]
        yield Finding(f"{text}.", rests_on, "accuracy", kind)
    elif whole is not None:
        yield Finding(f"It is right in {whole:%} of {whole.n:,} {items_of(kind)}.", [whole], "accuracy", kind)


def _accuracy_gap(measured: Measurements, kind: str) -> Estimate | None:
    """Return the gap of accuracy; of two intervals of the same number the wider, so that no two sentences disagree.

    Where every set has both sides, flips toward - against the stereotype are the gap.
    """
    gap, bias = measured.get("accuracy_gap", type=kind), measured.get("flip_bias", type=kind)
    if gap is None:
        return None
    if bias is None or abs(abs(bias.value) - gap.value) > SAME:
        return gap.estimate
    widest = bias.high - bias.low > gap.high - gap.low
    return absolute(bias) if widest and is_shown(bias) != (gap.low > 0) else gap.estimate


def _ucerf(measured: Measurements, kind: str, words: Words) -> Iterator[Finding]:
    names = [measured.own(name) for name in ("ucerf_signed", "ucerf")]
    signed, published = (measured.get(name, type=kind) for name in names)
    estimator = names[1].removeprefix("ucerf").strip("_").replace("_", "-")
    by = f" by {estimator}" if estimator else ""
    if signed is not None:
        text = f"Signed UCerF{by} is {signed} on {signed.n:,} {adjective(kind)}sets (1: the same answer with the same"
        text += f" certainty, whatever the {words.group_word})."
        if published is not None:
            text += f" UCerF as published is {published}; it compares certainty only, not the answers."
        yield Finding(text, [signed, *filter(None, [published])], "ucerf", kind)
    elif published is not None:
        text = f"UCerF{by} is {published} on {published.n:,} {adjective(kind)}sets (1: equally certain and equally"
        text += f" right, whatever the {words.group_word})."
        yield Finding(text, [published], "ucerf", kind)


def _desirability(measured: Measurements, kind: str, words: Words) -> Iterator[Finding]:
    gap = measured.get("desirability_gap", type=kind)
    if gap is None:
        return
    about = f"(n = {gap.n:,} sentences in sets with both sides)"
    if is_shown(gap):
        way = "lower" if gap.value > 0 else "higher"
        text = f"The same sentence scores {absolute(gap)} {way} when the {words.group_word} goes against the"
        text += f" stereotype, {SCALE} {about}."
    else:
        reason = ", and this interval includes 0" if gap.estimate.has_interval else ""
        text = f"The same sentence has no clearly different score with and against the stereotype, {SCALE}: the"
        text += f" difference is {gap}{reason} {about}."
    yield Finding(text, [gap], "desirability", kind)


def _certainty(measured: Measurements, kind: str, words: Words) -> Iterator[Finding]:
    gap = measured.get("certainty_gap", type=kind)
    if gap is None or not is_shown(gap):
        return
    more, less = (words.male, words.female) if gap.value > 0 else (words.female, words.male)
    text = f"For the same sentence, it is more certain with “{more}” than with “{less}”: by {absolute(gap)} on the"
    text += f" scale from 0 to 1 (n = {gap.n:,} {items_of(kind)})."
    yield Finding(text, [gap], "certainty", kind)


def absolute(row: Measurement) -> Estimate:
    """Return the size of a difference whose interval does not include 0."""
    signed = row.estimate
    return signed if signed.value > 0 else replace(signed, value=-signed.value, low=-signed.high, high=-signed.low)


def is_shown(row: Measurement) -> bool:
    """Return whether a signed difference is shown: its interval does not include 0."""
    return bool(row.low > 0 or row.high < 0)


def count(rate: Measurement) -> int:
    """Return how many units a share counts."""
    return round(rate.value * rate.n)


def _variants(measured: Measurements) -> int:
    return len({parts["seed"] for parts in measured.groups.values() if "seed" in parts})
