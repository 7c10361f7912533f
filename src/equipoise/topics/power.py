"""How often an audit of a number of sets shows what it is to show."""

from __future__ import annotations

from collections.abc import Sequence

from ..records import Estimate
from ..records.showing import Axis, Bar, Chart, Dot, Panel


def power(wish: str, where: str, powers: Sequence[tuple[int, Estimate]]) -> Chart:
    """Return the power against the number of sets: bars, or dots with what an earlier run leaves open."""
    names = [f"{sets:,} sets" for sets, _ in powers]
    shares = [share for _, share in powers]
    caption = "How often that many sets would show it, by the interval of a full audit."
    if any(share.low < share.high for share in shares):
        marks: list[Bar | Dot] = [Dot(share, place, label=names[place]) for place, share in enumerate(shares)]
        caption += (
            f" In brackets: as far as the {shares[0].n:,} base sentences of the earlier run tell how much sets differ."
        )
    else:
        marks = [
            Bar((0.0, share.value), (place - 0.35, place + 0.35), "neither", names[place], f"{share.value:.0%}")
            for place, share in enumerate(shares)
        ]
    panel = Panel(marks, Axis("power", unit="%"), Axis.of_names(names))
    return Chart(f"{wish} ({where})", [panel], "power", caption=caption)
