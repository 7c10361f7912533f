"""A map's cells are coloured by sign and size, and its drawing holds every number."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET

from kept_texts import assert_kept
from sample_charts import heatmap

from equipoise.media.layout import arrange
from equipoise.media.page.charts import svg
from equipoise.media.page.maps import _coloured, coloured_map, map_data
from equipoise.records.showing import Axis, Chart, Heat, Panel

NS = "{http://www.w3.org/2000/svg}"


def test_a_map_tells_every_number_and_colours_by_sign() -> None:
    chart = heatmap(3, 4)
    root = ET.fromstring(str(svg(chart)))
    numbers = [row.split(" ") for row in root.get("data-values", "").split(";")]
    assert len(numbers) == 3 and numbers[0][0] == ""
    for cell in chart.panels[0].marks_of(Heat):
        if not math.isnan(cell.value):
            assert int(numbers[cell.y][cell.x]) == round(1000 * cell.value)
    # A parser reads a line break in an attribute as a space; a browser does not.
    assert root.get("data-columns") == " ".join(chart.panels[0].x.names)
    grid, scale = (one for one in root.iter(f"{NS}g") if "scale(" in one.get("transform", ""))
    assert len(scale) > 8 and [one.text for one in root.iter(f"{NS}text")][-4:] == [
        "-0.99",
        "0.00",
        "0.99",
        "confidence",
    ]
    cells = [(one.get("class"), len(re.findall(r"h\.9", one.get("d", "")))) for one in grid.iter(f"{NS}path")]
    coloured = {side: sum(n for name, n in cells if name == f"heat-{side}") for side in ("right", "wrong")}
    values = [cell.value for cell in chart.panels[0].marks_of(Heat)]
    shades = [round(8 * abs(value) / max(map(abs, values[1:]))) for value in values[1:]]
    assert coloured["right"] == sum(value > 0 < shade for value, shade in zip(values[1:], shades, strict=True)) > 0
    assert coloured["wrong"] == sum(value < 0 < shade for value, shade in zip(values[1:], shades, strict=True)) > 0


def test_a_map_is_drawn_as_it_was_kept() -> None:
    tones = ["he", "", "she"]
    values = (0.02, -0.5, math.nan, 0.5, -0.03, 0.0)
    cells = [Heat(n % 3, n // 3, value) for n, value in enumerate(values)]
    panel = Panel(cells, Axis.of_names(["a", "b  c", "d"], tones=tones), Axis.of_names(["x", "y"], "who"), colours="U")
    (place,) = arrange(Chart("", [panel]), 40.0).places
    assert_kept("drawn/map", str(coloured_map(cells, place)).replace("<", "\n<"), map_data(place))


def test_a_cell_of_nothing_has_neither_a_colour_nor_a_dash() -> None:
    def paths(*values: float) -> str:
        return str(_coloured([Heat(at, 0, value) for at, value in enumerate(values)], 1.0, (0.0, 0.0), (1.0, 1.0)))

    assert 'class="below"' not in paths(0.0, 0.5) and 'class="below"' in paths(-0.5, 0.5)
    assert "M0 0h.9" not in paths(0.0, 0.5) and "M1 0h.9" in paths(0.0, 0.5)
