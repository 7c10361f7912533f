"""Words in any script: where a text has one, whatever the casing, the encoding of accents, or the spaces."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

SPACELESS = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (0x3400, 0x4DBF),  # Han, extension A
    (0x4E00, 0x9FFF),  # Han
    (0xF900, 0xFAFF),  # Han, compatibility
    (0x20000, 0x323AF),  # Han, further extensions
)
"""Ranges of characters that are written without spaces between words."""

PLURALS = "们們"
"""Characters that make another word of a Chinese pronoun: 她们 is not 她."""

JOINERS = "\u200c\u200d"
"""Characters without width inside of words, as in Persian."""


HARMLESS = f"{JOINERS}\u200e\u200f"
"""Characters without width that scripts need: joiners, and marks of direction that end with their word."""


def printable(text: str) -> str:
    """Return the text on one line, with a mark in place of what could move a cursor, or no file of text can hold."""
    return "".join(
        character if character.isprintable() or character in HARMLESS else "\N{REPLACEMENT CHARACTER}"
        for character in text
    )


@lru_cache(maxsize=4096)
def is_spaceless(character: str) -> bool:
    """Return whether words of the character's script are written without spaces between them."""
    return any(first <= ord(character) <= last for first, last in SPACELESS)


def space_before(word: str) -> str:
    """Return what is written between a text and the word that continues it: a space, or nothing."""
    return "" if word and is_spaceless(word[0]) else " "


def is_word(text: str) -> bool:
    """Return whether the text is one word: letters of any script, with their marks."""
    marks = (c.isalpha() or c in JOINERS or unicodedata.category(c).startswith("M") for c in text)
    return bool(text) and text[0].isalpha() and all(marks)


@lru_cache(maxsize=512)
def folded(word: str) -> str:
    """Return the word as it is compared: without casing, accents in one encoding, and İ as i."""
    return unicodedata.normalize("NFC", word.replace("İ", "i").casefold())


@lru_cache(maxsize=512)
def lowered(word: str) -> str:
    """Return the word in lower case, as long as it was: İ becomes i, not two characters."""
    return "".join(low if len(low := character.lower()) == 1 else "i" for character in word)


def find_word(text: str, word: str, *, hyphens: bool = True) -> list[tuple[int, int]]:
    """Return where the text has the word as a whole word, in any case; `hyphens` join words."""
    # Longer than the text: a pattern of a cell of ten megabytes takes a minute to compile.
    if not word or len(word) > 3 * len(text):
        return []
    joining = "-" if hyphens else ""
    if text.isascii() and word.isascii():
        return _ascii_places(text.lower(), word.lower(), joining)
    places = [match.span() for match in _spellings(word).finditer(text)]
    return [(start, end) for start, end in places if _is_whole(text, start, end, joining)]


def first_mention(text: str, name: str) -> int:
    """Return where the text first has a name as whole words, in any case; -1 where it does not."""
    if name and text.isascii() and name.isascii():
        return _ascii_place(text.lower(), name.lower(), "")
    places = find_word(text, name, hyphens=False)
    return places[0][0] if places else -1


def spaced(text: str) -> bytes:
    """Return an ASCII text in lower case, a space for all that is not of a word; a text with other letters as nothing.

    A text is cut once for all words that are looked for: `spaced_word` is found in it where the text has the word.
    """
    plain = text if text.isascii() else text.translate(_MARKS)
    return b" %b " % plain.encode().translate(_SPACED) if plain.isascii() else b""


def spaced_word(word: str) -> bytes:
    """Return what is searched for in a `spaced` text: found where the text has the word, hyphens joining words.

    What is not one word of ASCII characters is never found there; `find_word` finds all.
    """
    within = spaced(word)
    return within if within.count(b" ") == 2 and len(within) > 2 else _IN_NO_TEXT


_SPACED = bytes(ord(chr(code).lower()) if chr(code).isalnum() or chr(code) in "_-" else 32 for code in range(128)) * 2
_MARKS = dict.fromkeys(map(ord, "‘’“”«»–—…"), " ")
_IN_NO_TEXT = b"\0"


def _ascii_places(text: str, word: str, joining: str) -> list[tuple[int, int]]:
    """Return where a text has a whole word: what the pattern finds where neither has accents, and faster."""
    places = []
    start = _ascii_place(text, word, joining)
    while start >= 0:
        end = start + len(word)
        places.append((start, end))
        start = _ascii_place(text, word, joining, end)
    return places


def _ascii_place(text: str, word: str, joining: str, begin: int = 0) -> int:
    inside = _ASCII_INSIDE[joining]
    start = text.find(word, begin)
    while start >= 0:
        end = start + len(word)
        if text[start - 1 : start] not in inside and text[end : end + 1] not in inside:
            return start
        start = text.find(word, end)
    return -1


@lru_cache(maxsize=4096)
def _spellings(word: str) -> re.Pattern[str]:
    """Return a pattern of the word, with its accents as one character or as two."""
    forms = dict.fromkeys([word, unicodedata.normalize("NFC", word), unicodedata.normalize("NFD", word)])
    return re.compile("|".join(map(re.escape, forms)), re.IGNORECASE)


def _is_whole(text: str, start: int, end: int, joining: str) -> bool:
    before, after = text[start - 1 : start], text[end : end + 1]
    if before and not is_spaceless(text[start]) and _continues(before, joining):
        return False
    if not after:
        return True
    if is_spaceless(text[end - 1]):
        return after not in PLURALS and not unicodedata.category(after).startswith("M")
    return not _continues(after, joining)


@lru_cache(maxsize=4096)
def _continues(character: str, joining: str) -> bool:
    """Return whether the character beside a word makes it a part of a longer one."""
    if is_spaceless(character):
        return False
    if character.isalnum() or character in ("_", *JOINERS, *joining):
        return True
    return unicodedata.category(character).startswith("M")


_ASCII_INSIDE = {joining: {chr(code) for code in range(128) if _continues(chr(code), joining)} for joining in ("", "-")}
"""What joins words besides letters -> the ASCII characters that make a word beside them a part of a longer one."""


def word_around(text: str, word: str) -> str:
    """Return the longer word of the text that the word is a part of, "" where there is none."""
    places = [match.span() for match in _spellings(word).finditer(text)] if word and len(word) <= len(text) else []
    return min((_extended(text, start, end) for start, end in places), key=len, default="")


def _extended(text: str, start: int, end: int) -> str:
    while start and _continues(text[start - 1], "-"):
        start -= 1
    while end < len(text) and (_continues(text[end], "-") or text[end] in PLURALS):
        end += 1
    return text[start:end]
