"""The cases that show what was found: one of that very finding, or the set that is treated least alike."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from ..metrics.confidence import coreference_confidence
from ..records import ABSENT, DECIDED, Floats
from ..records.showing import Finding, case_link
from ..runs.run import Part
from ..runs.tables import column, main_estimator
from ..verdict.identities import Change, strongest_change
from ..verdict.subgroups import NONE, subgroups
from ..verdict.summary import part_summary
from .flips import FATE_WORDS, FATES, members_and_fates, of_sets

ALIKE = 0.9995
"""A U from here on is written 1.000."""


def examples(part: Part) -> Iterator[Finding]:
    """Yield the cases of the first screen, each under a title, or that all sets are treated alike."""
    change = strongest_change(subgroups(part))
    if change is not None:
        yield from _marked(part, change)
    elif len(members_and_fates(part)[0]):
        yield from _of_finding(part)
    else:
        yield from _surest_wrong(part)


def set_table(part: Part) -> pd.DataFrame:
    """Return the counterfactual sets: `set_id`, `variant`, `type`, `fate` and `u`.

    U is the signed one, which sees the answers, but where the group word decides which answer is right.
    """
    firsts, fates = members_and_fates(part)
    outcomes, pairs = part.outcomes, part.pairs
    signed, plain = (column(pairs, main_estimator(pairs, name)) for name in ("u_signed", "u"))
    texts = {"set_id": outcomes.set_id, "variant": outcomes.variant, "type": outcomes.group("type")}
    table = pd.DataFrame({name: column[firsts] for name, column in texts.items()})
    table["fate"] = np.array(FATES, dtype=object)[fates]
    plain_u, signed_u = of_sets(part, np.stack([plain, signed], axis=1), firsts).T
    table["u"] = np.where((table["type"] == DECIDED) | np.isnan(signed_u), plain_u, signed_u)
    return table.dropna(subset="u")


def _of_finding(part: Part) -> Iterator[Finding]:
    """Yield the least alike of the sets that the first claim speaks of: those that changed in its direction."""
    table, lead = set_table(part), part_summary(part).verdict.lead
    if lead is not None and lead.kind:
        table = table[table["type"] == lead.kind]
    if lead is not None and lead.topic in ("flips", "accuracy"):
        bias = part.measured.get("flip_bias", type=lead.kind)
        fate = "against" if bias is not None and bias.value < 0 else "toward"
        changed = table[table["fate"] == fate]
        if len(changed):
            yield _case(part, changed, f"A set whose answer {FATE_WORDS[fate]}")
            return
    table = table[(table["u"] < ALIKE) | (table["fate"] != "same")]
    if len(table):
        yield _case(part, table, "The set that is treated least alike")
    else:
        yield Finding("No example: every set gets the same answer, with the same certainty.", state="note")


def _case(part: Part, table: pd.DataFrame, title: str) -> Finding:
    row = table.iloc[int(table["u"].argmin())]
    return Finding(title, example=case_link(row["set_id"], str(part), row["variant"]))


def _surest_wrong(part: Part) -> Iterator[Finding]:
    """Yield the sentence pair that the model is surest about where people say the opposite, or where nobody says."""
    items = part.items.assign(surest=part.outcomes.probs.max(axis=1))
    items, title = items[items["sides"] != ""], "Surest of all"
    if len(items) and (items["gold"] != ABSENT).any():
        items, title = items[items["correct"] == 0], "Surest where people say otherwise"
    if len(items):
        row = items.iloc[int(items["surest"].argmax())]
        link = case_link(str(row["set_id"]), str(part), "" if pd.isna(row["variant"]) else str(row["variant"]))
        yield Finding(title, example=link)


def _marked(part: Part, change: Change) -> Iterator[Finding]:
    """Yield the sentence in which a marker changes confidence most, with the marker and without it."""
    items = part.of_kind(part.items.assign(confidence=_confidence(part)), change.kind)
    unmarked = items[items["augmentation"] == NONE]
    chosen = (items["augmentation"] == change.way) & (items["attribute"] == change.attribute)
    marked = items[chosen & (items["marker"] == change.marker)]
    beside = ["cluster_id", "gender", "variant"]
    both = marked.merge(unmarked[[*beside, "set_id", "confidence"]], on=beside, suffixes=("", "_unmarked"))
    moved = (both["confidence"] - both["confidence_unmarked"]) * np.sign(change.row.value)
    if not moved.notna().any():
        return
    row = both.iloc[int(moved.argmax())]
    variant = str(row["variant"] or "")
    way = "lowers" if change.row.value < 0 else "raises"
    title = f"Where {change.name} {way} confidence most"
    yield Finding(title, example=case_link(str(row["set_id"]), str(part), variant))
    yield Finding("The same without a marker", example=case_link(str(row["set_id_unmarked"]), str(part), variant))


def _confidence(part: Part) -> Floats:
    return coreference_confidence(part.outcomes.gold, part.outcomes.logprobs)
