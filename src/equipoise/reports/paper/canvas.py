"""A canvas that measures and outlines each text once, however many figures it is in.

matplotlib shapes every text again for each figure, each layout and each file; that is most of the time of small
figures. Figures of one run have the same names on their axes, so sizes and outlines are kept from one to the next.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.textpath import text_to_path
from matplotlib.transforms import Affine2D

KEPT = 4096
"""Texts whose size and outline are kept."""


class QuickRenderer(RendererAgg):
    """Draws pixels; texts are filled outlines."""

    def get_text_width_height_descent(self, s: str, prop: FontProperties, ismath: Any) -> tuple[float, float, float]:
        """Return the size of a text in pixels."""
        agg: Any = super()
        key = (s, prop.copy(), self.dpi, ismath)
        if key not in _SIZES:
            if len(_SIZES) >= KEPT:
                _SIZES.clear()
            _SIZES[key] = agg.get_text_width_height_descent(s, prop, ismath)
        return _SIZES[key]

    def draw_text(
        self,
        gc: Any,
        x: float,
        y: float,
        s: str,
        prop: FontProperties,
        angle: float,
        ismath: Any = False,
        mtext: Any = None,
    ) -> None:
        """Draw a text as its outline, turned and at its place."""
        agg: Any = super()
        if ismath:
            agg.draw_text(gc, x, y, s, prop, angle, ismath, mtext)
            return
        scale = agg.points_to_pixels(prop.get_size_in_points()) / text_to_path.FONT_SCALE
        place = Affine2D().scale(scale).rotate_deg(angle).translate(x, self.height - y)
        gc.set_linewidth(0.0)
        agg.draw_path(gc, _outline(s, _of_any_size(prop)), place, rgbFace=gc.get_rgb())


_SIZES: dict[tuple[Any, ...], tuple[float, float, float]] = {}


def _of_any_size(prop: FontProperties) -> FontProperties:
    """Return the font at one size: outlines are the same for all."""
    same = prop.copy()
    same.set_size(10)
    return same


@lru_cache(maxsize=KEPT)
def _outline(text: str, font: FontProperties) -> Path:
    vertices, codes = text_to_path.get_text_path(font, text)
    return Path(vertices, codes, readonly=True)


class QuickCanvas(FigureCanvasAgg):
    """A canvas for files: its renderer keeps what it knows about texts."""

    def get_renderer(self) -> Any:
        """Return the renderer for the figure's size and resolution."""
        width, height = self.get_width_height(physical=True)
        key = (width, height, self.figure.dpi)
        if getattr(self, "_drawn_at", None) != key:
            renderer: Any = QuickRenderer
            self.renderer, self._drawn_at = renderer(width, height, self.figure.dpi), key
        return self.renderer
