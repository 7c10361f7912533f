"""Seen before? What a model does better on published sentences than on new ones of the same kind, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...comparing.seen import ACCURACY, BITS, MASS, WHOLE, Seen
from ...records import grouped
from ...records.showing import Cell, Column, Finding, Row, Section, Table

UNITS = {ACCURACY: "", MASS: "", BITS: " bits per character"}

CAUTION = (
    "Published sentences may also be easier than new ones. Compare with a model that cannot have seen them: give its"
    " run as a second one."
)

UNREAD = (
    "The published sentences themselves are not shown to be more probable to it than new ones, so this does not show"
    " that it has read them."
)


def findings(tests: Sequence[Seen]) -> Iterator[Finding]:
    """Yield for each model, and each model it is compared with, whether it does better on the published sentences."""
    for (model, beyond), several in grouped(tests, lambda test: (test.model, test.beyond)).items():
        published, new = several[0].data
        held = [test for test in several if test.better]
        subject = f"{model}, compared with {beyond}," if beyond else model
        if held:
            named = "; ".join(_clause(test) for test in held)
            text = f"{subject} does better on {published} than on new sentences of the same kind ({new}): {named}."
            yield Finding(text, topic="difference")
            if any(test.measure == BITS for test in several) and not any(test.measure == BITS for test in held):
                yield Finding(UNREAD)
            elif not beyond:
                yield Finding(CAUTION)
        else:
            reach = ", ".join(f"{test.detectable:.3f}{UNITS[test.measure]} in {_name(test)}" for test in several)
            start = (
                f"{subject} is not shown to do better on {published} than on new sentences of the same kind ({new})."
            )
            yield Finding(f"{start} Four of five such audits would have detected a difference of {reach}.")
    if tests and not any(test.measure == BITS for test in tests):
        yield Finding(f"The log-probability of the sentences was not asked for; audit with --task {WHOLE}, too.")


def _clause(test: Seen) -> str:
    difference, counts = test.difference, test.adjusted.clusters
    numbers = f"{difference:+}".replace(" [", f"{UNITS[test.measure]} [", 1)
    return f"{_name(test)} by {numbers} (n = {counts[0]:,} and {counts[1]:,}, p = {difference.p_corrected:.2g})"


def _name(test: Seen) -> str:
    return f"{test.measure} ({test.task})" if test.measure != BITS else test.measure


def section(tests: Sequence[Seen]) -> Section:
    """Return the section of a page: the sentences, and every test."""
    published, new = tests[0].data
    intro = (
        f"A model that has seen {published} in training should do better there than on new sentences. So sentences of"
        " both are compared that have the same type, form and place of the pronoun, and the same two occupations (least"
        " squares with an effect of each). The log-probability is that of the sentence from its pronoun on, given what"
        " precedes it, per character. The p-values of a model are corrected together (Holm); errors are by base"
        " sentence. Four of five such audits would detect a difference as large as the detectable one."
    )
    columns = [
        *(Column(name, words=True) for name in ("model", "measure")),
        Column(published),
        Column(f"{new}, matched"),
        *(Column("difference", form="+.3f"), Column("p, corrected", digits=4)),
        *(Column(f"n, {name}") for name in (published, new)),
        Column("detectable"),
    ]
    rows = [
        Row(
            (
                f"{test.model} − {test.beyond}" if test.beyond else test.model,
                f"{_name(test)}{', bits per character' if test.measure == BITS else ''}",
                test.adjusted.first,
                test.adjusted.first - test.difference.value,
                Cell(test.difference, strong=test.better),
                test.difference.p_corrected,
                *test.adjusted.clusters,
                test.detectable,
            )
        )
        for test in tests
    ]
    table = Table("Published and new sentences", columns, rows, "seen")
    return Section("Seen before?", [*findings(tests), table], "seen", intro=intro)
