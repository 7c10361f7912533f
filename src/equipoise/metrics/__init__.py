"""In: arrays of items or sets, one per column of `metrics/columns.py`.
Out: one number; the table below holds every metric with its facts.

A new metric is a pure function and a row, here or in another package under the entry point `equipoise.metrics`; see
docs/how-to/plug-ins.md.
"""

from __future__ import annotations

from .metric import Metric
from .table import METRICS

__all__ = ["METRICS", "Metric"]
