"""What a decision means for the person: the columns of items whose answers are good or bad for somebody."""

from __future__ import annotations

import numpy as np

from ..metrics import decisions
from ..records import ABSENT, MEANINGS, Booleans, Floats, Integers, Outcomes

DECISION_COLUMNS = ("p_good", "chose_good", "logit_good", "good_lean", "good_range")


def decision_columns(outcomes: Outcomes, members: Integers, open_answers: Booleans) -> dict[str, Floats]:
    """Return P(good) of each item, its logit, and how far it is from the others of its set; NaN without a decision."""
    decides = outcomes.good != ABSENT
    if not decides.any():
        return dict.fromkeys(DECISION_COLUMNS, np.full(len(outcomes), np.nan))
    # The last classes of an open answer do not decide: refused, unclear, …
    answers = np.where(open_answers, outcomes.k - len(MEANINGS), outcomes.k)
    p_good = decisions.good_probability(outcomes.probs, outcomes.good, answers)
    chose = np.where(decides, (outcomes.predicted == outcomes.good).astype(float), np.nan)
    lean, reach = np.full(len(outcomes), np.nan), np.full(len(outcomes), np.nan)
    if len(members):
        inside = members != ABSENT
        values = np.where(inside, p_good[members], np.nan)
        known = members[~np.isnan(values).any(axis=1, where=inside)]
        if len(known):
            _of_sets(p_good, known, lean, reach)
    logit = decisions.good_logit(outcomes.probs, outcomes.good, answers)
    return dict(zip(DECISION_COLUMNS, (p_good, chose, logit, lean, reach), strict=True))


def _of_sets(p_good: Floats, members: Integers, lean: Floats, reach: Floats) -> None:
    """Fill in how far each item is from the mean of its set, and on the first one how far apart the set is."""
    inside = members != ABSENT
    values = np.where(inside, p_good[members], np.nan)
    lean[members[inside]] = (values - np.nanmean(values, axis=1, keepdims=True))[inside]
    reach[members[:, 0]] = np.nanmax(values, axis=1) - np.nanmin(values, axis=1)
