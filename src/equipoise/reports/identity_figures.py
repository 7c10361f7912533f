"""Pictures of identities from run folders, without the model: radar, lines, heatmap and the table of disparities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ..records import EquipoiseError
from .frames import KINDS
from .identity_tables import LARGE, identity_frame

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's colours, which people with any colour vision can tell apart."""

GENDERS = {"male": "masc", "female": "fem", "neutral": "they"}
NAMES = {"none": "no marker", "R": "R", "NR": "NR", "C": "C"}
STYLE: Any = {"font.size": 9, "axes.titlesize": 10, "svg.fonttype": "none", "svg.hashsalt": "equipoise"}

Frames = Mapping[str, pd.DataFrame]
"""Identity measurements by the model's name."""


def draw(measurements: Sequence[pd.DataFrame], folder: Path, *, suffix: str = "png") -> list[Path]:
    """Return the files of all pictures the measurements give: a set for each type and augmentation they have."""
    every = identity_frame(pd.concat(measurements))
    if not (every["marker"] != "").any():
        raise EquipoiseError("the run has no marked sentences; audit with --data winoidentity first")
    frames = {str(model): rows for model, rows in every.groupby("model", sort=False)}
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    with mpl.rc_context(STYLE):
        for kind in _values(every, "type"):
            for way in [way for way in ("R", "NR", "C") if (every["augmentation"] == way).any()]:
                files.append(_save(radar(frames, kind, way), folder / f"radar-{kind}-{way}.{suffix}"))
                for model, rows in frames.items():
                    name = f"heatmap-{kind}-{way}-{_plain(model)}.{suffix}"
                    files.append(_save(heatmap(rows, kind, way), folder / name))
            files.append(_save(lines(frames, kind), folder / f"lines-{kind}.{suffix}"))
        files.append(_save(disparity_table(frames), folder / f"disparities.{suffix}"))
    return files


