"""How often an audit of a number of sets shows what it is to show."""

from __future__ import annotations

from collections.abc import Sequence

from ..records.showing import Axis, Bar, Chart, Panel


def power(wish: str, where: str, powers: Sequence[tuple[int, float]]) -> Chart:
    """Return the power against the number of sets, as bars."""
    names = [f"{sets:,} sets" for sets, _ in powers]
    bars = [
        Bar((0.0, share), (place - 0.35, place + 0.35), "neither", names[place], f"{share:.0%}")
        for place, (_, share) in enumerate(powers)
    ]
    panel = Panel(bars, Axis("power", unit="%"), Axis.of_names(names))
    caption = "How often that many sets would show it, by the interval of a full audit."
    return Chart(f"{wish} ({where})", [panel], "power", caption=caption)
