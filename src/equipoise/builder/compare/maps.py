"""Maps of embeddings (Fig. 4 of the UCerF paper): an SVG, and a page whose dots show their sentences."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources

import jinja2
import numpy as np
from markupsafe import Markup

from ...records import Floats

COLOURS = ("#c2452d", "#1d5c8f", "#2f7d4f", "#8a5bb0", "#b08a2e", "#5d6662")
SIDE, MARGIN = 420, 20


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
    scaled = points.scaled
    sets = np.asarray(points.sets)
    shown = [int((sets == which).sum()) for which in range(len(points.names))]
    parts = []
    for column, (name, places) in enumerate(scaled.items()):
        left = column * (SIDE + 2 * MARGIN) + MARGIN
        parts.append(f'<text x="{left}" y="22" font-weight="600">{escape(name)}</text>')
        parts.append(f'<rect x="{left}" y="{2 * MARGIN}" width="{SIDE}" height="{SIDE}" fill="#fff" stroke="#d8d5cc"/>')
        for which in sorted(range(len(points.names)), key=lambda number: -shown[number]):
            x = left + 8 + places[sets == which, 0] * (SIDE - 16)
            y = 2 * MARGIN + SIDE - 8 - places[sets == which, 1] * (SIDE - 16)
            path = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in zip(x, y, strict=True))
            parts.append(
                f'<path d="{path}" stroke="{COLOURS[which % len(COLOURS)]}" stroke-width="2.2" stroke-linecap="round" '
                'stroke-opacity="0.55" fill="none"/>'
            )
    at = MARGIN
    for which, name in enumerate(points.names):
        label = f"{name} ({shown[which]:,} of {points.sizes[which]:,})"
        parts.append(f'<circle cx="{at + 5}" cy="{SIDE + 3 * MARGIN}" r="5" fill="{COLOURS[which % len(COLOURS)]}"/>')
        parts.append(f'<text x="{at + 16}" y="{SIDE + 3 * MARGIN + 5}">{escape(label)}</text>')
        at += 40 + 8 * len(label)
    width, height = len(scaled) * (SIDE + 2 * MARGIN), SIDE + 4 * MARGIN
    frame = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    style = 'font-family="system-ui, sans-serif" font-size="15" fill="#1c2321"'
    return f'{frame} {style}><rect width="100%" height="100%" fill="#fbfaf7" stroke="none"/>{"".join(parts)}</svg>\n'


def picture_html(points: Points) -> str:
    """Return a page with the maps; a dot shows its sentence (appendix E of the paper)."""
    sets = [int(which) for which in points.sets]
    data = {
        "set": sets,
        "texts": list(points.texts),
        "colours": [COLOURS[which % len(COLOURS)] for which in range(len(points.names))],
        "maps": [np.round(places, 4).tolist() for places in points.scaled.values()],
    }
    text = resources.files(__package__).joinpath("map.html").read_text(encoding="utf-8")
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
