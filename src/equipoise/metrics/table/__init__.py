"""In: the pure functions of this package.
Out: the table of all built-in metrics, one row for each, which owns its facts."""

from __future__ import annotations

from .answers import ANSWERS
from .calibration import CALIBRATION
from .decisions import DECISION_PAIRS, DECISIONS
from .fairness import FAIRNESS
from .group_wise import GROUP_PAIRS, GROUP_WISE
from .identities import IDENTITIES
from .questions import QUESTIONS

_TABLES = (FAIRNESS, DECISIONS, ANSWERS, GROUP_WISE, QUESTIONS, GROUP_PAIRS, DECISION_PAIRS, CALIBRATION, IDENTITIES)
METRICS = {metric.name: metric for table in _TABLES for metric in table}
"""Name -> metric. Other packages add theirs by the entry point `equipoise.metrics`."""
