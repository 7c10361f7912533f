"""Arrays in, one float out: pure functions, and the table `METRICS`, in which each metric owns its facts.

A new metric is one function and one row; see docs/how-to/add-a-metric.md.
"""

from __future__ import annotations

from .metric import Metric
from .table import METRICS

__all__ = ["METRICS", "Metric"]
