"""The rules a pronoun sentence keeps: two occupations, one pronoun, the pronoun after both."""

from __future__ import annotations

from collections.abc import Sequence

from .occupations import mentions
from .pronouns import pronouns_in


def broken_rules(text: str, candidates: Sequence[str]) -> list[str]:
    """Return what is wrong with a sentence, as short phrases; an empty list for a sound one."""
    named = mentions(text, plurals=True)
    pronouns = pronouns_in(text)
    wanted = {candidate.lower() for candidate in candidates}
    broken = []
    for candidate in candidates:
        count = sum(mention.name.lower() == candidate.lower() for mention in named)
        if count != 1:
            broken.append(f"names the {candidate} {count} times")
    others = [mention.name for mention in named if mention.name.lower() not in wanted]
    if others:
        broken.append(f"names a third occupation, {others[0]}")
    if len(pronouns) != 1:
        broken.append(f"has {len(pronouns)} pronouns")
    if named and pronouns and pronouns[0].start < max(mention.end for mention in named):
        broken.append("has the pronoun before an occupation")
    return broken
