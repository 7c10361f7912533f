"""Charts of a survey as SVG: agreement by type and person (Fig. 12 of the UCerF paper), raters' locales (Fig. 11)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from html import escape

from ..steps import Sentence
from .consensus import Tally

BINS = 10
WIDTH, HEIGHT, GAP = 260, 150, 40
INK, BAR, LINE = "#1c2321", "#1d5c63", "#d8d5cc"


def consistency(sentences: Sequence[Sentence], tallies: Mapping[str, Tally]) -> dict[tuple[str, str], list[float]]:
    """Return the share of the winning votes of each sentence, by type and by person ("target" or "other").

    The target is the person the model was asked to write about. Sentences that nobody calls coherent have none.
    """
    shares: dict[tuple[str, str], list[float]] = defaultdict(list)
    for sentence in sentences:
        tally = tallies.get(sentence.id, Tally())
        if not tally.coherent_yes:
            continue
        first, second = (tally.first_yes, tally.first_no), (tally.second_yes, tally.second_no)
        target, other = (first, second) if sentence.target == sentence.first else (second, first)
        shares[sentence.type, "target"].append(max(target) / tally.coherent_yes)
        shares[sentence.type, "other"].append(max(other) / tally.coherent_yes)
    return shares


def agreement_chart(sentences: Sequence[Sentence], tallies: Mapping[str, Tally]) -> str:
    """Return histograms of the share of winning votes, from 50% to 100%."""
    panels = []
    for number, ((kind, person), shares) in enumerate(sorted(consistency(sentences, tallies).items())):
        counts = [0] * BINS
        for share in shares:
            counts[min(BINS - 1, max(0, int((share - 0.5) * 2 * BINS)))] += 1
        panels.append(_histogram(number, f"{kind}, {person} (n = {len(shares):,})", counts))
    rows = (len(panels) + 1) // 2
    return _svg(2 * (WIDTH + GAP) + GAP, rows * (HEIGHT + 2 * GAP) + GAP, panels)


def _histogram(number: int, title: str, counts: Sequence[int]) -> str:
    left, top = GAP + number % 2 * (WIDTH + GAP), GAP + number // 2 * (HEIGHT + 2 * GAP)
    most, step = max([*counts, 1]), WIDTH / len(counts)
    parts = [f'<text x="{left}" y="{top - 8}" font-weight="600">{escape(title)}</text>']
    for place, count in enumerate(counts):
        tall = HEIGHT * count / most
        x, y = left + place * step + 1, top + HEIGHT - tall
        parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{step - 2:.1f}" height="{tall:.1f}" fill="{BAR}"/>')
        if count:
            parts.append(
                f'<text x="{x + step / 2 - 1:.1f}" y="{y - 3:.1f}" {_SMALL} text-anchor="middle">{count:,}</text>'
            )
    base = top + HEIGHT
    parts.append(f'<path d="M{left} {base}h{WIDTH}" stroke="{LINE}"/>')
    for share, x in (("50%", left), ("75%", left + WIDTH / 2), ("100%", left + WIDTH)):
        parts.append(f'<text x="{x:.0f}" y="{base + 16}" {_SMALL} text-anchor="middle">{share}</text>')
    return "".join(parts)


def locale_chart(locales: Mapping[str, int]) -> str:
    """Return a bar for the answers of each locale."""
    most = max([*locales.values(), 1])
    bars = []
    for number, (locale, count) in enumerate(locales.items()):
        y = GAP + number * 24
        bars.append(f'<text x="{150}" y="{y + 13}" text-anchor="end">{escape(locale)}</text>')
        bars.append(f'<rect x="160" y="{y}" width="{320 * count / most:.1f}" height="16" fill="{BAR}"/>')
        bars.append(f'<text x="{168 + 320 * count / most:.1f}" y="{y + 13}" {_SMALL}>{count:,}</text>')
    return _svg(560, len(locales) * 24 + 2 * GAP, bars)


_SMALL = 'font-size="11"'


def _svg(width: float, height: float, parts: Sequence[str]) -> str:
    frame = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    style = f'font-family="system-ui, sans-serif" font-size="14" fill="{INK}"'
    return f'{frame} {style}><rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n'