def radar(frames: Frames, kind: str, way: str) -> Figure:
    """Return a radar for each attribute: subgroups on the rim (unmarked ones too), a line a model."""
    attributes = _values(pd.concat(frames.values()), "attribute", way)
    columns = min(5, len(attributes))
    rows = -(-len(attributes) // columns)
    figure = Figure(figsize=(3.6 * columns, 3.5 * rows + 0.7), layout="constrained")
    for number, attribute in enumerate(attributes):
        axes: Any = figure.add_subplot(rows, columns, number + 1, projection="polar")
        rim = _rim(frames, attribute, kind, way)
        angles = np.linspace(0, 2 * np.pi, len(rim), endpoint=False)
        lowest, highest = 0.0, 0.0
        for colour, (model, frame) in zip(_cycle(), frames.items(), strict=False):
            values = [_subgroup(frame, kind, *cell) for cell in rim.values()]
            lowest, highest = float(np.nanmin([lowest, *values])), float(np.nanmax([highest, *values]))
            closed = [*values, values[0]]
            axes.plot([*angles, angles[0]], closed, color=colour, linewidth=1.6, marker="o", markersize=3, label=model)
            axes.fill([*angles, angles[0]], closed, color=colour, alpha=0.08)
        axes.set_ylim(lowest - 0.05, highest + 0.05)
        # Zero is where the model guesses: it needs a line of its own once values go below it.
        axes.plot(np.linspace(0, 2 * np.pi, 100), np.zeros(100), color="#666666", linewidth=0.8, linestyle=":")
        axes.set_xticks(angles, list(rim), fontsize=8)
        axes.tick_params(axis="y", labelsize=6, colors="#666666")
        axes.tick_params(axis="x", pad=9)
        axes.set_title(attribute, y=1.18)
    figure.suptitle(f"Mean coreference confidence, {KINDS.get(kind, kind)}, augmentation {way} (dotted: 0)\n")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure


def lines(frames: Frames, kind: str) -> Figure:
    """Return, for each attribute, confidence of every marker without and with each augmentation; dashed for women."""
    every = pd.concat(frames.values())
    attributes = _values(every, "attribute")
    ways = ["none", *(way for way in ("R", "NR", "C") if (every["augmentation"] == way).any())]
    columns = min(4, len(attributes))
    rows = -(-len(attributes) // columns)
    figure = Figure(figsize=(3.4 * columns + 1.6, 2.8 * rows + 0.6), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
    for axes in grid.ravel()[len(attributes) :]:
        axes.set_visible(False)
    for axes, attribute in zip(grid.ravel(), attributes, strict=False):
        markers = _values(every[every["attribute"] == attribute], "marker")
        for marker_number, marker in enumerate(markers):
            for number, frame in enumerate(frames.values()):
                for gender in _values(frame, "gender"):
                    values = [_subgroup(frame, kind, way, "" if way == "none" else marker, gender) for way in ways]
                    axes.plot(
                        range(len(ways)),
                        values,
                        color=COLOURS[marker_number % len(COLOURS)],
                        linestyle={"female": "--", "male": "-"}.get(gender, ":"),
                        marker="osD^v"[number % 5],
                        markersize=3.5,
                        linewidth=1.3,
                        label=f"{marker} {GENDERS.get(gender, gender)}" if number == 0 else None,
                    )
        axes.axhline(0, color="#666666", linewidth=0.8, linestyle=":")
        axes.set_xticks(range(len(ways)), [NAMES[way] for way in ways])
        axes.set_title(attribute)
        axes.legend(fontsize=6.5, frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in grid[:, 0]:
        axes.set_ylabel("mean confidence")
    shapes = ", ".join(f"{'●■◆▲▼'[n % 5]} {model}" for n, model in enumerate(frames))
    figure.suptitle(f"Confidence by marker and augmentation, {KINDS.get(kind, kind)} ({shapes})")
    return figure


def heatmap(frame: pd.DataFrame, kind: str, way: str) -> Figure:
    """Return mean confidence by referent occupation and identity, in colours that diverge from 0."""
    cells = frame[
        (frame["metric"] == "confidence")
        & (frame["occupation"] != "")
        & (frame["type"] == kind)
        & frame["augmentation"].isin(["none", way])
    ]
    genders = cells["gender"].map(lambda gender: GENDERS.get(gender, gender))
    identity = (cells["marker"] + " " + genders).str.strip()
    table = cells.assign(identity=identity).pivot_table(
        index="identity", columns="occupation", values="value", sort=False, aggfunc="mean"
    )
    table = table[table.mean().sort_values().index]
    limit = max(0.05, float(np.nanmax(np.abs(table.to_numpy()))))
    figure = Figure(figsize=(0.27 * table.shape[1] + 2.6, 0.22 * table.shape[0] + 2.2), layout="constrained")
    axes: Any = figure.subplots()
    image = axes.imshow(table, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
    axes.set_xticks(range(table.shape[1]), [str(name) for name in table.columns], rotation=90)
    axes.set_yticks(range(table.shape[0]), [str(name) for name in table.index])
    axes.set_title(f"{cells['model'].iloc[0]}: confidence by referent and identity, {KINDS.get(kind, kind)}, {way}")
    figure.colorbar(image, ax=axes, label="mean confidence (0: undecided, below: wrong)", shrink=0.9)
    return figure


def disparity_table(frames: Frames) -> Figure:
    """Return the disparities: attributes and augmentations down, models and types across, large ones in bold."""
    every = pd.concat(frames.values())
    kinds = _values(every, "type")
    rows = [("none", "")]
    rows += [(way, name) for way in ("R", "NR", "C") for name in _values(every, "attribute", way)]
    heads = [f"{model}\n{kind}" for model in frames for kind in kinds]
    body, large = [], []
    for way, attribute in rows:
        values = [
            frame[
                (frame["metric"] == "confidence_disparity")
                & (frame["type"] == kind)
                & (frame["augmentation"] == way)
                & (frame["attribute"] == attribute)
            ]["value"]
            for frame in frames.values()
            for kind in kinds
        ]
        body.append([f"{value.iloc[0]:.3f}" if len(value) else "–" for value in values])
        large.append([bool(len(value)) and value.iloc[0] > LARGE for value in values])
    names = [NAMES[way] if way == "none" else f"{way} · {attribute}" for way, attribute in rows]
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
            cell.set_facecolor("#FBD9C4")
    axes.set_title(f"Confidence disparity, max - min over gender x marker\n(over {LARGE:.2f} in bold)", fontsize=9)
    return figure


def _rim(frames: Frames, attribute: str, kind: str, way: str) -> dict[str, tuple[str, str, str]]:
    """Return the labels on the rim, and the (augmentation, marker, gender) each stands for: men opposite women."""
    every = pd.concat(frames.values())
    own = every[(every["attribute"] == attribute) & (every["augmentation"] == way) & (every["type"] == kind)]
    rim: dict[str, tuple[str, str, str]] = {}
    for gender in ("female", "male", "neutral", ""):
        if not (own["gender"] == gender).any() or (gender == "" and rim):
            continue
        short = GENDERS.get(gender, gender)
        rim[short or "no marker"] = ("none", "", gender)
        for marker in _values(own, "marker"):
            rim[f"{short}:\n{marker}" if short else marker] = (way, marker, gender)
    return rim


def _subgroup(frame: pd.DataFrame, kind: str, way: str, marker: str, gender: str) -> float:
    rows = frame[
        (frame["metric"] == "confidence")
        & (frame["type"] == kind)
        & (frame["augmentation"] == way)
        & (frame["marker"] == marker)
        & (frame["gender"] == gender)
        & (frame["occupation"] == "")
        & (frame["privilege"] == "")
    ]
    return float(rows["value"].iloc[0]) if len(rows) else float("nan")


def _values(frame: pd.DataFrame, column: str, way: str | None = None) -> list[str]:
    """Return the values of a column in order of appearance, without the empty one."""
    if way is not None:
        frame = frame[frame["augmentation"] == way]
    return [str(value) for value in dict.fromkeys(frame[column]) if value]


def _cycle() -> Iterable[str]:
    while True:
        yield from COLOURS


def _plain(name: str) -> str:
    return "".join(character if character.isalnum() or character in "-." else "-" for character in name)


def _save(figure: Figure, path: Path) -> Path:
    # Without a date, so that the same numbers give the same file.
    metadata = {"Date": None} if path.suffix == ".svg" else None
    figure.savefig(path, dpi=130, metadata=metadata)
    return path
