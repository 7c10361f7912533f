"""What the charts of calibration show, as tables: for readers of screens, and for copying."""

from __future__ import annotations

from ..svg.values import Values
from .views import Reliability, Workforce


def reliability_values(view: Reliability) -> Values:
    """Return every bin of every group: what the model says, how often it happens, and of how many items."""
    rows = [
        (name, f"{row.confidence:.3f}", f"{row.rate:.3f}", f"{row.low:.3f}", f"{row.high:.3f}", f"{row.items:,}")
        for name, table in view.lines
        for row in table.itertuples()
    ]
    return Values(("group", f"P({view.side})", "happens", "low", "high", "n"), rows)


def workforce_values(view: Workforce) -> Values:
    """Return mean P(male) of every occupation with its interval, beside the share of men."""
    rows = [
        (row.name, f"{row.men:.2f}", f"{row.p:.3f}", f"{row.low:.3f}", f"{row.high:.3f}", f"{row.n:,}")
        for row in view.rows
    ]
    return Values(("occupation", "men at work", "P(male)", "low", "high", "n"), rows)
