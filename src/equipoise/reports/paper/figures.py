"""The look of every figure for a paper: one style, sized for a column or a page, fonts embedded."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...records import EquipoiseError
from ..palette import Named, tone_of

try:
    import matplotlib
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure
    from matplotlib.ticker import FixedLocator

    from .canvas import QuickCanvas
    from .fonts import families
except ImportError as missing:  # pragma: no cover - the tests' environment has it
    raise EquipoiseError("figures need matplotlib: pip install 'equipoise[figures]'") from missing

WIDTHS = {"column": 3.25, "page": 6.75}
"""In inches: one column of a two-column paper, and a whole page."""

FORMATS = ("pdf", "svg", "png")
SHAPES = ("o", "D", "s", "^", "v", "P", "X", "*")
LINES = ("-", "--", "-.", ":")
QUIET = "#8a929c"
"""For lines that only help to read a figure: a diagonal, a zero."""

GRID: dict[str, Any] = {"color": "#e3e6ea", "linewidth": 0.6, "zorder": 0.5}

LOOK: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": GRID["color"],
    "grid.linewidth": GRID["linewidth"],
    "axes.axisbelow": True,
    "axes.linewidth": 0.7,
    "lines.linewidth": 1.3,
    "legend.frameon": False,
    "savefig.dpi": 300,
    # Not cut to its content when saved: a figure for a column is as wide as a column.
    "figure.constrained_layout.use": True,
    # Fonts go into the file, as TrueType in PDF and as outlines in SVG: a figure looks the same everywhere.
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "equipoise",
    # A model's name may hold a dollar sign, which is not mathematics.
    "text.parse_math": False,
}

# No dates inside: the same run gives the same file.
_DATELESS: Mapping[str, Any] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {}}

# A third of the time of the usual level, for files that are 3% larger.
_PACKED: Mapping[str, Any] = {"png": {"pil_kwargs": {"compress_level": 3}}}


@dataclass(frozen=True)
class Drawn:
    """A figure's file, as bytes."""

    name: str
    content: bytes


def colour(name: Named) -> str:
    """Return a tone's colour on white."""
    return tone_of(name).light


def shape(name: Named) -> str:
    """Return the mark of a tone, so that colour is never the only sign."""
    return SHAPES[tone_of(name).shape % len(SHAPES)]


def stroke(name: Named) -> str:
    """Return the line style of a tone."""
    return LINES[tone_of(name).shape % len(LINES)]


def diverging() -> LinearSegmentedColormap:
    """Return the colours from wrong over white to right."""
    return LinearSegmentedColormap.from_list("confidence", [colour("wrong"), "#ffffff", colour("right")])


def file_stem(name: str) -> str:
    """Return a file name without path or ending, whatever a dataset or model is called."""
    return re.sub(r"[^\w.+-]+", "-", name).strip("-.")


def plane(size: tuple[float, float]) -> tuple[Figure, Any]:
    """Return a figure of that size with one set of axes."""
    figure = Figure(figsize=size)
    return figure, figure.subplots()


def laid_out(figure: Figure) -> Figure:
    """Return the figure with everything at its place, for all formats.

    A figure with a layout engine is drawn twice for each file: once without a picture, to find the places.
    """
    QuickCanvas(figure)
    engine = figure.get_layout_engine()
    if engine is not None:
        figure.set_dpi(matplotlib.rcParams["savefig.dpi"])
        engine.execute(figure)
        with matplotlib.rc_context({"figure.constrained_layout.use": False}):
            figure.set_layout_engine(None)
        _keep_ticks(figure)
    return figure


def _keep_ticks(figure: Figure) -> None:
    """Fix the ticks that the layout found: else they are sought again for every file."""
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            formatter, values = axis.get_major_formatter(), axis.get_majorticklocs()
            low, high = axis.get_view_interval()
            axis.set_major_locator(FixedLocator(list(values)))
            axis.set_major_formatter(formatter)
            axis.set_view_interval(low, high, ignore=True)


def saved(
    name: str, formats: Sequence[str], draw: Callable[[Any, float], Figure], view: Any, width: str
) -> Iterator[Drawn]:
    """Yield a figure's files: `draw` makes it from the view and its width in inches."""
    if width not in WIDTHS:
        raise EquipoiseError(f"width must be one of {', '.join(WIDTHS)}, not {width!r}")
    unknown = [ending for ending in formats if ending not in FORMATS]
    if unknown:
        raise EquipoiseError(f"format must be one of {', '.join(FORMATS)}, not {unknown[0]!r}")
    look = {**LOOK, "font.family": families()} if "pdf" in formats else LOOK
    with matplotlib.rc_context(look):
        figure = laid_out(draw(view, WIDTHS[width]))
        for ending in formats:
            out = io.BytesIO()
            save(figure, out, ending)
            yield Drawn(f"{file_stem(name)}.{ending}", out.getvalue())


def save(figure: Figure, out: Any, ending: str) -> None:
    """Write a figure to a path or a stream: without a date, so that the same numbers give the same file."""
    # Else matplotlib gives the figure a new layout engine after the first file, and draws all others twice.
    with matplotlib.rc_context({"figure.constrained_layout.use": False}):
        figure.savefig(out, format=ending, metadata=dict(_DATELESS[ending]), **_PACKED.get(ending, {}))
