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
"""Tokenizers by name: "paper" splits at blanks (case and punctuation attached), "words" takes bare words."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The number of distinct words, and the standard deviation of their frequencies."""

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

    The paper counts the words of WinoBias's files, without brackets and line numbers. Our loader also joins a
    detached "'s", which changes the count.
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
        # Only the points after the block, and the triangle inside it, so that each pair counts once.
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
    """Return the text with a blank for each pronoun, the same for both sentences of a pair."""
    for pronoun in reversed(pronouns_in(text)):
        text = f"{text[: pronoun.start]} {text[pronoun.end :]}"
    return text


def templates_of(dataset: Dataset) -> list[str]:
    """Return each distinct sentence without its pronouns."""
    return list(dict.fromkeys(without_pronouns(example.text) for example in dataset.examples))


def score_differences(pairs: Sequence[tuple[str, str]], values: Mapping[str, float]) -> Floats:
    """Return |difference| of a value (such as a pair's U in a run) within the pairs where both have one."""
    return np.array([abs(values[a] - values[b]) for a, b in pairs if a in values and b in values])
