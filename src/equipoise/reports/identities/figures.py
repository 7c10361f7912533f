"""Pictures of identities from run folders, without the model: radar, lines, heatmap and the table of disparities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure

from ...records import EquipoiseError
from ...runs.measurements import KINDS, Measurements
from ...runs.run import Part, Run
from ..behaviour.views import Estimated
from ..palette import tone_of
from ..paper.figures import (
    LOOK,
    QUIET,
    Drawn,
    colour,
    diverging,
    file_stem,
    laid_out,
    save,
    saved,
    shape,
)
from . import views
from .crossings.figures import crossing, trade_off
from .radars.figures import radar
from .views import LARGE, NONE, Frames, kinds_of, values_of, ways_of

NAMES = {NONE: "no marker", "R": "R", "NR": "NR", "C": "C"}
STYLE: Any = {**LOOK, "font.size": 9, "axes.titlesize": 10, "savefig.dpi": 130}
"""The look of all figures, on sheets that are larger than a page of a paper."""


def draw(runs: Sequence[Run], folder: Path, *, suffix: str = "png") -> list[Path]:
    """Return the files of all pictures: a set for each type and augmentation, a series for each run and task."""
    frames = views.series(runs)
    if not frames:
        raise EquipoiseError("the run has no marked sentences; audit with --data winoidentity first")
    named = views.measured_series(runs)
    every = pd.concat(frames.values())
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    with mpl.rc_context(STYLE):
        for kind in kinds_of(every):
            for way in ways_of(every):
                files.append(_save(radar(frames, kind, way), folder / f"radar-{kind or 'all'}-{way}.{suffix}"))
                crossed = {"crossing": crossing(named, kind, way), "trade-off": trade_off(named, kind, way)}
                for stem, figure in crossed.items():
                    if figure is not None:
                        files.append(_save(figure, folder / f"{stem}-{kind or 'all'}-{way}.{suffix}"))
                for name, rows in frames.items():
                    if way not in ways_of(rows):  # this run or task did not ask that augmentation
                        continue
                    file = f"heatmap-{kind or 'all'}-{way}-{file_stem(name)}.{suffix}"
                    files.append(_save(heatmap(rows, kind, way, name), folder / file))
            files.append(_save(lines(frames, kind), folder / f"lines-{kind or 'all'}.{suffix}"))
        files.append(_save(disparity_table(frames), folder / f"disparities.{suffix}"))
    return files


def part_figures(part: Part, *, formats: Sequence[str]) -> Iterator[Drawn]:
    """Yield the radars, lines and heatmaps of a dataset and task, nothing where no sentence is marked."""
    frame = part.identities
    if not views.has_markers(frame):
        return
    stem, frames, name = f"{part.dataset}-{part.task}", {part.run.name: frame}, f"{part.run.name} · {part.task}"
    for kind in kinds_of(frame):
        named = f"{stem}-{kind or 'all'}"
        for way in ways_of(frame):
            yield from saved(f"radar-{named}-{way}", formats, lambda of, _: radar(frames, *of), (kind, way), "page")
            asked = ({part.run.name: part.measured}, kind, way)
            if crossing(*asked) is not None:
                yield from saved(f"crossing-{named}-{way}", formats, lambda of, _: _crossing(*of), asked, "page")
            whole = (frame, kind, way, name)
            yield from saved(f"heatmap-{named}-{way}", formats, lambda of, _: heatmap(*of), whole, "page")
        yield from saved(f"lines-{named}", formats, lambda of, _: lines(frames, of), kind, "page")


def lines(frames: Frames, kind: str) -> Figure:
    """Return, for each attribute, confidence of every marker without and with each augmentation; dashed for women."""
    every = list(views.lines(frames, kind))
    columns = min(4, len(every))
    rows = -(-len(every) // columns)
    # Under each panel is its legend, where no line is: two names a row.
    legend = 0.4 + 0.15 * -(-max(len({line.name for line in view.lines}) for view in every) // 2)
    width, height = 3.4 * columns + 1.0, (2.5 + legend) * rows + 0.6
    # Places are given: a layout engine would measure every text of every panel twice.
    figure = Figure(figsize=(width, height))
    figure.set_layout_engine("none")
    inside = {"left": 0.75 / width, "right": 1 - 0.1 / width, "bottom": legend / height, "top": 1 - 0.8 / height}
    cells = figure.add_gridspec(rows, columns, **inside, wspace=0.12, hspace=(legend + 0.3) / 2.2)
    grid = cells.subplots(squeeze=False, sharey=True)
    models = list(frames)
    for axes in grid.ravel()[len(every) :]:
        axes.set_visible(False)
    for axes, view in zip(grid.ravel(), every, strict=False):
        markers = list(dict.fromkeys(line.marker for line in view.lines))
        for line in view.lines:
            number = models.index(line.model)
            low, high = _ends(line.values)
            tone, places = colour(markers.index(line.marker)), range(len(view.ways))
            axes.vlines(places, low, high, color=tone, linewidth=0.8, alpha=0.7)
            axes.plot(
                places,
                _numbers(line.values),
                color=tone,
                linestyle={"female": "--", "male": "-"}.get(line.gender, ":"),
                marker=shape(number),
                markersize=3.5,
                linewidth=1.3,
                label=line.name if number == 0 else None,
            )
        axes.axhline(0, color=QUIET, linewidth=0.8, linestyle=":")
        axes.set_xticks(range(len(view.ways)), [NAMES[way] for way in view.ways])
        axes.set_title(view.attribute)
        axes.legend(fontsize=6.5, loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=2, borderaxespad=0)
    for axes in grid[:, 0]:
        axes.set_ylabel("mean confidence")
    shapes = ", ".join(f"{'●◆■▲▼'[n % 5]} {model}" for n, model in enumerate(frames))
    figure.suptitle(f"Confidence by marker and augmentation, {KINDS.get(kind, kind)} ({shapes})")
    return figure


def heatmap(frame: pd.DataFrame, kind: str, way: str, name: str) -> Figure:
    """Return mean confidence by referent occupation and identity, in colours that diverge from 0."""
    table = views.heat_table(frame, kind, way)
    limit = views.heat_limit(table)
    rows, columns = ([str(name) for name in names] for names in (table.index, table.columns))
    left, below = (0.25 + LETTER * max(map(len, names)) for names in (rows, columns))
    wide, tall = max(0.27 * len(columns), 5.0), 0.22 * len(rows)
    width, height = left + wide + 1.3, below + tall + 0.85
    figure = Figure(figsize=(width, height))
    figure.set_layout_engine("none")
    axes: Any = figure.add_axes((left / width, (below + 0.4) / height, wide / width, tall / height))
    image = axes.imshow(table, cmap=diverging(), vmin=-limit, vmax=limit, aspect="auto")
    axes.set(xticks=[], yticks=[])
    # Texts: a tick of matplotlib is six artists, and a run has six maps of a hundred names.
    for number, row in enumerate(rows):
        axes.text(-0.7, number, row, ha="right", va="center", fontsize=8)
    for number, (column, side) in enumerate(zip(columns, views.sides_of(table), strict=True)):
        tone = tone_of(side).light if side else "black"
        axes.text(number, len(rows) - 0.3, column, ha="center", va="top", rotation=90, fontsize=8, color=tone)
    axes.set_title(f"{name}: confidence by referent and identity, {KINDS.get(kind, kind)}, {way}")
    axes.text(0.0, -(below + 0.3) / tall, MEANING, transform=axes.transAxes)
    beside = figure.add_axes(
        ((left + wide + 0.2) / width, (below + 0.4 + 0.05 * tall) / height, 0.16 / width, 0.9 * tall / height)
    )
    figure.colorbar(image, cax=beside, label="mean confidence (0: undecided, below: wrong)")
    return figure


MEANING = "purple: stereotyped as men's work, green: as women's"
LETTER = 0.066
"""Inches of a letter of a name, at most."""


def disparity_table(frames: Frames) -> Figure:
    """Return the disparities: attributes and augmentations down, models and types across, large ones in bold."""
    every = pd.concat(frames.values())
    kinds = kinds_of(every)
    rows = [(NONE, "")]
    rows += [(way, name) for way in views.WAYS for name in values_of(every[every["augmentation"] == way], "attribute")]
    heads = [f"{model}\n{kind or 'all'}" for model in frames for kind in kinds]
    body, large = [], []
    for way, attribute in rows:
        values = [
            frame[
                (frame["metric"] == views.main_disparity(attribute))
                & (frame["type"] == kind)
                & (frame["augmentation"] == way)
                & (frame["attribute"] == attribute)
            ]["value"]
            for frame in frames.values()
            for kind in kinds
        ]
        body.append([f"{value.iloc[0]:.3f}" if len(value) else "–" for value in values])
        large.append([bool(len(value)) and value.iloc[0] > LARGE for value in values])
    names = [NAMES[way] if way == NONE else f"{way} · {views.row_title(attribute)}" for way, attribute in rows]
    figure = Figure(figsize=(3.0 + 1.7 * len(heads), 0.9 + 0.27 * len(rows)), layout="constrained")
    axes: Any = figure.subplots()
    axes.axis("off")
    table = axes.table(body, rowLabels=names, colLabels=heads, cellLoc="center", loc="center")
    table.auto_set_font_size(False)
    table.set_fontsize(8.5)
    for (row, column), cell in table.get_celld().items():
        cell.set_linewidth(0)
        cell.set_height(cell.get_height() * (1.9 if row == 0 else 1.15))
        if row and column >= 0 and large[row - 1][column]:
            cell.set_text_props(weight="bold")
            cell.set_facecolor("#e3e6ea")
    axes.set_title(f"Confidence disparity, max - min over gender x marker\n(over {LARGE:.2f} in bold)", fontsize=9)
    return figure


def _ends(several: Sequence[Estimated | None]) -> tuple[list[float], list[float]]:
    """Return the ends of the intervals; the value itself where it has none."""
    pairs = [
        (float("nan"),) * 2
        if estimate is None
        else (estimate.value, estimate.value)
        if estimate.low != estimate.low or estimate.high != estimate.high
        else (estimate.low, estimate.high)
        for estimate in several
    ]
    return [low for low, _ in pairs], [high for _, high in pairs]


def _numbers(several: Sequence[Estimated | None]) -> list[float]:
    return [float("nan") if estimate is None else estimate.value for estimate in several]


def _crossing(named: Mapping[str, Measurements], kind: str, way: str) -> Figure:
    figure = crossing(named, kind, way)
    assert figure is not None  # asked before it is drawn
    return figure


def _save(figure: Figure, path: Path) -> Path:
    save(laid_out(figure), path, path.suffix[1:])
    return path
