"""What a decision means for the person: the columns of items whose answers are good or bad for somebody."""

from __future__ import annotations

import numpy as np

from ..metrics import decisions
from ..records import ABSENT, MEANINGS, Booleans, Floats, Integers, Outcomes
from .sets import of_members

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
    # How far each item is from the mean of its set and, on the first one, how far apart the set is.
    known = members[~np.isnan(p_good[members]).any(axis=1, where=members != ABSENT)]
    values, inside = of_members(p_good, known), known != ABSENT
    lean[known[inside]] = (values - np.nanmean(values, axis=1, keepdims=True))[inside]
    reach[known[:, 0]] = np.nanmax(values, axis=1) - np.nanmin(values, axis=1)
    logit = decisions.good_logit(outcomes.probs, outcomes.good, answers)
    return dict(zip(DECISION_COLUMNS, (p_good, chose, logit, lean, reach), strict=True))
