"""What a run shows, part by part: what makes it invalid first, then what was found, then what to mind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from ..records.showing import Finding
from ..runs.run import Part, Run
from .findings import behaviour
from .items import labels_of, left_out, occupations, stated_probabilities
from .validity import checks
from .words import words_of


@dataclass(frozen=True)
class PartSummary:
    """What a run shows on one dataset and task: `title`, the `checks` of its validity, and its `sentences`.

    Sentences with the topic "validity" come from checks that are not fine.
    """

    title: str
    checks: tuple[Finding, ...]
    sentences: tuple[Finding, ...]

    @property
    def headline(self) -> str:
        """The first sentence: how often the group word changed the answer, or why nothing can be said."""
        return self.sentences[0].text if self.sentences else ""

    def __str__(self) -> str:
        return "\n".join([self.title, *(sentence.text for sentence in self.sentences)])


@dataclass(frozen=True)
class Summary:
    """What a run shows, in plain sentences: `print(summary(run))`, or part by part in `parts`."""

    model: str
    parts: tuple[PartSummary, ...]

    @property
    def headline(self) -> str:
        """The first sentence of the first part."""
        return self.parts[0].headline if self.parts else ""

    def __str__(self) -> str:
        return "\n\n".join(str(part) for part in self.parts)


def summary(run: Run | str | Path) -> Summary:
    """Return what a run (or the run in a folder) shows: the sentences that the terminal and the page print."""
    opened = run if isinstance(run, Run) else Run(run)
    return Summary(opened.name, tuple(part_summary(part) for part in opened.parts))


@lru_cache(maxsize=16)
def part_summary(part: Part) -> PartSummary:
    """Return what the run shows on one dataset and task."""
    listed = checks(part) if part.has_items else []
    return PartSummary(f"{part.run.name} on {part}", tuple(listed), tuple(_sentences(part, listed)))


def _sentences(part: Part, listed: list[Finding]) -> Iterator[Finding]:
    invalid = [check for check in listed if check.state == "invalid"]
    if invalid:
        # The tables still have the numbers; no sentence may read a finding into them.
        yield from (replace(check, short="") for check in invalid)
        return
    kinds = part.kinds if part.has_items else part.measured.kinds
    view = labels_of(part) if part.has_items else None
    if view is not None:
        yield Finding(view.sentence, topic="labels")
    yield from behaviour(part.measured, kinds, words_of([part]))
    if part.has_items:
        for kind in kinds:
            yield from stated_probabilities(part, kind)
            yield from occupations(part, kind)
            yield from left_out(part, kind)
    for check in listed:
        if check.state != "fine":
            yield replace(check, short="")


def legend(run: Run) -> str:
    """Return what brackets, n, sets, types and candidate mass are, as far as this run has them."""
    level = f"{100 * run.manifest.settings['level']:.10g}%"
    sentences = [f"Brackets are {level} intervals; n counts sets or sentences."]
    measured = [part.measured for part in run.parts]
    if any(metric.startswith("flip_rate") for part in measured for metric in part.metrics):
        sentences.append(f"A set is one sentence, asked with each {words_of(run.parts).group_word}.")
    if any("type1" in part.kinds for part in measured):
        sentences.append("Resolvable sentences say who is meant, ambiguous ones do not.")
    if any("candidate_mass" in part.metrics for part in measured):
        sentences.append("Candidate mass is the probability of all candidate answers together.")
    return " ".join(sentences)
