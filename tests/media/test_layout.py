"""Everything of a chart is inside of it, and nothing lies upon another thing, at any width."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept_texts import assert_kept
from sample_charts import EVERY, ODD, radars, scatter

from equipoise.media import layout
from equipoise.media.layout import (
    LINE,
    Place,
    are_upright,
    arrange,
    below,
    bracket_lines,
    colour_scale,
    filled_tones,
    heat_limit,
    is_of,
    label_middle,
    note_places,
    row_name,
    shown_names,
    square_columns,
    tick_values,
    title_height,
    title_start,
    wrapped,
)
from equipoise.media.names import LETTER, name_room, short
from equipoise.records import Estimate
from equipoise.records.showing import Axis, Bar, Bracket, Chart, Dot, Heat, Key, Line, Note, Panel, Square, value_of

WIDTHS = (20.0, 31.0, 36.7, 69.4)


def box(place: Place) -> tuple[float, float, float, float]:
    return place.left, place.top, place.left + place.width, place.top + place.height


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("chart", EVERY.values(), ids=EVERY)
def test_panels_are_inside_the_chart_and_apart(chart: Chart, width: float) -> None:
    layout = arrange(chart, width)
    assert layout.width == width and len(layout.places) == len(chart.panels)
    for number, place in enumerate(layout.places):
        left, top, right, bottom = box(place)
        assert 0 <= left < right <= width + 1e-9 and 0 <= top < bottom
        assert bottom + below(place) <= layout.height + 1e-9
        for other in layout.places[:number]:
            others = box(other)
            assert right <= others[0] or others[2] <= left or bottom <= others[1] or others[3] <= top


@pytest.mark.parametrize("width", WIDTHS[1:])
@pytest.mark.parametrize("chart", EVERY.values(), ids=EVERY)
def test_every_mark_is_on_its_panel(chart: Chart, width: float) -> None:
    for place in arrange(chart, width).places:
        left, top, right, bottom = box(place)
        for dot in place.panel.marks_of(Dot):
            x, y = place(value_of(dot.x), value_of(dot.y))
            assert left - 1e-9 <= x <= right + 1e-9 and top - 1e-9 <= y <= bottom + 1e-9
        squares = list(place.panel.marks_of(Square))
        if squares:
            columns = square_columns(place.width)
            assert columns * 1.08 <= place.width + 0.3 and -(-len(squares) // columns) * 1.08 <= place.height + 0.1


def test_names_go_down_and_values_go_up() -> None:
    rows, plane = (arrange(EVERY[name], 40.0).places[0] for name in ("rows", "scatter"))
    assert rows(0.0, 0.0)[1] < rows(0.0, 2.0)[1]
    assert plane(0.0, 0.0)[1] > plane(0.0, 1.0)[1]


def test_names_beside_a_panel_have_room_and_are_told_once() -> None:
    first, second = arrange(EVERY["rows"], 40.0).places
    assert first.left >= name_room(first.panel.y.names) - 0.3
    assert first.y_shown and not second.y_shown


@pytest.mark.parametrize("width", WIDTHS)
def test_names_that_have_no_room_beside_a_panel_are_above_their_rows(width: float) -> None:
    for place in arrange(EVERY["names"], width).places:
        if not place.names_above:
            assert width == WIDTHS[-1] and place.left >= name_room(place.panel.y.names), "here they have room beside it"
            continue
        # The names take no room from the panel, and each row has room for its name.
        assert place.width > 0.85 * width / max(1, int(width // 22))
        assert place.height / 4 >= 2.4
        assert all(LETTER * len(row_name(name, place)) <= place.width for name in place.panel.y.names)
    assert not any(place.names_above for place in arrange(EVERY["rows"], width).places)


@pytest.mark.parametrize("width", WIDTHS[1:])
def test_a_legend_of_one_panel_is_under_it(width: float) -> None:
    layout = arrange(EVERY["names"], width)
    assert len(layout.keys) == 2 * len(layout.places)
    for number, place in enumerate(layout.places):
        for x, y, key in layout.keys[2 * number : 2 * number + 2]:
            assert key in place.panel.legend
            assert place.left <= x <= place.left + place.width and y > place.top + place.height
            assert y < layout.height
            for other in layout.places[number + 1 :]:
                assert y < other.top or other.top == place.top


@pytest.mark.parametrize("width", [39.0, 81.0])
def test_radars_are_equally_large_also_in_a_last_row(width: float) -> None:
    places = arrange(radars(5), width).places
    assert len({(round(place.width, 6), round(place.height, 6)) for place in places}) == 1
    assert len({place.top for place in places}) > 1


@given(st.integers(1, 12), st.floats(0, 11))
def test_a_polar_panel_has_its_first_name_at_the_top_and_more_further_out(count: int, turn: float) -> None:
    panel = Panel([], Axis.of_names([str(n) for n in range(count)]), Axis(), polar=True)
    place = Place(panel, 0.0, 0.0, 10.0, 10.0)
    assert place(0.0, 1.0) == pytest.approx((5.0, 0.0))
    away = [((place(turn, y)[0] - 5) ** 2 + (place(turn, y)[1] - 5) ** 2) ** 0.5 for y in (0.0, 0.5, 1.0)]
    assert away == sorted(away) and away[2] == pytest.approx(5.0) and away[0] > 0.5


@pytest.mark.parametrize("width", WIDTHS[1:])
def test_no_note_hides_a_dot_or_another_note(width: float) -> None:
    (place,) = arrange(scatter(), width).places
    boxes = [(x, y - 0.8, x + LETTER * len(text), y + 0.15) for x, y, text in note_places(place)]
    assert boxes
    dots = [place(value_of(dot.x), value_of(dot.y)) for dot in place.panel.marks_of(Dot)]
    for number, (left, top, right, bottom) in enumerate(boxes):
        assert place.left <= left and right <= place.left + place.width
        assert not [1 for x, y in dots if left < x < right and top < y < bottom]
        for others in boxes[:number]:
            assert right <= others[0] or others[2] <= left or bottom <= others[1] or others[3] <= top


@given(st.lists(st.text("abc ", min_size=1, max_size=60), min_size=1, max_size=9), st.sampled_from(WIDTHS))
def test_lines_of_a_legend_do_not_lie_upon_each_other(labels: list[str], width: float) -> None:
    legend = [Key(label, number) for number, label in enumerate(labels)]
    layout = arrange(Chart("", [Panel([Dot(0.5, 0.5)])], legend=legend), width)
    for (x, y, key), (other, down, _) in zip(layout.keys, layout.keys[1:], strict=False):
        assert down > y or other >= x + 2.4 + LETTER * len(short(key.label, 60)) - 1e-9
    assert all(y < layout.height for _, y, _ in layout.keys)


def test_names_that_have_no_room_side_by_side_are_turned_and_thinned() -> None:
    (narrow,), (wide,) = (arrange(EVERY["heatmap"], width).places for width in (25.0, 90.0))
    assert are_upright(narrow) and len(list(shown_names(narrow))) < 30 == len(list(shown_names(wide)))
    assert not are_upright(arrange(EVERY["ranks"], 40.0).places[0])


@given(st.floats(0.5, 60), st.floats(-100, 100), st.floats(0.01, 1000))
def test_ticks_do_not_lie_upon_each_other(room: float, low: float, length: float) -> None:
    axis = Axis(low=low, high=low + length)
    shown = [(axis.share(tick) * room, LETTER / 2 * len(axis.written(tick))) for tick in tick_values(axis, room)]
    assert all(after[0] - after[1] > before[0] + before[1] for before, after in pairwise(shown))


def test_rows_of_names_are_as_far_apart_as_asked() -> None:
    names = Axis.of_names(["one", "two", "three"])
    close, apart = (arrange(Chart("", [Panel([Dot(0.5, 0.0)], y=names, spacing=s)]), 40.0) for s in (1.0, 2.0))
    assert apart.places[0].height == 2 * close.places[0].height
    assert apart.height - close.height == close.places[0].height


def test_a_note_keeps_off_intervals_and_stays_inside() -> None:
    up = Estimate(0.5, 0.1, 0.9, 0.95, 10, "")
    beside = Note(0.5, 0.8, "beside an interval")
    panel = Panel([Dot(0.5, up), beside, Note(0.5, 0.001, "at the foot")], height=0.5)
    (place,) = arrange(Chart("", [panel]), 40.0).places
    found = {text: (x, y) for x, y, text in note_places(place)}
    across, _ = place(0.5, 0.8)
    x, _ = found["beside an interval"]
    assert x > across + 0.3 or x + LETTER * len(beside.text) < across - 0.3
    assert found["at the foot"][1] <= place.top + place.height


def told(place: Place) -> dict[str, Any]:
    """Return everything that a medium asks of a place."""
    panel = place.panel
    shown: dict[str, Any] = {"below": below(place), "title": title_height(panel), "letters": place.letters}
    flags = {"x": place.x_shown, "y": place.y_shown, "above": place.names_above}
    shown |= {"box": (place.left, place.top, place.width, place.height), "cell": place.cell}
    shown |= {"shown": [name for name, is_shown in flags.items() if is_shown]}
    shown |= {"corners": [place(x, y) for x in (panel.x.low, panel.x.high) for y in (panel.y.low, panel.y.high)]}
    if panel.x.names and not panel.polar:
        shown |= {"upright": are_upright(place), "names": list(shown_names(place))}
        shown |= {"wrapped": [wrapped(name, place) for name in panel.x.names[:3]]}
    if panel.y.names:
        shown |= {"rows": [row_name(name, place) for name in panel.y.names[:3]]}
    else:
        shown |= {"ticks": (tick_values(panel.x, place.width), tick_values(panel.y, place.height, upright=True))}
    if is_of(panel, Heat):
        shown |= {"scale": colour_scale(place)}
    brackets = [bracket_lines(bracket, place) for bracket in panel.marks_of(Bracket)]
    return shown | {"notes": list(note_places(place)), "brackets": brackets}


@pytest.mark.parametrize("name", [*EVERY, *ODD])
def test_a_chart_is_laid_out_as_it_was_kept(name: str) -> None:
    chart, layouts = {**EVERY, **ODD}[name], {}
    for width in (19.0, *WIDTHS, 85.0):
        layout = arrange(chart, width)
        keys = [(x, y, key.label) for x, y, key in layout.keys]
        layouts[f"{width:g} wide"] = {"height": layout.height, "places": list(map(told, layout.places)), "keys": keys}
    assert_kept(f"media/layout/{name.replace(' ', '-')}", layouts)


def test_colours_end_where_the_farthest_value_is() -> None:
    assert heat_limit([Heat(0, 0, -0.5), Heat(0, 0, 0.25), Heat(0, 0, math.nan)]) == 0.5
    assert heat_limit([Heat(0, 0, 0.01)]) == 0.05 == heat_limit([])


@pytest.mark.parametrize(("width", "columns"), [(0.1, 1), (1.95, 1), (1.97, 2), (10.61, 10), (10.59, 9)])
def test_squares_are_side_by_side_as_there_is_room(width: float, columns: int) -> None:
    assert square_columns(width) == columns


def test_the_room_beside_a_panel_is_for_its_names_or_half_a_value() -> None:
    names = Axis.of_names(["a name", "another one"])
    dots = [Dot(0.5, 0.0)]
    hidden = replace(names, hidden=True)
    whole = layout._beside(Panel(dots, Axis("x"), names), 40.0, high=False)
    assert whole == name_room(names.names) == layout._beside(Panel(dots, Axis("x"), hidden), 40.0, high=False)
    assert layout._beside(Panel(dots, Axis("x"), names), 4.0, high=False) == pytest.approx(2.2)
    half = layout._beside(Panel(dots, Axis("x"), replace(Axis(), hidden=True)), 40.0, high=False)
    assert half == layout._beside(Panel(dots, Axis("x"), names), 40.0, high=True) < 3.6
    assert half == layout._beside(Panel([Square("same")], Axis("x"), Axis()), 40.0, high=False)
    assert layout._beside(Panel(dots, Axis("x"), Axis()), 40.0, high=False) >= 3.6


def test_the_room_under_a_radar_is_for_its_rim_also_where_the_axis_is_hidden() -> None:
    names = Axis.of_names(["north", "east", "south", "west"])
    radar = Panel([Dot(0.0, 0.5)], replace(names, hidden=True), Axis(), polar=True)
    (place,) = arrange(Chart("T", [radar]), 40.0).places
    assert layout.below(place) == layout.rim_room(radar, at_the_bottom=True) != 0.5
    plain = replace(radar, polar=False)
    (place,) = arrange(Chart("T", [plain]), 40.0).places
    assert layout.below(place) == 0.5


@pytest.mark.parametrize("width", WIDTHS)
def test_a_long_title_of_a_panel_takes_several_lines_and_a_label_stays_inside(width: float) -> None:
    long = "builtin (1,020 sentences, he, she, c2e23a) · next-word, resolvable (type 2)"
    names = Axis.of_names(["a model", "another model with a long name"])
    panel = Panel([Dot(0.5, 0.0), Dot(0.6, 1.0)], Axis("change of confidence from no marker"), names, long)
    places = arrange(Chart("", [panel] * 3, layout="multiples"), width).places
    for place in places:
        assert "".join(place.title).replace(" ", "") == long.replace(" ", "")
        assert title_start(place) + LETTER * max(map(len, place.title)) < width
        top = place.top - title_height(panel) - LINE * (len(place.title) - 1) - 1
        assert all(top >= other.top + other.height + below(other) - 1 for other in places if other.top < place.top)
        half = LETTER * len(panel.x.label) / 2
        assert half <= label_middle(place) <= width - half + 0.9


def test_the_mark_of_bars_and_squares_is_a_box_and_that_of_places_to_choose_is_not() -> None:
    bars = Panel([Bar((0.0, 1.0), (0.0, 1.0), "toward"), Bar((0.0, 1.0), (0.0, 1.0), "he", strength=0.0)])
    assert filled_tones([bars, Panel([Square("same")]), Panel([Dot(0.5, 0.0, "she")])]) == {"toward", "same"}
    assert filled_tones([bars, Panel([Line([(0.0, 0.0), (1.0, 1.0)], "toward")])]) == set(), (
        "a line is the first of both"
    )
