"""The chart of power against sets."""

from __future__ import annotations

from kept_texts import assert_kept
from rich.console import Console

from equipoise.records import Estimate
from equipoise.records.showing import Dot
from equipoise.report import plan_text
from equipoise.topics.power import power


def exact(share: float) -> Estimate:
    return Estimate(share, share, share, 0.95, 100, "")


def test_every_size_has_a_bar_as_long_as_its_power() -> None:
    powers = [(100, exact(0.3)), (1200, exact(0.8))]
    bars = power("detect", "builtin", powers).panels[0].marks
    assert [bar.x for bar in bars] == [(0.0, 0.3), (0.0, 0.8)]  # type: ignore[union-attr]
    assert [bar.y for bar in bars] == [(-0.35, 0.35), (0.65, 1.35)]  # type: ignore[union-attr]
    console = Console(width=100, record=True)
    console.print(plan_text("detect flip_bias", "builtin", powers))
    text = console.export_text()
    assert "1,200 sets" in text and "80.0%" in text


def test_what_an_earlier_run_leaves_open_is_drawn_and_said() -> None:
    powers = [(100, Estimate(0.3, 0.25, 0.36, 0.95, 266, "")), (1200, Estimate(0.8, 0.74, 0.85, 0.95, 266, ""))]
    console = Console(width=140, record=True)
    console.print(plan_text("detect flip_bias", "builtin", powers))
    text = " ".join(console.export_text().split())
    assert "0.800 [0.740, 0.850]" in text and "266 base sentences of the earlier run" in text


def test_what_is_described_is_as_it_was_kept() -> None:
    assert_kept("topics/power", power("detect flip_bias", "builtin", [(100, exact(0.3)), (1200, exact(0.8))]))


def test_what_an_earlier_run_leaves_open_is_as_it_was_kept() -> None:
    powers = [(100, Estimate(0.3, 0.25, 0.36, 0.95, 1266, "")), (1200, exact(0.8))]
    assert_kept("topics/power-open", power("detect flip_bias", "builtin", powers))


def test_an_end_above_the_value_is_drawn_too() -> None:
    for share in (Estimate(0.3, 0.3, 0.4, 0.95, 9, ""), Estimate(0.3, 0.2, 0.3, 0.95, 9, "")):
        (mark,) = power("detect", "builtin", [(100, share)]).panels[0].marks
        assert isinstance(mark, Dot) and mark.x == share
