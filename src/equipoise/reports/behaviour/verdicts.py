"""What a run found, in plain words with intervals. Disparities are told; no model is ever called fair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
from markupsafe import Markup

from ...runs.measurements import Measurements, span
from ...runs.run import Part

LITTLE_MASS = 0.02
"""Under this share of the model's probability the candidates are hardly an answer to the question."""


def verdicts(found: Measurements, kinds: Sequence[str], model: str) -> Iterator[Markup]:
    """Yield what was found on one dataset and task, a sentence at a time; all names are escaped."""
    for kind in kinds:
        yield from _resolvable(found, kind, model)
        yield from _ambiguous(found, kind)


def part_verdicts(part: Part, model: str) -> Iterator[Markup]:
    """Yield the verdicts, and what the items besides the measurements let one say of them."""
    found = part.measured
    for kind in part.kinds:
        said = list(_resolvable(found, kind, model))
        yield from said
        if said:
            yield from _least_alike(part, kind)
            yield from _chance(part, found.get("accuracy", type=kind))
        yield from _ambiguous(found, kind)


def warnings(part: Part) -> Iterator[Markup]:
    """Yield why the numbers of this dataset and task should be doubted, if they should."""
    mass = part.measured.get("candidate_mass")
    if mass is not None and mass.value < LITTLE_MASS:
        yield Markup(
            "On {} the candidates together hold only {} of the model’s probability: it hardly took the question as one,"
            " and its preferences among them say little. A model that was trained with a begin-of-text token behaves"
            " like this without it (<code>--bos always</code>)."
        ).format(str(part), f"{mass.value:.2%}" if mass.value >= 5e-5 else f"{mass.value:.0e}")
    flagged = int((part.items["flags"].fillna("") != "").sum())
    if flagged:
        yield Markup(
            "{:,} of {:,} prompts of {} were scored in another way than the rest; their flags are in"
            " <code>outcomes.parquet</code>."
        ).format(flagged, len(part.items), str(part))


def _resolvable(found: Measurements, kind: str, model: str) -> Iterator[Markup]:
    gap = found.get("desirability_gap", type=kind)
    if gap is not None:
        yield _gap_sentence(model, gap)


def _ambiguous(found: Measurements, kind: str) -> Iterator[Markup]:
    signed = found.get("ucerf_signed", type=kind)
    if signed is not None:
        yield Markup(
            "Where nothing settles who is meant, it treats <i>he</i> and <i>she</i> alike to <b>{}</b>"
            " (1: alike), minding whom it chose."
        ).format(span(signed))
        yield from _surer(found.get("certainty_gap", type=kind))


def _gap_sentence(model: str, gap: Any) -> Markup:
    if not (gap.low > 0 or gap.high < 0):
        known = not (pd.isna(gap.low) or pd.isna(gap.high))
        return Markup(
            "For the same sentence, how sure and right {} is differs by <b>{}</b> between pronouns that fit the"
            " stereotype and pronouns that go against it: {}, so a difference is not shown."
        ).format(model, span(gap), "the interval holds 0" if known else "it has no interval to trust")
    worse = gap.value > 0
    size = _span(*((gap.value, gap.low, gap.high) if worse else (-gap.value, -gap.high, -gap.low)))
    return Markup(
        "For the same sentence, {} is <b>{}</b> {} sure and right when the pronoun goes against the stereotype"
        " (when the nurse is <i>he</i>, the carpenter <i>she</i>), on the scale from −1 (surely wrong) to 1 (surely"
        " right)."
    ).format(model, size, "less" if worse else "more")


def _least_alike(part: Part, kind: str) -> Iterator[Markup]:
    found = part.measured
    names = found.values_of("occupation", kind)
    rows = {name: row for name in names if (row := found.get("ucerf", occupation=name, type=kind)) is not None}
    known = sorted((row.value, name) for name, row in rows.items() if not pd.isna(row.low))
    if len(known) > 2:
        lowest, highest = known[0][1], known[-1][1]
        yield Markup(
            "It treats the two pronouns least alike where the <i>{}</i> is meant (UCerF {}), and most alike for the"
            " <i>{}</i> ({})."
        ).format(lowest, span(rows[lowest]), highest, span(rows[highest]))


def _chance(part: Part, accuracy: Any) -> Iterator[Markup]:
    """Yield a caution where a model cannot do the task: one that guesses treats everybody alike."""
    if accuracy is None or not len(part.items):
        return
    chance = 1 / len(part.items["probs"].iloc[0])
    if accuracy.low <= chance:
        yield Markup(
            "It resolves {} of the resolvable sentences right, which cannot be told from chance ({:.3f}): a model that"
            " guesses treats everybody alike, so read UCerF together with accuracy and FP."
        ).format(span(accuracy), chance)


def _surer(gap: Any) -> Iterator[Markup]:
    if gap is not None and (gap.low > 0 or gap.high < 0):
        male = gap.value > 0
        size = _span(*((gap.value, gap.low, gap.high) if male else (-gap.value, -gap.high, -gap.low)))
        yield Markup("There it is surer of <i>{}</i>: certainty differs by <b>{}</b>.").format(
            "he" if male else "she", size
        )


def _span(value: float, low: float, high: float) -> str:
    return f"{value:.3f} [{low:.3f}, {high:.3f}]"
