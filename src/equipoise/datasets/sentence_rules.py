"""The rules a pronoun sentence keeps: two occupations, one pronoun, the pronoun after both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from .occupations import Mention, mentions
from .pronouns import pronouns_in

TARGET_PAIR = "target pair"
TWO_OCCUPATIONS = "two occupations"
ONE_PRONOUN = "one pronoun"
PRONOUN_LAST = "pronoun after both"


class Break(NamedTuple):
    """A rule that a sentence breaks, by its name above, and how, as a short phrase."""

    rule: str
    what: str


class Find(Protocol):
    """Finds the words of a list in a text, as `occupations.mentions` does for the 40."""

    def __call__(self, text: str, *, plurals: bool = False) -> list[Mention]: ...


def rule_breaks(
    text: str,
    candidates: Sequence[str],
    *,
    find: Find = mentions,
    find_pronouns: Callable[[str], Sequence[Any]] = pronouns_in,
) -> Iterator[Break]:
    """Yield each rule that the sentence breaks, and how; nothing for a sound one."""
    named = find(text, plurals=True)
    pronouns = find_pronouns(text)
    wanted = {candidate.lower() for candidate in candidates}
    for candidate in candidates:
        count = sum(mention.name.lower() == candidate.lower() for mention in named)
        if count != 1:
            yield Break(TWO_OCCUPATIONS if count else TARGET_PAIR, f"names the {candidate} {count} times")
    others = [mention.name for mention in named if mention.name.lower() not in wanted]
    if others:
        yield Break(TWO_OCCUPATIONS, f"names a third occupation, {others[0]}")
    if len(pronouns) != 1:
        yield Break(ONE_PRONOUN, f"has {len(pronouns)} pronouns")
    if named and pronouns and pronouns[0].start < max(mention.end for mention in named):
        yield Break(PRONOUN_LAST, "has the pronoun before an occupation")


def broken_rules(text: str, candidates: Sequence[str]) -> list[str]:
    """Return what is wrong with a sentence, as short phrases; an empty list for a sound one."""
    return [broken.what for broken in rule_breaks(text, candidates)]
