"""In: the pure functions of this package.
Out: the table of all built-in metrics, one row for each, which owns its facts."""

from __future__ import annotations

from .calibration import CALIBRATION
from .fairness import FAIRNESS
from .group_wise import GROUP_PAIRS, GROUP_WISE
from .identities import IDENTITIES
from .questions import QUESTIONS

METRICS = {
    metric.name: metric for metric in (*FAIRNESS, *GROUP_WISE, *QUESTIONS, *GROUP_PAIRS, *CALIBRATION, *IDENTITIES)
}
"""Name -> metric. Other packages add theirs by the entry point `equipoise.metrics`."""
