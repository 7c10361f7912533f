"""Charts as figures: exactly as wide as asked for, with every mark, and the same file for the same numbers."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from sample_charts import EVERY, heatmap

from equipoise.media.figure import WIDTHS, figure, files, saved
from equipoise.records import EquipoiseError
from equipoise.records.showing import Axis, Chart, Dot, Heat, Panel, Square, value_of


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("chart", EVERY.values(), ids=EVERY)
def test_every_pdf_is_exactly_as_wide_as_asked_with_its_fonts_inside(chart: Chart, width: str) -> None:
    ((_, content),) = files(chart, ("pdf",), width)
    box = re.findall(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+)", content)
    assert float(box[0][0]) == pytest.approx(72 * WIDTHS[width], abs=0.01) and float(box[0][1]) < 72 * 11
    assert b"/FontFile2" in content or chart.topic == "squares"


@pytest.mark.parametrize("width", ["column", pytest.param("page", marks=pytest.mark.slow)])
@pytest.mark.parametrize("chart", EVERY.values(), ids=EVERY)
def test_every_picture_is_exactly_as_wide_as_asked_and_nothing_is_cut_off(chart: Chart, width: str) -> None:
    drawn, inches = dict(files(chart, ("svg", "png"), width)), WIDTHS[width]
    picture = Image.open(io.BytesIO(drawn["png"]))
    assert picture.width == round(300 * inches) and not cut_off(picture)
    root = ElementTree.fromstring(drawn["svg"])
    assert float(str(root.get("width")).removesuffix("pt")) == pytest.approx(72 * inches)
    assert not list(root.iter("{http://www.w3.org/2000/svg}text")), "letters are outlines"


def cut_off(picture: Image.Image) -> bool:
    """Return whether something may go beyond the figure: left and right are not the background from top to bottom."""
    grey = picture.convert("L")
    sides = (grey.crop((left, 0, left + 1, grey.height)) for left in (0, grey.width - 1))
    return any(side.getextrema()[0] <= 200 for side in sides)


@pytest.mark.parametrize("chart", EVERY.values(), ids=EVERY)
def test_nothing_is_cut_off_at_another_width(chart: Chart) -> None:
    assert not cut_off(Image.open(io.BytesIO(saved(figure(chart, 5.0), dpi=100))))


@pytest.mark.parametrize("name", ["rows", "scatter"])
def test_every_dot_is_on_its_panels_axes(name: str) -> None:
    chart = EVERY[name]
    axes = figure(chart).axes
    assert len(axes) == len(chart.panels)
    for panel, drawn in zip(chart.panels, axes, strict=True):
        points = [
            tuple(line.get_xydata()[0]) for line in drawn.get_lines() if line.get_marker() not in ("None", None, "")
        ]
        dots = [(value_of(dot.x), value_of(dot.y)) for dot in panel.marks_of(Dot)]
        assert np.array(points) == pytest.approx(np.array(dots))
        assert drawn.get_xlim() == pytest.approx((panel.x.low, panel.x.high))


def test_a_figure_can_still_be_changed() -> None:
    drawn = figure(EVERY["scatter"], 4.0)
    drawn.axes[0].set_xlabel("changed")
    drawn.axes[0].axvline(0.5)
    assert drawn.axes[0].get_xlabel() == "changed" and drawn.get_size_inches()[0] == pytest.approx(4.0)
    assert saved(drawn).startswith(b"\x89PNG")


def test_squares_and_cells_have_the_colours_of_their_marks() -> None:
    squares = EVERY["squares"]
    (collection,) = figure(squares).axes[0].collections
    colours = collection.get_facecolor()
    assert len(colours) == len(list(squares.panels[0].marks_of(Square)))
    assert len({tuple(colour) for colour in colours}) == 2
    (image,) = figure(heatmap(3, 4)).axes[0].images
    assert image.get_array().shape == (3, 4) and image.get_clim()[0] == -image.get_clim()[1]


@pytest.mark.slow
@pytest.mark.parametrize("chart", EVERY.values(), ids=EVERY)
def test_the_same_chart_gives_the_same_file(chart: Chart) -> None:
    assert dict(files(chart, ("pdf", "svg", "png"))) == dict(files(chart, ("pdf", "svg", "png")))


def test_a_name_with_a_dollar_sign_is_not_mathematics() -> None:
    chart = replace(EVERY["rows"], title="$x_1$ and $")
    assert figure(chart, title=True).texts[0].get_text() == "$x_1$ and $"
    assert saved(figure(chart, title=True))


def test_a_long_title_has_several_lines_inside_the_figure() -> None:
    chart = replace(EVERY["rows"], title="Confidence of planted:lead=0.3 by occupation and identity, resolvable, " * 2)
    drawn = figure(chart, title=True)
    assert " ".join(text.get_text() for text in drawn.texts[:2]) == chart.title.strip()
    right = [text.get_window_extent().x1 for text in drawn.texts[:2]]
    assert max(right) < drawn.bbox.x1
    once = figure(replace(chart, title="short"), title=True)
    assert drawn.get_figheight() > once.get_figheight(), "lines get room of their own"


def test_names_of_an_axis_have_their_tones() -> None:
    panel = Panel(
        [Heat(0, 0, 0.5), Heat(1, 0, 0.1)], Axis.of_names(["a", "b"], tones=["he", "she"]), Axis.of_names(["x"])
    )
    (axes,) = figure(Chart("", [panel], "map")).axes[:1]
    first, second = (label.get_color() for label in axes.get_xticklabels())
    assert first != second


def test_unknown_widths_and_formats_are_one_sentence() -> None:
    with pytest.raises(EquipoiseError, match="width must be one of column, page, not 'poster'"):
        figure(EVERY["rows"], "poster")
    with pytest.raises(EquipoiseError, match="format must be one of pdf, svg, png, not 'gif'"):
        list(files(EVERY["rows"], ("gif",)))
