"""Charts of a survey: agreement by type and person (Fig. 12 of the UCerF paper), raters' locales (Fig. 11)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from ...records.showing import Axis, Bar, Chart, Panel
from ..steps import Sentence
from .consensus import share_of
from .votes import Vote

BINS = 10


def consistency(
    sentences: Sequence[Sentence], votes: Mapping[str, Sequence[Vote]]
) -> dict[tuple[str, str], list[float]]:
    """Return the share of the winning votes of each sentence, by type and by person ("target" or "other").

    The target is the person the model was asked to write about. Sentences that nobody calls coherent have none.
    """
    shares: dict[tuple[str, str], list[float]] = defaultdict(list)
    for sentence in sentences:
        given = votes.get(sentence.id, ())
        if not any(vote[0] == "yes" for vote in given):
            continue
        first, second = (max(share_of(given, place, reply) for reply in ("yes", "no")) for place in (1, 2))
        target, other = (first, second) if sentence.target == sentence.first else (second, first)
        shares[sentence.type, "target"].append(target)
        shares[sentence.type, "other"].append(other)
    return shares


def agreement_chart(sentences: Sequence[Sentence], votes: Mapping[str, Sequence[Vote]], who: str = "raters") -> Chart:
    """Return histograms of the share of winning votes, from 50% to 100%."""
    panels = []
    for (kind, person), shares in sorted(consistency(sentences, votes).items()):
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
    return Chart(f"Agreement of the {who}", panels, layout="multiples")


def locale_chart(locales: Mapping[str, int], who: str = "raters") -> Chart:
    """Return a bar for the answers of each locale."""
    bars = [
        Bar((0.0, float(count)), (at - 0.33, at + 0.33), label=f"{locale}: {count:,}")
        for at, (locale, count) in enumerate(locales.items())
    ]
    names = [f"{locale} ({count:,})" for locale, count in locales.items()]
    answers = Axis("answers", 0.0, float(max([*locales.values(), 1])))
    return Chart(f"Answers by locale of the {who}", [Panel(bars, answers, Axis.of_names(names))])
