"""Names of a chart are whole where there is room, never cut by its edge, and never upon each other."""

from __future__ import annotations

import pytest
from sample_charts import EVERY, radars

from equipoise.media.layout import arrange
from equipoise.media.names import LETTER, rim_lines, rim_places, short
from equipoise.records.showing import Axis, Chart, Panel


def test_long_names_are_cut_and_wrapped() -> None:
    assert short("a" * 50, 10) == "a" * 9 + "…" and short("abc", 3) == "abc"
    names = ["masc: neurodivergent", "fem", "fem: " + "word " * 30, "non-English-speaking"]
    few = Panel([], Axis.of_names(names), polar=True)
    assert rim_lines(few, 14)[:2] == [["masc:", "neurodivergent"], ["fem"]]
    assert len(rim_lines(few, 14)[2]) == 4 and rim_lines(few, 14)[3] == ["non-English-", "speaking"]
    assert rim_lines(few, 9)[0] == ["masc:", "neurodi-", "vergent"], "parted where there is no room for the word"
    many = Panel([], Axis.of_names([f"{gender}: {n}" for gender in ("fem", "masc") for n in range(10)]), polar=True)
    starts = [lines[0] for lines in rim_lines(many, 14)]
    assert starts == ["fem:", *map(str, range(1, 10)), "masc:", *map(str, range(1, 10))], "said where it changes"


@pytest.mark.parametrize("width", [39.0, 81.0])
@pytest.mark.parametrize("chart", [EVERY["crowded"], radars(5)], ids=["crowded", "radar"])
def test_names_around_a_radar_lie_apart_outside_of_it_and_inside_the_chart(chart: Chart, width: float) -> None:
    for place in arrange(chart, width).places:
        reach, boxes = {"start": 0.0, "middle": 0.5, "end": 1.0}, []
        for x, y, anchor, word in rim_places(place.panel, place.middle, place.height / 2, place.letters):
            wide = LETTER * len(word)
            boxes.append((x - reach[anchor] * wide, y - 0.75, x + (1 - reach[anchor]) * wide, y + 0.2))
        for number, (left, top, right, bottom) in enumerate(boxes):
            assert left >= 0 and right <= width and top >= 0 and bottom <= arrange(chart, width).height
            middle, radius = place.middle, place.height / 2
            near = (min(max(middle[0], left), right), min(max(middle[1], top), bottom))
            assert (near[0] - middle[0]) ** 2 + (near[1] - middle[1]) ** 2 > radius**2 * 0.99
            for other in boxes[:number]:
                assert right <= other[0] or other[2] <= left or bottom <= other[1] + 0.1 or other[3] <= top + 0.1


def test_a_polar_panel_is_as_large_as_its_names_let_it_be() -> None:
    """Words are whole where two panels fit side by side; in a column of a paper they are parted instead."""
    wide, narrow = (arrange(radars(6), width).places for width in (81.0, 39.0))
    assert wide[0].letters > narrow[0].letters and len({place.left for place in narrow}) == 2
    assert wide[0].height > narrow[0].height >= 8.0
