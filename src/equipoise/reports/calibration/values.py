"""What the charts of calibration show, as tables: for readers of screens, and for copying."""

from __future__ import annotations

from ..summary.labels import LabelView
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


def label_values(view: LabelView) -> Values:
    """Return the share of sentences that people call by the first side, and what the model says."""
    stated = ("the model", f"{view.stated:.3f}", f"{view.low:.3f}", f"{view.high:.3f}", f"{view.n:,}")
    people = [("people", f"{view.labelled:.3f}", "–", "–", f"{view.n:,}")] if view.labelled is not None else []
    return Values(("who", view.side, "low", "high", "n"), [*people, stated])
