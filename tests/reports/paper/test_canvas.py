"""The canvas that keeps texts draws what matplotlib's own draws, and PDF files still hold a font with every letter."""

from __future__ import annotations

import io
import re
import zlib

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from equipoise.reports.paper.canvas import QuickCanvas
from equipoise.reports.paper.figures import LOOK, laid_out, save, saved
from equipoise.reports.paper.fonts import NAME, families


def picture(name: str = "the accountant (61%)") -> Figure:
    figure = Figure(figsize=(3.25, 2), layout="constrained")
    axes = figure.subplots()
    axes.plot([0, 1], [0, 2], label=name)
    axes.set(xlabel="desirability D", ylabel="density", title=name)
    axes.text(0.5, 1, "turned", rotation=90)
    figure.legend(loc="outside upper center")
    return figure


def pixels(canvas: FigureCanvasAgg) -> np.ndarray:
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].astype(float).mean(axis=2)


def test_texts_are_drawn_where_matplotlib_draws_them() -> None:
    with matplotlib.rc_context(LOOK):
        usual, quick = (pixels(canvas(picture())) for canvas in (FigureCanvasAgg, QuickCanvas))
    assert usual.shape == quick.shape
    # Blocks of 8 x 8 pixels: hinting moves edges of letters by a pixel, no letter is elsewhere or missing.
    height, width = (side // 8 * 8 for side in usual.shape)
    blocks = [p[:height, :width].reshape(height // 8, 8, width // 8, 8).mean(axis=(1, 3)) for p in (usual, quick)]
    assert np.abs(blocks[0] - blocks[1]).max() < 64 and np.abs(blocks[0] - blocks[1]).mean() < 2
    assert (quick < 200).sum() == pytest.approx((usual < 200).sum(), rel=0.15)


def test_a_text_is_as_large_at_every_size_and_resolution_as_matplotlib_says() -> None:
    for size in (6, 12):
        for dpi in (72, 300):
            figures = [Figure(figsize=(3, 2), dpi=dpi) for _ in range(2)]
            canvases = FigureCanvasAgg(figures[0]), QuickCanvas(figures[1])
            sizes = [
                figure.text(0, 0, "young nurse", fontsize=size).get_window_extent(canvas.get_renderer()).bounds
                for figure, canvas in zip(figures, canvases, strict=True)
            ]
            assert sizes[0] == sizes[1]


def test_every_file_is_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = []
    draw = Figure.draw
    monkeypatch.setattr(Figure, "draw", lambda self, renderer: (draws.append(renderer), draw(self, renderer)))
    formats = ("pdf", "svg", "png")
    files = list(saved("picture", formats, lambda view, width: picture(), None, "column"))
    assert len(files) == len(draws) == 3, "a layout engine would draw each figure twice"


def test_a_pdf_has_the_small_font_and_the_whole_one_for_other_letters() -> None:
    assert families()[0] == NAME
    plain, greek = (pdf_fonts(name) for name in ("é is Latin", "Ж is Cyrillic"))
    assert plain == {"EquipoiseSans"} and greek == {"EquipoiseSans", "DejaVuSans"}


def pdf_fonts(name: str) -> set[str]:
    (drawn,) = saved("picture", ("pdf",), lambda view, width: picture(name), None, "column")
    text = drawn.content
    for packed in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", drawn.content, re.DOTALL):
        try:
            text += zlib.decompress(packed)
        except zlib.error:
            continue
    return {found.decode() for found in re.findall(rb"/BaseFont /(?:[A-Z]{6}[+])?([A-Za-z]+)", text)}


def test_the_same_figure_gives_the_same_file() -> None:
    with matplotlib.rc_context(LOOK):
        figure = laid_out(picture())
        for ending in ("pdf", "svg", "png"):
            files = [io.BytesIO(), io.BytesIO()]
            for file in files:
                save(figure, file, ending)
            assert files[0].getvalue() == files[1].getvalue()
