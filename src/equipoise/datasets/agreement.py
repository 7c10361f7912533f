"""Verbs that agree with their pronoun: they were, xe was. Where the grammar leaves it open, nothing is guessed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from .. import packaged
from ..records import DatasetError

_NEXT = re.compile(r"\s+([A-Za-z]+(?:['’]t)?)")
_SAME = re.compile(r"['’](d|ll)\b", re.IGNORECASE)
"""Contractions that are the same after every pronoun: he'd, they'll."""
_JOINT = re.compile(r"\b(?:and|or|but|yet|then|nor)\b|,")
_WORD = re.compile(r"[A-Za-z]+(?:['’]t)?")
_JOINTS = {"and", "or", "but", "yet", "then", "nor"}
_AUXILIARIES = {"is", "was", "has", "does", "isn't", "wasn't", "hasn't", "doesn't"}


class Unresolved(DatasetError):
    """Raised where the words of a sentence do not say what its counterpart is: the sentence is set aside."""


def _grammar() -> tuple[Mapping[str, str], Mapping[str, frozenset[str]]]:
    content = packaged.toml(__package__, "agreement.toml")
    words = {name: frozenset(text.split()) for name, text in content["words"].items()}
    return MappingProxyType(content["pairs"]), MappingProxyType(words)


PLURALS, WORDS = _grammar()
SINGULARS = MappingProxyType({plural: singular for singular, plural in PLURALS.items()})


def agreeing(after: str, *, plural: bool) -> str:
    """Return what follows the subject with its verb in the other number; raise Unresolved where that is not sure."""
    if after[:1] in ("'", "’"):
        if not (same := _SAME.match(after)):
            raise Unresolved("a contraction after the pronoun can be 'is' or 'has'")
        _check_second_verb(after, same.end(), same[1], plural=plural)
        return after
    place = 0
    while (match := _NEXT.match(after, place)) and (match[1] in WORDS["between"] or match[1].endswith("ly")):
        place = match.end()
    if not match:
        raise Unresolved("the verb after the pronoun was not found")
    verb = match[1].replace("’", "'").lower()
    other = _plural(verb) if plural else _singular(verb)
    _check_second_verb(after, match.end(), verb, plural=plural)
    return f"{after[: match.start(1)]}{other}{after[match.end(1) :]}"


def is_inverted(before: str) -> bool:
    """Return whether a verb that agrees with the pronoun comes before it: "only then was he"."""
    words = _WORD.findall(before)
    verb = words[-1].replace("’", "'").lower() if words and before.rstrip()[-1:].isalpha() else ""
    return SINGULARS.get(verb, verb) in _AUXILIARIES


def _check_second_verb(after: str, start: int, verb: str, *, plural: bool) -> None:
    """Raise Unresolved if a second verb can have the same subject: it would have to change as well."""
    for joint in _JOINT.finditer(after, start):
        words = (word.lower() for word in _WORD.findall(after[joint.end() :]))
        word = next((word for word in words if not _is_between(word)), "")
        if word in PLURALS or word in SINGULARS or (plural and _is_present(word)):
            raise Unresolved(f"'{verb}' is followed by a second verb, '{word}'")


def _is_between(word: str) -> bool:
    return word in WORDS["between"] or word in _JOINTS or word.endswith("ly")


def _is_present(word: str) -> bool:
    return word.endswith("s") and not word.endswith("ss") and word not in WORDS["not_verbs"]


def _is_past(verb: str) -> bool:
    return (
        verb in WORDS["unchanged"] or verb in WORDS["past"] or (verb.endswith("ed") and verb not in WORDS["base_in_ed"])
    )


def _plural(verb: str) -> str:
    if verb in PLURALS:
        return PLURALS[verb]
    if _is_past(verb):
        return verb
    if not _is_present(verb) or verb in WORDS["open"]:
        raise Unresolved(f"'{verb}' after the pronoun is not a known verb")
    if verb.endswith("ies"):
        return f"{verb[:-3]}y"
    return verb[:-2] if verb.endswith(("sses", "shes", "ches", "xes", "zzes", "oes")) else verb[:-1]


def _singular(verb: str) -> str:
    if verb in SINGULARS:
        return SINGULARS[verb]
    if verb in WORDS["unchanged"] or (verb.endswith("ed") and verb not in WORDS["base_in_ed"]):
        return verb
    raise Unresolved(f"'they {verb}' can be present or past")
