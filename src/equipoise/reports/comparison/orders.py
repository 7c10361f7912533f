"""Do two datasets order the runs alike? A fairness metric of one domain may say little about another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from ...runs.measurements import kind_title, metric_named
from .compare import Comparison, Tested
from .verdicts import better_run

FOLLOWED = ("ucerf", "ucerf_signed", "flip_rate")
"""The metrics whose order of runs is followed from dataset to dataset."""

SAME, OPPOSITE, UNSETTLED = "same order", "opposite order", "not settled"
WORDS = {
    SAME: "the two runs are in the same order",
    OPPOSITE: "the two runs are in the opposite order",
    UNSETTLED: "the order is not settled, because a difference is not detected on both",
}


@dataclass(frozen=True)
class Order:
    """Two runs by one metric on two datasets, asked as the same task: which run is better on each?"""

    first: Tested
    second: Tested

    @property
    def verdict(self) -> str:
        """Whether the better run is the same; not settled where a difference is not detected on both."""
        better = [better_run(test) for test in (self.first, self.second)]
        if not all(better):
            return UNSETTLED
        return SAME if better[0] == better[1] else OPPOSITE

    @property
    def missing(self) -> str:
        """The data on which no difference is detected, "" where there is one on both."""
        return " and ".join(test.data for test in (self.first, self.second) if not test.detected)


def orders(comparison: Comparison) -> list[Order]:
    """Return every two tests of the same runs, metric and task on different datasets, both answerable or neither."""
    kinds = {
        (str(matched), kind_title(kind)): bool(matched.outcomes[0].answerable[matched.rows(kind)].all())
        for matched in comparison.matches
        for kind in matched.kinds
    }
    parts = {str(matched): (matched.dataset, matched.task) for matched in comparison.matches}
    tests = [test for test in comparison.tests if test.metric in FOLLOWED and (test.part, test.kind) in kinds]
    paired = []
    for contest, other in combinations(tests, 2):
        alike = (contest.metric, contest.first, contest.second) == (other.metric, other.first, other.second)
        datasets, tasks = zip(parts[contest.part], parts[other.part], strict=True)
        same_kind = kinds[contest.part, contest.kind] == kinds[other.part, other.kind]
        if alike and same_kind and datasets[0] != datasets[1] and tasks[0] == tasks[1]:
            paired.append(Order(contest, other))
    return paired


def order_sentences(several: Sequence[Order]) -> Iterator[str]:
    """Yield for each metric and two datasets how many pairs of runs have the same order."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for order in several:
        groups.setdefault((order.first.metric, order.first.data, order.second.data), []).append(order.verdict)
    for (metric, first, second), verdicts in groups.items():
        where = f"{metric_named(metric).label} on {first} and on {second}"
        if len(verdicts) == 1:
            yield f"{where}: {WORDS[verdicts[0]]}."
            continue
        counts = Counter(verdicts)
        yield (
            f"{where}: of {len(verdicts)} pairs of runs, {counts[SAME]} in the same order, {counts[OPPOSITE]} in the"
            f" opposite order, {counts[UNSETTLED]} not settled (a difference must be detected on both)."
        )
