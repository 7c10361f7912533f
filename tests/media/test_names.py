"""Names of a chart are whole where there is room, never cut by its edge, and never upon each other."""

from __future__ import annotations

import pytest
from kept_texts import assert_kept
from sample_charts import EVERY, ODD, radars

from equipoise.media.layout import arrange
from equipoise.media.names import (
    LETTER,
    LONGEST,
    MANY,
    RADII,
    RIM,
    name_room,
    radius_of,
    rim_lines,
    rim_places,
    rim_room,
    short,
    whole_names_width,
)
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


POLAR = {name: chart for name, chart in {**EVERY, **ODD}.items() if chart.panels[0].polar}


@pytest.mark.parametrize("name", POLAR)
def test_names_around_a_panel_are_where_they_were_kept(name: str) -> None:
    panels, found = POLAR[name].panels, {}
    for number, panel in enumerate(panels[:2]):
        for letters in (14, 11, 9):
            lines = {"lines": rim_lines(panel, letters)}
            for radius in (3.0, 7.2):
                lines[f"radius {radius}"] = list(rim_places(panel, (20.0, 10.0), radius, letters))
            found[f"panel {number}, {letters} letters"] = lines
        found[f"panel {number}, room"] = (rim_room(panel), rim_room(panel, at_the_bottom=True))
    widths = (10.0, 19.0, 22.0, 25.0, 30.0, 34.0, 60.0)
    found["radius and letters"] = {f"{width:g} wide": radius_of(panels, width) for width in widths}
    found["whole names"] = whole_names_width(panels)
    assert_kept(f"media/names/{name.replace(' ', '-')}", found)


def test_names_are_cut_at_the_last_letter_that_has_room() -> None:
    assert short("a" * LONGEST) == "a" * LONGEST and short("a" * (LONGEST + 1)) == "a" * (LONGEST - 1) + "…"
    assert len(short("a" * 99, 7)) == 7
    assert name_room([]) == 0.8 and name_room(["a" * 10, "a"]) == pytest.approx(0.8 + 1.1 * LETTER * 10)
    assert name_room(["a" * 99]) == pytest.approx(0.8 + 1.1 * LETTER * LONGEST)


def test_what_begins_alike_is_said_each_time_among_few_and_once_among_many() -> None:
    for count, times in ((12, 12), (13, 1)):
        panel = Panel([], Axis.of_names([f"fem: {n}" for n in range(count)]), polar=True)
        assert [lines[0] for lines in rim_lines(panel, 14)].count("fem:") == times


@pytest.mark.parametrize("count", [4, 13, 30])
def test_there_is_room_for_the_lines_of_the_most_narrow_names(count: int) -> None:
    """Counted again: names may be parted into lines of 9 letters, so that many lines must have room."""
    names = ["ten letters", *(f"name {n}" for n in range(1, count))]
    names[count // 2] = "eleven more words"
    panel = Panel([], Axis.of_names(names), polar=True)
    assert [len(rim_lines(panel, letters)[0]) for letters in (14, 11, 9)] == [1, 1, 2]
    assert [len(rim_lines(panel, letters)[count // 2]) for letters in (14, 11, 9)] == [2, 2, 3]
    lines = 2 + 3 + count - 2
    crowd = max(0.0, lines / 4 - RADII[0]) if count > MANY else 0.0
    assert rim_room(panel) == pytest.approx(RIM + 0.3 + crowd + 2)
    assert rim_room(panel, at_the_bottom=True) == pytest.approx(RIM + 0.3 + crowd + 3)
