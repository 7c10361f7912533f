"""Colours that meet on one chart can be told apart by everybody, and page and figures have the same ones."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest
from kept_texts import assert_kept

from equipoise.media.figure import figure
from equipoise.media.page.charts import svg
from equipoise.media.palette import SERIES, TOGETHER, TONES, Ink, class_of, shape_of, style_sheet, tone_of
from equipoise.records import Floats
from equipoise.records.showing import Chart, Dot, Panel

VISIONS = {
    "normal": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.052]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
    ),
    "tritan": np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.0047, 0.691367, 0.3039]]),
}
"""Machado, Oliveira and Fernandes (2009) at full severity, on linear RGB."""
LEAST = 9.0
"""ΔE2000: about nine times what a trained eye just notices. The palette before had pairs at 1.2."""
PAPER = {"light": "#ffffff", "dark": "#14171b"}


def linear(colour: str) -> Floats:
    values = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(values: Floats) -> Floats:
    xyz = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503]])
    scaled = xyz @ np.clip(values, 0, 1) / np.array([0.95047, 1, 1.08883])
    f = np.where(scaled > 0.008856, np.cbrt(scaled), 7.787 * scaled + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def difference(first: Floats, second: Floats) -> float:
    """Return CIEDE2000 (Sharma, Wu and Dalal 2005)."""
    chroma = (np.hypot(*first[1:]) + np.hypot(*second[1:])) / 2
    grey = 1.5 - 0.5 * np.sqrt(chroma**7 / (chroma**7 + 25**7))
    (a1, b1), (a2, b2) = (first[1] * grey, first[2]), (second[1] * grey, second[2])
    c1, c2 = np.hypot(a1, b1), np.hypot(a2, b2)
    h1, h2 = np.degrees(np.arctan2(b1, a1)) % 360, np.degrees(np.arctan2(b2, a2)) % 360
    turn = (h2 - h1 + 180) % 360 - 180
    hue = (h1 + turn / 2) % 360
    light, c = (first[0] + second[0]) / 2, (c1 + c2) / 2
    t = 1 - 0.17 * np.cos(np.radians(hue - 30)) + 0.24 * np.cos(np.radians(2 * hue))
    t += 0.32 * np.cos(np.radians(3 * hue + 6)) - 0.2 * np.cos(np.radians(4 * hue - 63))
    down = (second[0] - first[0]) / (1 + 0.015 * (light - 50) ** 2 / np.sqrt(20 + (light - 50) ** 2))
    across = (c2 - c1) / (1 + 0.045 * c)
    around = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2)) / (1 + 0.015 * c * t)
    rotation = -2 * np.sqrt(c**7 / (c**7 + 25**7)) * np.sin(np.radians(60 * np.exp(-(((hue - 275) / 25) ** 2))))
    return float(np.sqrt(down**2 + across**2 + around**2 + rotation * across * around))


def test_the_measure_agrees_with_published_pairs() -> None:
    # Sharma, Wu and Dalal, Table 1: rows 1, 7 and 25.
    rows = (
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, 0, 0), (50, -1, 2), 2.3669),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
    )
    for first, second, expected in rows:
        assert difference(np.array(first), np.array(second)) == pytest.approx(expected, abs=1e-4)


def meeting() -> list[tuple[Ink, ...]]:
    return [tuple(TONES[name] for name in names) for names in TOGETHER] + [SERIES]


@pytest.mark.parametrize("theme", PAPER)
@pytest.mark.parametrize("vision", VISIONS)
def test_colours_that_meet_are_apart_for_every_eye(theme: str, vision: str) -> None:
    for tones in meeting():
        for first, second in combinations(tones, 2):
            colours = getattr(first, theme), getattr(second, theme)
            apart = difference(*(lab(VISIONS[vision] @ linear(one)) for one in colours))
            assert apart >= LEAST, (colours, apart)


@pytest.mark.parametrize("theme", PAPER)
def test_marks_stand_out_from_the_paper(theme: str) -> None:
    light = [0.2126729, 0.7151522, 0.072175]
    for name, tone in [*TONES.items(), *enumerate(SERIES)]:
        low, high = sorted(float(linear(one) @ light) for one in (getattr(tone, theme), PAPER[theme]))
        # The squares of sets that did not change are the ground that the others stand out from.
        assert (high + 0.05) / (low + 0.05) >= (1.5 if name == "same" else 3.0), name


def test_no_two_meanings_share_a_colour() -> None:
    for theme in PAPER:
        colours = [getattr(tone, theme) for tone in [*TONES.values(), *SERIES]]
        assert len(set(colours)) == len(colours)


def test_page_and_figures_have_the_same_colours() -> None:
    dots = [Dot(0.5, 0.5, tone) for tone in [*TONES, *range(len(SERIES))]]
    chart = Chart("all", [Panel(dots)])
    (axes,) = figure(chart).axes
    style, drawn = style_sheet(), str(svg(chart))
    for dot, mark in zip(dots, axes.get_lines(), strict=True):
        ink = tone_of(dot.tone)
        assert mark.get_color() == ink.light
        assert f"--{class_of(dot.tone)}:light-dark({ink.light},{ink.dark})" in style
        assert f'class="mark {class_of(dot.tone)}"' in drawn
    assert not re.findall(r'(?:fill|stroke)="(#\w+)"', drawn), "the page's theme decides on colours"


def test_numbers_start_again_after_the_last_and_names_have_their_own() -> None:
    for number, ink in enumerate(SERIES):
        assert tone_of(number) is ink is tone_of(number + len(SERIES)) and shape_of(number) == number
        assert class_of(number) == f"s{number}" == class_of(number + len(SERIES))
    for name, ink in TONES.items():
        assert tone_of(name) is ink and class_of(name) == f"t-{name}" and shape_of(name) == ink.shape
    assert_kept("media/palette", TONES, SERIES, style_sheet().replace("}", "}\n"))
