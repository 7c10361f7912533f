"""The chart of power against sets."""

from __future__ import annotations

from rich.console import Console

from equipoise.report import plan_text
from equipoise.topics.power import power


def test_every_size_has_a_bar_as_long_as_its_power() -> None:
    powers = [(100, 0.3), (1200, 0.8)]
    bars = power("detect", "builtin", powers).panels[0].marks
    assert [bar.x for bar in bars] == [(0.0, 0.3), (0.0, 0.8)]  # type: ignore[union-attr]
    assert [bar.y for bar in bars] == [(-0.35, 0.35), (0.65, 1.35)]  # type: ignore[union-attr]
    console = Console(width=100, record=True)
    console.print(plan_text("detect flip_bias", "builtin", powers))
    text = console.export_text()
    assert "1,200 sets" in text and "80%" in text
