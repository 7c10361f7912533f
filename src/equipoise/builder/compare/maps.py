"""Maps of embeddings (Fig. 4 of the UCerF paper): an SVG, and a page whose dots show their sentences."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import jinja2
import numpy as np
from markupsafe import Markup

from ... import packaged
from ...media.page.charts import svg
from ...media.palette import tone_of
from ...records import Floats
from ...records.showing import Axis, Chart, Cloud, Key, Panel

HIDDEN = Axis(low=-0.02, high=1.02, hidden=True)


@dataclass(frozen=True)
class Points:
    """The points of the maps: the dataset and text of each point, and its place on each map, by map name."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    sets: Sequence[int]
    texts: Sequence[str]
    maps: Mapping[str, Floats]
    model: str

    @property
    def scaled(self) -> dict[str, Floats]:
        """The maps with both axes from 0 to 1."""
        return {name: (p - p.min(axis=0)) / np.maximum(np.ptp(p, axis=0), 1e-12) for name, p in self.maps.items()}


def picture_svg(points: Points) -> str:
    """Return the maps side by side as an SVG; the smaller set is drawn last, so that it is not hidden."""
    sets = np.asarray(points.sets)
    shown = [int((sets == which).sum()) for which in range(len(points.names))]
    order = sorted(range(len(points.names)), key=lambda which: -shown[which])
    panels = [
        Panel([Cloud(places[sets == which].tolist(), which) for which in order], HIDDEN, HIDDEN, name, height=1.0)
        for name, places in points.scaled.items()
    ]
    keys = [
        Key(f"{name} ({shown[which]:,} of {points.sizes[which]:,})", which) for which, name in enumerate(points.names)
    ]
    chart = Chart("Maps of the sentences", panels, legend=keys, layout="multiples")
    return svg(chart, width=36.0 * len(panels), alone=True)


def picture_html(points: Points) -> str:
    """Return a page with the maps; a dot shows its sentence (appendix E of the paper)."""
    sets = [int(which) for which in points.sets]
    data = {
        "set": sets,
        "texts": list(points.texts),
        "colours": [tone_of(which).light for which in range(len(points.names))],
        "maps": [np.round(places, 4).tolist() for places in points.scaled.values()],
    }
    text = packaged.text(__package__, "map.html")
    # "<" escaped: a sentence with "</script>" must not end the script.
    inlined = Markup(json.dumps(data, ensure_ascii=False).replace("<", "\\u003c"))
    return (
        jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
        .from_string(text)
        .render(
            names=points.names,
            sizes=points.sizes,
            shown=[sets.count(which) for which in range(len(points.names))],
            colours=data["colours"],
            maps=list(points.maps),
            model=points.model,
            data=inlined,
        )
    )
