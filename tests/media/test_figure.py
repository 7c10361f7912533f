"""Charts as figures: exactly as wide as asked for, with every mark, and the same file for the same numbers."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from kept_texts import assert_kept
from matplotlib import colors
from PIL import Image
from sample_charts import EVERY, ODD, heatmap

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
    # Measured in letters: a line is 1.2 high, and the room above the panels is 0.6 more than the lines.
    letters = 72 * drawn.get_figheight() / drawn.texts[0].get_fontsize()
    assert [(1 - text.get_position()[1]) * letters for text in drawn.texts[:2]] == pytest.approx([1.2, 2.4])
    plain = 72 * figure(chart).get_figheight() / drawn.texts[0].get_fontsize()
    assert letters - plain == pytest.approx(1.2 * 2 + 0.6)
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


def hexed(colour: Any) -> str:
    return colors.to_hex(colour, keep_alpha=True)


def told(artist: Any) -> list[Any]:
    """Return what can be seen of an artist, as plain values."""
    kind, alpha = type(artist).__name__, artist.get_alpha()
    common = [kind, f"z{artist.get_zorder():g}", *([f"alpha {alpha:g}"] if alpha is not None else [])]
    common += [] if artist.get_clip_on() else ["not cut"]
    if hasattr(artist, "get_xydata"):
        style = (artist.get_linestyle(), artist.get_linewidth(), hexed(artist.get_color()), artist.get_solid_capstyle())
        marker = (artist.get_marker(), artist.get_markersize(), artist.get_markeredgewidth(), artist.get_markevery())
        filled = hexed(artist.get_markerfacecolor()) if artist.get_marker() != "None" else ""
        return [*common, style, marker, filled, artist.get_xydata().tolist()[:8], len(artist.get_xydata())]
    if hasattr(artist, "get_text"):
        at = (artist.get_position(), artist.get_ha(), artist.get_va(), artist.get_rotation())
        offset = getattr(artist, "xy", ()), str(getattr(artist, "xycoords", "")), str(getattr(artist, "anncoords", ""))
        look = (artist.get_size(), artist.get_weight(), hexed(artist.get_color()), artist.get_bbox_patch() is not None)
        return [*common, artist.get_text(), at, offset, look]
    if hasattr(artist, "get_paths"):
        sizes = [[path.vertices.min(0).tolist(), path.vertices.max(0).tolist()] for path in artist.get_paths()[:4]]
        colours = [hexed(one) for one in (*artist.get_facecolor()[:4], *artist.get_edgecolor()[:4])]
        return [*common, len(artist.get_paths()), sizes, colours, list(artist.get_linewidth()[:1])]
    if hasattr(artist, "get_path"):
        box = artist.get_path().transformed(artist.get_patch_transform()).get_extents().bounds
        look = (hexed(artist.get_facecolor()), hexed(artist.get_edgecolor()), artist.get_linewidth())
        return [*common, artist.get_linestyle(), artist.get_fill(), box, look]
    if hasattr(artist, "get_clim"):
        ends = [hexed(artist.get_cmap()(share)) for share in (0.0, 0.5, 1.0)]
        table = artist.get_array()
        return [*common, artist.get_clim(), ends, hexed(artist.get_cmap().get_bad()), table.shape, float(table.sum())]
    return common


def axes_told(axes: Any) -> dict[str, Any]:
    """Return everything that is on a panel's axes."""
    ticks = {}
    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        labels = [(label.get_text(), label.get_size(), hexed(label.get_color())) for label in axis.get_ticklabels()]
        is_grid, length = axis.get_gridlines()[:1], axis.get_tick_params().get("length")
        grid = [(line.get_visible(), hexed(line.get_color()), line.get_linewidth()) for line in is_grid]
        ticks[name] = [axis.get_ticklocs().tolist(), labels, grid, length, axis.label.get_text(), axis.labelpad]
        ticks[name] += [[label.get_rotation() for label in axis.get_ticklabels()[:1]]]
    spines = [name for name, spine in axes.spines.items() if spine.get_visible()]
    parts = [*axes.collections, *axes.images, *axes.patches, *axes.lines, *axes.texts]
    return {
        "box": axes.get_position().bounds,
        "limits": (*axes.get_xlim(), *axes.get_ylim()),
        "shown": (axes.axison, axes.get_axisbelow(), axes.get_zorder(), axes.get_frame_on(), spines),
        "ticks": ticks,
        "parts": [told(part) for part in parts],
        "inside": [axes_told(inner) for inner in axes.child_axes],
    }


LARGE = ("radar", "names", "around 7", "around 24")
"""Charts that are like others, and take longer to draw."""


@pytest.mark.parametrize("name", [name for name in (*EVERY, *ODD) if name not in LARGE])
def test_a_figure_has_what_was_kept_of_it(name: str) -> None:
    chart = {**EVERY, **ODD}[name]
    pictures = {}
    for width, title in (("column", True), ("page", False)):
        drawn = figure(chart, width, title=title)
        size = drawn.get_size_inches().tolist()
        axes = [axes_told(one) for one in drawn.axes]
        pictures[width] = {"size": size, "texts": list(map(told, drawn.texts)), "axes": axes}
    assert_kept(f"media/figure/{name.replace(' ', '-')}", pictures)


def test_a_file_is_as_asked_and_the_usual_one_is_a_column_without_a_title() -> None:
    chart = EVERY["ranks"]
    assert dict(files(chart, ("svg",))) == dict(files(chart, ("svg",), "column", title=False))
    assert dict(files(chart, ("svg",), title=True)) != dict(files(chart, ("svg",)))
    assert [ending for ending, _ in files(chart, ("png", "pdf"))] == ["png", "pdf"]
    assert Image.open(io.BytesIO(saved(figure(chart, 3.0)))).width == 900
    assert b"CreationDate" not in dict(files(chart, ("pdf",)))["pdf"]
