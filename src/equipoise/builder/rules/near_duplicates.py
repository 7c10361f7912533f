"""Near-duplicate sentences, found by hashing the words of each sentence with up to two of them left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import combinations

MOST = 2
"""The largest number of differing words; cost grows with its power."""

_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")


def words_in(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation, in order."""
    return [match.group().lower() for match in _WORD.finditer(text)]


def words_of(text: str) -> frozenset[str]:
    """Return the different words of a text in lower case, without punctuation."""
    return frozenset(words_in(text))


class NearIndex:
    """Finds earlier sentences that differ in at most `most` words, counted in both sentences together.

    "excellent work" and "excellent craftsmanship" differ in two words, "a decision" and "the decision" in one or two.
    """

    def __init__(self, most: int = MOST) -> None:
        if not 0 <= most <= MOST:
            raise ValueError(f"near-duplicates differ in 0 to {MOST} words, not {most}")
        self.most = most
        self._words: list[frozenset[str]] = []
        self._places: dict[int, list[int]] = {}

    def near(self, words: frozenset[str]) -> list[int]:
        """Return the numbers of the near-duplicates added before, in order."""
        candidates = {place for signature in self._signatures(words) for place in self._places.get(signature, ())}
        return sorted(place for place in candidates if len(self._words[place] ^ words) <= self.most)

    def add(self, words: frozenset[str]) -> int:
        """Add the words of a sentence and return its number, counted from 0."""
        number = len(self._words)
        self._words.append(words)
        for signature in self._signatures(words):
            self._places.setdefault(signature, []).append(number)
        return number

    def _signatures(self, words: frozenset[str]) -> Iterator[int]:
        # With a sum, leaving a word out is one subtraction. Collisions are compared word by word in near().
        hashes = [hash(word) for word in words]
        whole = sum(hashes)
        for count in range(self.most + 1):
            for left_out in combinations(hashes, count):
                yield whole - sum(left_out)


def near_pairs(texts: Iterable[str], most: int = MOST) -> list[tuple[int, int]]:
    """Return the pairs of texts (by number) that differ in at most `most` words."""
    index, pairs = NearIndex(most), []
    for number, text in enumerate(texts):
        words = words_of(text)
        pairs += [(earlier, number) for earlier in index.near(words)]
        index.add(words)
    return pairs
