"""Charts as SVG: every mark is there, at its place, and no text can become code."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from kept_texts import assert_kept
from markupsafe import Markup
from sample_charts import EVERY, ODD, estimate

from equipoise.media.layout import arrange
from equipoise.media.names import LETTER
from equipoise.media.page import charts
from equipoise.media.page.charts import WIDTHS, described, glyph, svg, swatch
from equipoise.media.page.elements import EM, element
from equipoise.media.palette import shape_of
from equipoise.records import Estimate
from equipoise.records.showing import Axis, Bar, Chart, Dot, Key, Line, Panel, Rule, Square, value_of

NS = "{http://www.w3.org/2000/svg}"
HOSTILE = '<script>alert(1)</script>"&{{7*7}}'


def drawn(chart: Chart, **more: object) -> ElementTree.Element:
    return ElementTree.fromstring(str(svg(chart, **more)))  # type: ignore[arg-type]


def of_class(root: ElementTree.Element, *names: str) -> list[ElementTree.Element]:
    return [one for one in root.iter() if set(names) <= set(one.get("class", "").split())]


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("chart", EVERY.values(), ids=EVERY)
def test_a_drawing_is_as_wide_as_asked_and_is_described(chart: Chart, alone: bool) -> None:
    root = drawn(chart, alone=alone)
    width = "wide" if chart.topic == "heatmap" else "column"
    assert root.get("viewBox", "").split()[2] == f"{EM * WIDTHS[width]:.0f}"
    assert root.get("aria-label", "").startswith(chart.title)
    assert root.findtext(f"{NS}title") == chart.title
    assert (root.find(f"{NS}style") is not None) == alone


@pytest.mark.parametrize("name", ["rows", "scatter", "radar"])
def test_every_dot_is_drawn_at_its_place_with_its_intervals(name: str) -> None:
    chart = EVERY[name]
    dots = [dot for panel in chart.panels for dot in panel.marks_of(Dot)]
    root = drawn(chart)
    marks = [one for one in root.iter() if one.get("class", "").split()[:1] in (["mark"], ["hollow"])]
    assert len(marks) == len(dots)
    ends = sum(isinstance(number, Estimate) for dot in dots for number in (dot.x, dot.y))
    # Around a radar an area has them: on its spokes they would hide each other.
    assert len(of_class(root, "whisker")) == (0 if name == "radar" else ends)
    layout = arrange(replace(chart, legend=()), WIDTHS["column"])
    circles = {(one.get("cx"), one.get("cy")) for one in root.iter(f"{NS}circle") if "mark" in one.get("class", "")}
    expected = {
        tuple(f"{EM * at:.1f}".removesuffix(".0") for at in place(value_of(dot.x), value_of(dot.y)))
        for place in layout.places
        for dot in place.panel.marks_of(Dot)
        if shape_of(dot.tone) % 4 == 0
    }
    assert circles == expected


def test_an_interval_without_an_end_is_not_drawn() -> None:
    open_end = replace(estimate(0.5), high=math.nan)
    chart = Chart("", [Panel([Dot(open_end, 0.5)])])
    assert not of_class(drawn(chart), "whisker") and len(of_class(drawn(chart), "mark")) == 1


def test_squares_carry_their_cases() -> None:
    chart = EVERY["squares"]
    squares = [one for one in drawn(chart).iter(f"{NS}rect") if one.get("data-case")]
    links = [square.link for square in chart.panels[0].marks_of(Square)]
    assert [f"#case={one.get('data-case')}" for one in squares] == links
    assert len(of_class(drawn(chart), "t-toward")) == 9


def test_lines_are_dashed_filled_or_closed_as_described() -> None:
    points = [(0.0, 0.0), (0.5, 1.0), (1.0, 0.5)]

    def paths(**more: bool) -> list[ElementTree.Element]:
        return list(drawn(Chart("", [Panel([Line(points, "he", **more)])])).iter(f"{NS}path"))

    (plain,), (closed,), (dashed,) = paths(), paths(closed=True), paths(dashed=True)
    assert not plain.get("d", "").endswith("Z") and closed.get("d", "").endswith("Z")
    assert "dashed" in dashed.get("class", "") and "dashed" not in plain.get("class", "")
    area, line = paths(filled=True)
    assert area.get("class") == "area t-he" and line.get("class") == "outline t-he"


def test_links_are_kept_and_a_bar_without_strength_is_only_a_place_to_choose() -> None:
    root = drawn(EVERY["curves"])
    assert [one.get("href") for one in root.iter(f"{NS}a")] == ["#filter=x"]
    assert len(of_class(root, "hit")) == 1


def test_no_text_can_become_code() -> None:
    panel = Panel(
        [Dot(estimate(0.5), 0.0, label=HOSTILE, link=HOSTILE)], Axis(HOSTILE), Axis.of_names([HOSTILE]), HOSTILE
    )
    chart = Chart(HOSTILE, [panel], legend=[Key(HOSTILE, 0)], caption=HOSTILE)
    for text in (str(svg(chart)), str(svg(chart, alone=True))):
        assert "<script>" not in text
        assert HOSTILE in "".join(ElementTree.fromstring(text).itertext())


def test_a_listener_hears_caption_and_values() -> None:
    text = described(replace(EVERY["rows"], caption="By occupation."))
    assert text.startswith("By occupation. construction worker (4%) 0.000 [-0.100, 0.100]; nurse")


def test_a_glyph_lies_on_the_whole_range() -> None:
    root = ElementTree.fromstring(str(glyph(estimate(0.5), (0.0, 1.0))))
    (mark,), (whisker,) = of_class(root, "mark"), of_class(root, "whisker")
    assert float(mark.get("cx", 0)) == pytest.approx(50, abs=0.06)
    assert float(whisker.get("x1", 0)) == pytest.approx(4 + 92 * 0.4, abs=0.06)
    assert len(of_class(ElementTree.fromstring(str(glyph(0.2, (-1.0, 1.0)))), "axis")) == 1
    lines = EVERY["names"]
    assert "dashed" in str(swatch(Key("a", 1, dashed=True), lines)) and "dashed" not in str(swatch(Key("a", 1), lines))


def test_a_picture_alone_has_a_size_of_its_own() -> None:
    root = drawn(EVERY["clouds"], width=50.0, alone=True)
    assert (
        root.get("width") == f"{EM * 50:.0f}" and root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"
    )
    assert drawn(EVERY["clouds"]).get("width") is None
    clouds = of_class(root, "cloud")
    assert [cloud.get("d", "").count("M") for cloud in clouds] == [300, 300]


def test_a_title_ends_with_its_panel_in_as_many_lines_as_it_needs() -> None:
    rows = [Dot(0.2 * place, float(place), 0) for place in range(3)]
    axes = Axis("share", 0.0, 1.0), Axis.of_names(["a model", "a second model", "another"])
    for title, lines in (("short", 1), ("a title that is longer than its panel", 1), ("no " * 30, 2)):
        chart = Chart("", [Panel(rows, *axes, title=title.strip())])
        (place,) = arrange(chart, WIDTHS["small"]).places
        assert len(place.title) >= lines
        for line in place.title:
            (shown,) = {one.get("x") for one in of_class(drawn(chart, width="small"), "label") if one.text == line}
            start = float(shown or "nan") / EM
            assert 0.0 <= start <= place.left + 0.01
            assert start + LETTER * len(line) <= place.left + place.width + 0.6


def test_titles_of_one_chart_are_bold_where_all_have_room() -> None:
    axes = Axis("share", 0.0, 1.0), Axis(low=0.0, high=1.0, hidden=True)
    width = WIDTHS["small"]
    for long, bold in (("short", True), ("m" * int(width / LETTER / 1.04), False)):
        chart = Chart("", [Panel([Dot(0.5, 0.5)], *axes, title=title) for title in ("a", long)], layout="stacked")
        titles = [one for one in of_class(drawn(chart, width="small"), "label") if one.text in ("a", long)]
        assert [("title" in one.get("class", "").split()) for one in titles] == [bold, bold]


def test_a_legend_has_boxes_for_squares_and_bars_and_shapes_for_dots() -> None:
    squares = EVERY["squares"]
    assert all("<rect" in swatch(key, squares) for key in squares.legend)
    dots = Chart("", [Panel([Dot(0.1, 0.1, "toward")])], legend=[Key("toward", "toward")])
    assert "<rect" not in swatch(dots.legend[0], dots)


def test_names_above_their_rows_start_where_the_panel_starts() -> None:
    chart = replace(EVERY["names"], panels=EVERY["names"].panels[:1])
    (place,) = arrange(chart, WIDTHS["small"]).places
    names = of_class(drawn(chart, width="small"), "label", "name")
    assert [float(one.get("x", "nan")) for one in names] == pytest.approx([EM * place.left] * 4, abs=0.06)
    assert all((one.text or "").startswith("a model with a long name") for one in names)


def test_what_is_only_bounded_has_an_interval_and_no_dot() -> None:
    bounded = Estimate(math.nan, 0.2, 0.6, 0.95, 12, "")
    chart = Chart("", [Panel([Dot(bounded, 0.0)], Axis("share"), Axis.of_names(["all"]))])
    for drawn in (str(glyph(bounded, (0.0, 1.0))), str(svg(chart))):
        assert "whisker" in drawn and "nan" not in drawn and "<circle" not in drawn


def readable(text: str) -> str:
    """Return a drawing one tag a line, without its style."""
    plain = re.sub(r"<style>.*?</style>", "<style/>", text, flags=re.DOTALL)
    return re.sub(r"\n\n+", "\n", re.sub("(?=<)", "\n", plain))


@pytest.mark.parametrize("name", ODD)
def test_a_drawing_is_as_it_was_kept(name: str) -> None:
    chart = ODD[name]
    small = [] if name.startswith("around") else [svg(chart, width="small"), svg(chart, width=30.0, alone=True)]
    assert_kept(f"drawn/odd/{name.replace(' ', '-')}", *(readable(str(one)) for one in (svg(chart), *small)))


def test_every_small_drawing_is_as_it_was_kept() -> None:
    values = [estimate(0.5), estimate(0.0), estimate(2.0), 0.25, -0.5, Estimate(math.nan, 0.2, 0.6, 0.95, 12, "")]
    bounds = [(0.0, 1.0), (-1.0, 1.0), (-1.0, 0.0), (0.0, 2.0)]
    glyphs = [f"{number:.3f} on {ends}: {glyph(number, ends)}" for number in values for ends in bounds]
    keys = [Key("a", tone, dashed) for tone in (0, 1, 2, 3, "he", "same", "toward") for dashed in (False, True)]
    swatches = [str(swatch(key, chart)) for key in keys for chart in (EVERY["squares"], EVERY["rows"])]
    assert_kept("drawn/small", readable("\n".join([*glyphs, *swatches])))


def test_at_most_twelve_values_are_read_out() -> None:
    dots = [Dot(0.1, float(place), label=f"dot {place}") for place in range(13)]
    text = described(Chart("", [Panel([*dots[:5], Dot(0.2, 0.0), *dots[5:]])]))
    assert text == "; ".join(f"dot {place} 0.100" for place in range(12)) + "." and described(Chart("", [])) == ""
    assert described(Chart("", [Panel([Dot(estimate(0.1), estimate(0.2), label="a")])])) == "a 0.200 [0.100, 0.300]."
    assert described(Chart("", [Panel([Dot(estimate(0.1), 0.2, label="a")])])) == "a 0.100 [0.000, 0.200]."


def test_a_drawing_with_links_can_be_reached_and_one_without_is_a_picture() -> None:
    plain, linked = Dot(0.1, 0.1), Dot(0.1, 0.1, link="#x")
    for marks, role in (([plain], "img"), ([plain, linked], "group"), ([Bar((0, 1), (0, 1), link="#x")], "group")):
        assert drawn(Chart("", [Panel(marks)])).get("role") == role
    assert drawn(Chart("", [Panel([plain]), Panel([linked])])).get("role") == "group"
    assert drawn(EVERY["squares"]).get("role") == "img"


def test_what_a_page_does_not_know_is_an_error() -> None:
    with pytest.raises(TypeError, match="a page cannot draw 'mark'"):
        charts.draw("mark", None)  # type: ignore[arg-type]


def test_an_element_is_written_with_its_attributes_and_text_is_escaped() -> None:
    made = element("a", "<b>", Markup("<i/>"), class_="x y", data_case="1 & 2", href=None, width=1.0, x=1.25, n=3)
    assert made == '<a class="x y" data-case="1 &amp; 2" width="1" x="1.2" n="3">&lt;b&gt;<i/></a>'
    assert element("br") == "<br/>" and element("p", "") == "<p/>"


def test_names_are_beside_a_hidden_axis_and_values_are_not() -> None:
    def drawn(axis: Axis) -> str:
        return str(svg(Chart("T", [Panel([Dot(0.5, 0.0)], Axis("x"), replace(axis, hidden=True))])))

    assert ">alpha<" in drawn(Axis.of_names(["alpha", "beta"]))
    assert ">up<" not in drawn(Axis("up")) and drawn(Axis("up")).count('class="axis"') == 1, "the other axis alone"


def test_a_rule_of_a_radar_is_a_circle_whichever_way_it_goes() -> None:
    names = Axis.of_names(["a", "b", "c"])
    for along in ("x", "diagonal"):
        radar = Panel([Rule(0.5, along), Line([(0.0, 0.2), (1.0, 0.4), (2.0, 0.3)], 0)], names, Axis(), polar=True)
        (place,) = arrange(Chart("T", [radar], layout="multiples"), 40.0).places
        assert str(charts.draw(radar.marks[0], place)).startswith("<circle")


@pytest.mark.parametrize(("strength", "opacity", "class_"), [(0.0, "", "hit"), (0.5, "0.5", "mark"), (1.0, "", "mark")])
def test_a_bar_without_strength_is_only_pointed_at(strength: float, opacity: str, class_: str) -> None:
    panel = Panel([Bar((0.0, 0.5), (-0.3, 0.3), "he", strength=strength)], Axis("x"), Axis.of_names(["a"]))
    (place,) = arrange(Chart("T", [panel]), 40.0).places
    drawn = str(charts.draw(panel.marks[0], place))
    assert ("fill-opacity" in drawn) == bool(opacity) and f'class="{class_}' in drawn
    assert not opacity or f'fill-opacity="{opacity}"' in drawn
