"""The grammar of "her": "him" where it is an object, "his" where it owns the noun after it.

The words around it decide (`her.toml`). Where they leave it open, the sentence is set aside for a person to decide.
"""

from __future__ import annotations

import re

from ... import packaged
from ...datasets.agreement import Unresolved
from ...datasets.pronouns import Found

_TOKEN = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*|[^\w\s]")


WORDS = {name: frozenset(words.split()) for name, words in packaged.toml(__package__, "her.toml").items()}
"""The words of each kind, from `her.toml`."""


def her_form(text: str, her: Found) -> str:
    """Return "object" or "possessive" for this "her"; raise Unresolved if it can be either."""
    # The order matters: a word that ends the phrase decides before any verb does. The plain case is last.
    before = [token.lower() for token in _TOKEN.findall(text[: her.start])]
    after = [token.lower() for token in _TOKEN.findall(text[her.end :])]
    if after and after[0] in WORDS["both_kinds"] and len(after) > 1 and after[1][0].isalpha():
        raise Unresolved(f"'her {after[0]} {after[1]}' can mean 'him' or 'his'")
    if not after or _ends_phrase(after[0]):
        return "object"
    following = after[1] if len(after) > 1 else "."
    verb = before[-1] if before else ""
    if (after[0] == "home" and verb in WORDS["going"]) or (after[0] == "back" and _ends_phrase(following)):
        return "object"
    if after[0] in WORDS["degree"] or _is_adverb(after[0]):
        return _after_adverb(after[1:])
    if verb in WORDS["causative"] or verb in WORDS["perceiving"]:
        return _after_causative(verb, after[0], following)
    if verb in WORDS["judging"]:
        return "object" if _describes(after[0]) and _ends_phrase(following) else "possessive"
    if verb in WORDS["helping"]:
        return _after_helping(after[0], following)
    if verb in WORDS["giving"]:
        return _after_giving(verb, after)
    if _is_gerund(after[0]):
        raise Unresolved(f"'her {after[0]} {following}' can mean 'him' or 'his'")
    return "possessive"


def is_without_noun(text: str, his: Found) -> bool:
    """Return whether a possessive has no noun after it: "the bag was his"."""
    after = [token.lower() for token in _TOKEN.findall(text[his.end :])]
    return not after or _ends_phrase(after[0])


def _ends_phrase(word: str) -> bool:
    """Return whether a noun phrase ends before this word."""
    return not word[0].isalpha() or word in WORDS["after_object"]


def _is_adverb(word: str) -> bool:
    return word.endswith("ly") and word not in WORDS["not_adverbs"]


def _after_adverb(after: list[str]) -> str:
    """ "thanked her warmly." and "made her very happy." against "her very first day", "her newly built house"."""
    rest = list(after)
    while rest and (rest[0] in WORDS["degree"] or _is_adverb(rest[0])):
        rest.pop(0)
    if not rest or _ends_phrase(rest[0]):
        return "object"
    following = rest[1] if len(rest) > 1 else "."
    return "object" if _ends_phrase(following) else "possessive"


def _after_causative(verb: str, word: str, following: str) -> str:
    """ "made her smile", "kept her busy", "saw her working" against "made her own", "saw her notes"."""
    if verb in ("let", "lets", "letting") or word in WORDS["bare_verbs"]:
        return "object"
    if (
        word in WORDS["verb_nouns"]
        and verb in WORDS["causative"]
        and (_ends_phrase(following) or _is_adverb(following))
    ):
        return "object"
    if word in WORDS["own_gifts"]:
        return "possessive"
    participle = word.endswith(("ing", "ed")) and not _ends_phrase(following)
    if word in WORDS["verb_nouns"] or word in WORDS["for_anyone"] or participle:
        raise Unresolved(f"'{verb} her {word}' can mean 'him' or 'his'")
    return "object" if _describes(word) and _ends_phrase(following) else "possessive"


def _after_helping(word: str, following: str) -> str:
    """ "helped her organize the …" against "helped her team with …"; "helped her work" is left open."""
    if word in WORDS["bare_verbs"]:
        return "object"
    if word in WORDS["verb_nouns"]:
        if following in ("the", "a", "an", "her", "some", "this", "that"):
            return "object"
        raise Unresolved(f"'her {word}' after a verb of helping can mean 'him' or 'his'")
    return "possessive"


def _after_giving(verb: str, after: list[str]) -> str:
    """ "offered her expertise" against "asked her questions"; "brought her lunch" is left open."""
    head = next((at for at in range(1, len(after)) if _ends_phrase(after[at])), len(after))
    phrase = after[:head]
    if phrase[-1] in WORDS["own_gifts"] or phrase[0] == "own":
        return "possessive"
    if phrase[-1] in WORDS["gifts_to_her"] or phrase[0] in WORDS["quantities"]:
        return "object"
    raise Unresolved(f"'{verb} her {' '.join(phrase)}' can mean 'him' or 'his'")


def _is_gerund(word: str) -> bool:
    """Return whether this is a verb in -ing, not a noun: "her leaving early" can be "him" or "his"."""
    stem = word.removesuffix("ing")
    verbs = WORDS["bare_verbs"] | WORDS["verb_nouns"] | {"be", "have"}
    return stem != word and word not in WORDS["ing_nouns"] and not verbs.isdisjoint((stem, f"{stem}e", stem[:-1]))


_ADJECTIVE_ENDINGS = ("ed", "ing", "ful", "ous", "ive", "able", "ible", "ic", "less", "ish")


def _describes(word: str) -> bool:
    """Return whether the word can describe a person: "found her helpful"."""
    return word in WORDS["adjectives"] or word.endswith(_ADJECTIVE_ENDINGS)
