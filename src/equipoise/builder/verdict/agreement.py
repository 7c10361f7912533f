"""How far people agree: Krippendorff's alpha, and each person with the others."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence

from ...records import UndefinedMetric


def krippendorff_alpha(units: Iterable[Sequence[Hashable]]) -> float:
    """Return Krippendorff's alpha for nominal answers: 1 is full agreement, 0 what chance gives, under 0 worse.

    A unit is the answers to one question by whoever answered it; units with fewer than two say nothing. It is
    undefined (UndefinedMetric) if no unit has two answers, or if all answers are the same.
    alpha = 1 - observed / expected disagreement (Krippendorff 2004).
    """
    totals: Counter[Hashable] = Counter()
    observed = 0.0
    for answers in units:
        if len(answers) < 2:
            continue
        counts = Counter(answers)
        totals.update(counts)
        same = sum(count * (count - 1) for count in counts.values())
        observed += (len(answers) * (len(answers) - 1) - same) / (len(answers) - 1)
    n = totals.total()
    expected = n * n - sum(count * count for count in totals.values())
    if n == 0:
        raise UndefinedMetric("Krippendorff's alpha needs a question that two people have answered")
    if expected == 0:
        raise UndefinedMetric("Krippendorff's alpha is undefined where all answers are the same")
    return 1.0 - (n - 1) * observed / expected


def agreement_with_others(answers: Mapping[Hashable, Mapping[str, bool]]) -> dict[str, tuple[int, int]]:
    """Return, for each person, in how many questions they agree with the majority of the others, and of how many.

    `answers` maps a question to each person's answer; questions where the others are split, or none, do not count.
    """
    tally: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for by_person in answers.values():
        yes, total = sum(by_person.values()), len(by_person)
        for person, answer in by_person.items():
            others_yes, others = yes - answer, total - 1
            if others and 2 * others_yes != others:
                tally[person][0] += answer == (2 * others_yes > others)
                tally[person][1] += 1
    return {person: (agree, of) for person, (agree, of) in tally.items()}
