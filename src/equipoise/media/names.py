"""How names are set: how long they may be, and how they go around a polar panel, so that none is cut or hidden."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from math import ceil, cos, inf, pi, sin, sqrt

from ..records.showing import Panel, Point

LETTER = 0.56
"""Mean width of a letter."""
LONGEST = 38
"""Letters of a name; the table has it whole."""
RADII, RIM = (4.2, 7.2), 0.9
"""Of a polar panel: the least radius that can be read and the largest, and how far beyond it names begin."""
RIM_LETTERS = (14, 11, 9)
"""Of a line of such a name, as there is room; longer words are parted."""
MANY = 12
"""Among more names than this, one that begins as the name before it does so in silence."""
MIDDLE = 0.2
"""Names less far aside than this part of the radius are above or below the panel."""

Block = tuple[float, float, list[str]]
"""The lines of a name beside a polar panel: how far aside and how far down the first begins, from the middle."""


def short(name: str, letters: int = LONGEST) -> str:
    """Return a name, cut where a chart has no room for more of it."""
    return name if len(name) <= letters else f"{name[: letters - 1]}…"


def name_room(names: Sequence[str]) -> float:
    """Return the room that names take beside a panel."""
    # A name may have wide letters only; a longer text is nearer to the mean.
    return 0.8 + 1.1 * LETTER * max((min(len(name), LONGEST) for name in names), default=0)


def radius_of(panels: Sequence[Panel], width: float) -> tuple[float, int]:
    """Return the radius of polar panels with such a width each, and the letters of a name's line; the same for all.

    Names are parted only where the panels would else be too small to be read.
    """
    for letters in RIM_LETTERS:
        # Without a name aside, as of two names, there is room for the largest.
        radius = min(((width / 2 - room) / aside - RIM for room, aside in _rooms(panels, letters)), default=RADII[1])
        if radius >= RADII[0]:
            break
    return min(max(radius, RADII[0] / 2), RADII[1]), letters


def whole_names_width(panels: Sequence[Panel]) -> float:
    """Return the least width of each of these polar panels with which it can be read and no name is parted."""
    least = 2 * (RADII[0] + RIM)
    return max((2 * room + least * aside for room, aside in _rooms(panels, RIM_LETTERS[0])), default=least)


def _rooms(panels: Sequence[Panel], letters: int) -> Iterator[Point]:
    """Yield the width of every name beside a polar panel, and how far aside it is, in radii."""
    for panel in panels:
        for number, lines in enumerate(rim_lines(panel, letters)):
            aside = abs(sin(2 * pi * number / len(panel.x.names)))
            if aside >= MIDDLE:
                yield 0.6 + LETTER * max(map(len, lines)), aside


def rim_room(panel: Panel, *, at_the_bottom: bool = False) -> float:
    """Return the room above a polar panel, or below it, for the name that is there."""
    lines = rim_lines(panel, RIM_LETTERS[-1])
    return RIM + 0.3 + _crowd(panel) + len(lines[len(lines) // 2 if at_the_bottom else 0])


def rim_lines(panel: Panel, letters: int) -> list[list[str]]:
    """Return the lines of every name around a polar panel; what comes before a colon has a line of its own.

    Among many names it is said only where it changes.
    """
    lines, before = [], ""
    for name in panel.x.names:
        first, colon, rest = name.partition(": ")
        repeated = len(panel.x.names) > MANY and first == before
        lines.append(
            [f"{first}:"] * (bool(colon) and not repeated) + [*_parted(short(rest if colon else name), letters)]
        )
        before = first
    return lines


def _parted(name: str, letters: int) -> Iterator[str]:
    """Yield a name in at most three lines; a word that is longer than a line is parted in the middle."""
    for line in textwrap.wrap(name, letters, break_long_words=False)[:3]:
        half = ceil(len(line) / 2)
        yield from [line] if len(line) <= letters else (f"{line[:half]}-", line[half:])


def rim_places(panel: Panel, middle: Point, radius: float, letters: int) -> Iterator[tuple[float, float, str, str]]:
    """Yield every line of the names around a polar panel: its place, how it is anchored, and its text."""
    lines, away = rim_lines(panel, letters), radius + RIM
    sides: dict[int, list[Block]] = {-1: [], 0: [], 1: []}
    for number, words in enumerate(lines):
        turn = 2 * pi * number / len(lines)
        aside, up = sin(turn), cos(turn)
        side = 0 if abs(aside) < MIDDLE else 1 if aside > 0 else -1
        # The name of the topmost is above its place, that of the lowest below.
        reach = away + (_crowd(panel) if not side else 0.0)
        sides[side].append((away * abs(aside), 0.3 - reach * up - (len(words) - 1) * (1 + up) / 2, words))
    for side, anchor in ((-1, "end"), (0, "middle"), (1, "start")):
        blocks = sorted(sides[side], key=lambda block: block[1])
        for x, y, words in _apart(blocks, sides[0], away) if side and blocks else blocks:
            at = middle[0] + side * x, middle[1] + y
            yield from ((at[0], at[1] + number, anchor, word) for number, word in enumerate(words))


def _crowd(panel: Panel) -> float:
    """Return how much further out the names at the top and at the bottom are, to leave room for many others."""
    lines = sum(map(len, rim_lines(panel, RIM_LETTERS[-1]))) / 2
    return max(0.0, lines / 2 - RADII[0]) if len(panel.x.names) > MANY else 0.0


def _apart(blocks: Sequence[Block], middle: Sequence[Block], away: float) -> Iterator[Block]:
    """Yield the names on one side, moved up or down so that none hides another, and out of the circle again."""
    tops, ends = [y for _, y, _ in blocks], (-inf, inf)
    for _, y, words in middle:
        wide = LETTER * max(map(len, words)) / 2 + 0.4
        if y < 0 and blocks[0][0] < wide:
            ends = y + len(words), ends[1]
        elif y > 0 and blocks[-1][0] < wide:
            ends = ends[0], y
    limit = ends[0]
    for number, (_, _, words) in enumerate(blocks):
        tops[number] = max(tops[number], limit)
        limit = tops[number] + len(words)
    limit = ends[1]
    for number, (_, _, words) in reversed(list(enumerate(blocks))):
        tops[number] = limit = min(tops[number], limit - len(words))
    for top, (x, _, words) in zip(tops, blocks, strict=True):
        nearest = max(top - 0.3, -(top - 0.3 + len(words) - 1), 0.0)
        yield max(x, sqrt(max(away**2 - nearest**2, 0.0))), top, words
