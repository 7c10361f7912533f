"""Corpus statistics: how large and how varied the sentences of a dataset are (the UCerF paper's Table 1).

Clusters and maps of embeddings are by scikit-learn.
"""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...datasets import CARDS, Dataset, find_dataset_folder, open_dataset
from ...datasets.pronouns import pronouns_in
from ...datasets.rows import read_text
from ...datasets.winobias import is_text_format
from ...files import at_home
from ...progress import Progress
from ...records import Floats, UndefinedMetric
from ..rules.near_duplicates import words_in

BLOCK = 1024


def _as_in_the_paper(text: str) -> list[str]:
    return text.split(" ")


TOKENIZERS: Mapping[str, Callable[[str], list[str]]] = {"paper": _as_in_the_paper, "words": words_in}
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
    path = at_home(spec)
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


def pair_distance_deviation(vectors: Floats, *, progress: Progress | None = None) -> float:
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


def silhouette(vectors: Floats, *, clusters: int, seed: int = 0) -> float:
    """Return the mean silhouette of k-means clusters, from -1 to 1; the paper reads lower as more diverse.

    The paper names neither the clustering nor the number of clusters. Distances are taken in blocks by scikit-learn.
    Undefined for fewer sentences than clusters, or fewer than two clusters.
    """
    if clusters < 2 or len(vectors) <= clusters:
        raise UndefinedMetric(f"the silhouette of {len(vectors)} sentences in {clusters} clusters")
    cluster: Any = importlib.import_module("sklearn.cluster")
    metrics: Any = importlib.import_module("sklearn.metrics")
    points = vectors.astype(np.float32)
    labels = cluster.KMeans(clusters, n_init=3, random_state=seed).fit_predict(points)
    if len(set(labels.tolist())) < 2:
        raise UndefinedMetric("the silhouette of sentences that all fall into one cluster")
    return float(metrics.silhouette_score(points, labels))


def pca(vectors: Floats) -> Floats:
    """Return the first two principal components of each vector."""
    decomposition: Any = importlib.import_module("sklearn.decomposition")
    components: Floats = decomposition.PCA(2, svd_solver="covariance_eigh").fit_transform(vectors)
    return components


def tsne(vectors: Floats, *, seed: int = 0) -> Floats:
    """Return a t-SNE map of the vectors, from their PCA; the same seed gives the same map."""
    if len(vectors) < 4:
        raise UndefinedMetric("a t-SNE map of fewer than four sentences")
    manifold: Any = importlib.import_module("sklearn.manifold")
    perplexity = min(30.0, (len(vectors) - 1) / 3)
    model = manifold.TSNE(2, init="pca", perplexity=perplexity, random_state=seed, max_iter=750, n_jobs=2)
    places: Floats = model.fit_transform(vectors.astype(np.float32))
    return places


def without_pronouns(text: str) -> str:
    """Return the text with a blank for each pronoun, the same for both sentences of a pair."""
    for pronoun in reversed(pronouns_in(text)):
        text = f"{text[: pronoun.start]} {text[pronoun.end :]}"
    return text


def templates_of(dataset: Dataset) -> list[str]:
    """Return each distinct sentence without its pronouns."""
    return list(dict.fromkeys(without_pronouns(example.text) for example in dataset.examples))
