"""Charts of a survey: agreement by type and person (Fig. 12 of the UCerF paper), raters' locales (Fig. 11)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from ...records.showing import Axis, Bar, Chart, Panel
from ..steps import Sentence
from .consensus import Tally

BINS = 10


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


def agreement_chart(sentences: Sequence[Sentence], tallies: Mapping[str, Tally]) -> Chart:
    """Return histograms of the share of winning votes, from 50% to 100%."""
    panels = []
    for (kind, person), shares in sorted(consistency(sentences, tallies).items()):
        counts = [0] * BINS
        for share in shares:
            counts[min(BINS - 1, max(0, int((share - 0.5) * 2 * BINS)))] += 1
        ends = [0.5 + 0.5 * place / BINS for place in range(BINS + 1)]
        bars = [
            Bar((ends[at] + 0.003, ends[at + 1] - 0.003), (0.0, float(count)), label=f"{count:,}", text=f"{count:,}")
            for at, count in enumerate(counts)
            if count
        ]
        sentences_axis = Axis("sentences", 0.0, 1.12 * max(counts))
        title = f"{kind}, {person} (n = {len(shares):,})"
        panels.append(Panel(bars, Axis("share of the winning votes", 0.5, 1.0, unit="%"), sentences_axis, title))
    return Chart("Agreement of the raters", panels, layout="multiples")


def locale_chart(locales: Mapping[str, int]) -> Chart:
    """Return a bar for the answers of each locale."""
    bars = [
        Bar((0.0, float(count)), (at - 0.33, at + 0.33), label=f"{locale}: {count:,}")
        for at, (locale, count) in enumerate(locales.items())
    ]
    names = [f"{locale} ({count:,})" for locale, count in locales.items()]
    answers = Axis("answers", 0.0, float(max([*locales.values(), 1])))
    return Chart("Answers by locale", [Panel(bars, answers, Axis.of_names(names))])
