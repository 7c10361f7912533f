"""The colours of every chart, on the page and in figures: one colour has one meaning.

Colours that meet on one chart stay apart for readers with any colour vision (tests/media/test_palette.py), and marks
differ in shape as well.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..records.showing import Tone


@dataclass(frozen=True)
class Ink:
    """A colour on white and on a dark page, what it means, and the number of the mark's shape."""

    light: str
    dark: str
    meaning: str
    shape: int = 0


TONES = {
    "toward": Ink("#c2410c", "#ff9a5c", "with the stereotype", 1),
    "against": Ink("#0a6fb8", "#5aa9f5", "against the stereotype", 0),
    "same": Ink("#b9c0c8", "#59626d", "the same answer", 3),
    "neither": Ink("#454c55", "#d3d9df", "neither, or no group", 2),
    "unknown": Ink("#6b7480", "#a3acb6", "changed, without a known stereotype", 2),
    "he": Ink("#5b21b6", "#b48cff", "he", 0),
    "she": Ink("#2a6606", "#6fae2e", "she", 1),
    "they": Ink("#b08410", "#fbe892", "they", 2),
    "right": Ink("#148a7c", "#6be6d3", "right, or above 0", 0),
    "wrong": Ink("#8a0f45", "#e2447f", "wrong, or below 0", 1),
    "ideal": Ink("#8a5a2b", "#c99a6b", "an ideal model, as in the WinoIdentity paper", 0),
    "quiet": Ink("#8a929c", "#6f7782", "a line that only helps to read", 0),
}
"""Tones with a meaning of their own."""

SERIES = tuple(
    Ink(light, dark, "a line of a legend: a model, a marker or a group", number)
    for number, (light, dark) in enumerate(
        (
            ("#1f3b73", "#a9c7ff"),
            ("#d1670a", "#ff9d4d"),
            ("#12805c", "#2fb583"),
            ("#a0449f", "#a53d91"),
            ("#4a4a00", "#f3ee9a"),
            ("#8a1538", "#c2505f"),
            ("#3f9bd8", "#3f7fd0"),
            ("#5f6670", "#c9ced4"),
        )
    )
)
"""Tones that mean only what the legend beside them says."""

TOGETHER = (("toward", "against", "same", "neither", "unknown"), ("he", "she", "they"), ("right", "wrong"))
"""Tones that meet on one chart; the series are a further such set."""


def tone_of(name: Tone) -> Ink:
    """Return the tone of that name, or the series of that number; numbers start again after the last."""
    return SERIES[name % len(SERIES)] if isinstance(name, int) else TONES[name]


def shape_of(name: Tone) -> int:
    """Return the number of a tone's mark."""
    return tone_of(name).shape


def class_of(name: Tone) -> str:
    """Return the CSS class of a tone."""
    return f"s{name % len(SERIES)}" if isinstance(name, int) else f"t-{name}"


def style_sheet() -> str:
    """Return the CSS of all tones: a variable for each, in light and dark, and the classes that use it."""
    tones = {**{f"t-{name}": tone for name, tone in TONES.items()}, **{f"s{n}": tone for n, tone in enumerate(SERIES)}}
    plain = "".join(f"--{name}:{tone.light};" for name, tone in tones.items())
    both = "".join(f"--{name}:light-dark({tone.light},{tone.dark});" for name, tone in tones.items())
    classes = "".join(
        f".{name}{{stroke:var(--{name})}}.mark.{name},.area.{name}{{fill:var(--{name});stroke:none}}" for name in tones
    )
    return f":root{{{plain}}}@supports (color:light-dark(black,white)){{:root{{{both}}}}}{classes}"
