"""Corpus statistics: how large and how varied the sentences of a dataset are (the UCerF paper's Table 1)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...datasets import CARDS, Dataset, find_dataset_folder, open_dataset
from ...datasets.pronouns import pronouns_in
from ...datasets.rows import read_text
from ...datasets.winobias import is_text_format
from ...records import Floats, UndefinedMetric

BLOCK = 1024
_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")


def _as_in_the_paper(text: str) -> list[str]:
    return text.split(" ")


def _words(text: str) -> list[str]:
    return [match.group().lower() for match in _WORD.finditer(text)]


TOKENIZERS: Mapping[str, Callable[[str], list[str]]] = {"paper": _as_in_the_paper, "words": _words}
"""Name -> what cuts a text into words: as the paper does (case and punctuation attached), or sanely."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Distinct words, and the standard deviation of how often each one occurs."""

    size: int
    deviation: float


def vocabulary(texts: Iterable[str], *, tokenizer: str = "words") -> Vocabulary:
    """Return the vocabulary of the texts; population deviation, as the paper takes it. Undefined without a word."""
    counts = Counter(word for text in texts for word in TOKENIZERS[tokenizer](text))
    if not counts:
        raise UndefinedMetric("the vocabulary of no text at all")
    return Vocabulary(len(counts), float(np.std(list(counts.values()))))


def written_texts(spec: str) -> tuple[str, list[str], Dataset]:
    """Return a dataset's name and its sentences as its files have them, and the dataset as loaded.

    The paper counts WinoBias's words as they stand in the files, brackets and line numbers aside; our loader also
    joins a detached "'s", which changes the count.
    """
    path = Path(spec).expanduser()
    if spec in CARDS and CARDS[spec].files:
        path = find_dataset_folder(spec)
    dataset = open_dataset(spec)
    if not (path.is_dir() and is_text_format(path)):
        return dataset.name, [example.text for example in dataset.examples], dataset
    lines = [
        line
        for file in sorted(path.iterdir())
        if is_text_format(file)
        for line in read_text(file).split("\n")
        if line.strip()
    ]
    return dataset.name, [re.sub(r"[\[\]]", "", re.sub(r"^\d+ ", "", line)).strip() for line in lines], dataset


def pair_distance_deviation(vectors: Floats, *, progress: Callable[[str, int, int], None] | None = None) -> float:
    """Return the standard deviation of the Euclidean distances between all pairs of vectors (population).

    Block by block: n vectors need n x 1024 distances in memory, never n squared. Undefined for fewer than two vectors.
    """
    n = len(vectors)
    if n < 2:
        raise UndefinedMetric("the pair distances of fewer than two sentences")
    # float32 products are twice as fast; the sums, where errors would add up, are kept in float64.
    points = np.ascontiguousarray(vectors - vectors.mean(axis=0), dtype=np.float32)
    squares = np.einsum("ij,ij->i", points, points)
    total = total_squares = 0.0
    for start in range(0, n, BLOCK):
        if progress:
            progress("pair distances", start, n)
        block = points[start : start + BLOCK]
        # Only what lies after the block, and the triangle inside it: each pair once.
        squared = squares[start : start + BLOCK, None] + squares[None, start:] - 2.0 * (block @ points[start:].T)
        np.maximum(squared, 0.0, out=squared)
        rows = np.arange(len(block))
        squared[rows[:, None] >= np.arange(squared.shape[1])[None, :]] = 0.0
        total += float(np.sqrt(squared).sum(dtype=np.float64))
        total_squares += float(squared.sum(dtype=np.float64))
    if progress:
        progress("pair distances", n, n)
    pairs = n * (n - 1) / 2
    mean = total / pairs
    return float(np.sqrt(max(0.0, total_squares / pairs - mean * mean)))


def without_pronouns(text: str) -> str:
    """Return the text with a blank for each pronoun, so that the two of a pair are one."""
    for found in reversed(pronouns_in(text)):
        text = f"{text[: found.start]} {text[found.end :]}"
    return text


def templates_of(dataset: Dataset) -> list[str]:
    """Return each distinct sentence without its pronouns."""
    return list(dict.fromkeys(without_pronouns(example.text) for example in dataset.examples))


def score_differences(pairs: Sequence[tuple[str, str]], values: Mapping[str, float]) -> Floats:
    """Return |difference| of a value (such as a pair's U in a run) inside each near-duplicate pair that has both."""
    return np.array([abs(values[one] - values[other]) for one, other in pairs if one in values and other in values])
