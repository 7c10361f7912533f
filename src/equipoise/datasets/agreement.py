"""Verbs that agree with their pronoun: they were, xe was. Where the grammar leaves it open, nothing is guessed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from importlib import resources
from types import MappingProxyType

from ..records import DatasetError

_NEXT = re.compile(r"\s+([A-Za-z]+(?:['’]t)?)")
_JOINED = re.compile(r"\b(?:and|or|but)\s+(?:\w+ly\s+)?(\w+(?:['’]t)?)")


class Unresolved(DatasetError):
    """Raised where the words of a sentence do not say what its counterpart is: the sentence is set aside."""


def _grammar() -> tuple[Mapping[str, str], Mapping[str, frozenset[str]]]:
    content = tomllib.loads(resources.files(__package__).joinpath("agreement.toml").read_text(encoding="utf-8"))
    words = {name: frozenset(text.split()) for name, text in content["words"].items()}
    return MappingProxyType(content["pairs"]), MappingProxyType(words)


PLURALS, WORDS = _grammar()
SINGULARS = MappingProxyType({plural: singular for singular, plural in PLURALS.items()})


def agreeing(after: str, *, plural: bool) -> str:
    """Return what follows the subject with its verb in the other number; raise Unresolved where that is not sure."""
    if after[:1] in ("'", "’"):
        raise Unresolved("a contraction after the pronoun can be 'is' or 'has'")
    place = 0
    while (match := _NEXT.match(after, place)) and (match[1] in WORDS["between"] or match[1].endswith("ly")):
        place = match.end()
    if not match:
        raise Unresolved("the verb after the pronoun was not found")
    verb = match[1].replace("’", "'").lower()
    other = _plural(verb) if plural else _singular(verb)
    if other != verb:
        joined = _JOINED.search(after, match.end())
        following = joined[1].lower() if joined else ""
        if following in PLURALS or following in SINGULARS or (plural and _is_present(following)):
            raise Unresolved(f"'{verb}' is followed by a second verb, '{following}'")
    return f"{after[: match.start(1)]}{other}{after[match.end(1) :]}"


def _is_present(word: str) -> bool:
    return word.endswith("s") and not word.endswith("ss") and word not in WORDS["not_verbs"]


def _plural(verb: str) -> str:
    if verb in PLURALS:
        return PLURALS[verb]
    if not _is_present(verb):
        return verb
    if verb.endswith("ies"):
        return f"{verb[:-3]}y"
    return verb[:-2] if verb.endswith(("sses", "shes", "ches", "xes", "zzes", "oes")) else verb[:-1]


def _singular(verb: str) -> str:
    if verb in SINGULARS:
        return SINGULARS[verb]
    if verb in WORDS["unchanged"] or verb.endswith("ed"):
        return verb
    raise Unresolved(f"'they {verb}' can be present or past")
