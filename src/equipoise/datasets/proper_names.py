"""People with a name of their own: which words of a sentence are names, and whether candidates are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .. import packaged

_WORD = re.compile(r"[^\W\d_](?:[\w-]|['’](?!s\b))*")
_LISTS = packaged.toml(__package__, "proper_names.toml")
_TITLES, _DETERMINERS, _BEFORE_PLACES = (set(_LISTS[key].split()) for key in ("titles", "determiners", "before_places"))
_OTHER_CAPITALS = {*_DETERMINERS, *_BEFORE_PLACES, *_LISTS["openers"].split(), *_LISTS["calendar"].split()}


def names_in(sentence: str) -> list[str]:
    """Return the names of people in an English sentence, in order of mention: capitalised words without an article."""
    return list(dict.fromkeys(name for _, name in _names(sentence)))


def are_names(text: str, candidates: Sequence[str]) -> bool:
    """Return whether every candidate is written as a name: in capitals wherever it occurs, never after an article."""
    if not candidates or not candidates[0][:1].isupper():  # first, because a table may have millions of rows
        return False
    return all(_is_name(text, candidate) for candidate in candidates)


def _is_name(text: str, candidate: str) -> bool:
    if not candidate[:1].isupper():
        return False
    places = [match.start() for match in re.finditer(rf"(?<!\w){re.escape(candidate)}(?!\w)", text)]
    return bool(places) and all(_word_before(text, place) not in _DETERMINERS for place in places)


def _names(sentence: str) -> Iterator[tuple[int, str]]:
    run: list[re.Match[str]] = []
    for word in _WORD.finditer(sentence):
        if run and _follows(sentence, run[-1], word) and word[0][0].isupper():
            run.append(word)
            continue
        yield from _joined(sentence, run)
        run = [word] if _begins(sentence, word) else []
    yield from _joined(sentence, run)


def _joined(sentence: str, run: Sequence[re.Match[str]]) -> Iterator[tuple[int, str]]:
    if not run:
        return
    first, *others = run
    if others or first[0].lower() not in _TITLES:
        yield first.start(), sentence[first.start() : run[-1].end()]


def _begins(sentence: str, word: re.Match[str]) -> bool:
    """Return whether a word begins a name: a capital that neither the start of a sentence nor the calendar explains."""
    if not word[0][0].isupper() or word[0].lower() in _OTHER_CAPITALS:
        return False
    return _word_before(sentence, word.start()) not in _DETERMINERS | _BEFORE_PLACES


def _follows(sentence: str, last: re.Match[str], word: re.Match[str]) -> bool:
    """Return whether a word goes on with a name: after a space, or after a title and its dot."""
    between = sentence[last.end() : word.start()]
    return between == " " or (between == ". " and last[0].lower() in _TITLES)


def _word_before(text: str, place: int) -> str:
    before = re.search(r"([^\W\d_]+)\s+$", text[:place])
    return before[1].lower() if before else ""
