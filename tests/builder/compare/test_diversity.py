"""Corpus statistics: the paper's Table 1, pair distances against a full computation, near-duplicates, maps."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

from equipoise.builder.compare import diversity
from equipoise.builder.compare.diversity import (
    pair_distance_deviation,
    pca,
    silhouette,
    templates_of,
    tsne,
    vocabulary,
    without_pronouns,
    written_texts,
)
from equipoise.datasets import open_dataset
from equipoise.records import UndefinedMetric


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "size", "words", "deviation"), [("winobias", 3168, 2012, 142.21), ("synthbias", 31728, 5280, 1125.33)]
)
def test_table_1_of_the_paper(real_data, name: str, size: int, words: int, deviation: float) -> None:
    real_data(name)
    _, texts, _ = written_texts(name)
    told = vocabulary(texts, tokenizer="paper")
    assert (len(texts), told.size, round(told.deviation, 2)) == (size, words, deviation)
    sane = vocabulary(texts)
    assert sane.size < told.size  # case and punctuation no longer count


@given(st.integers(2, 40), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_pair_distances_block_by_block(n: int, dimensions: int, seed: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(n, dimensions))
    assert pair_distance_deviation(vectors) == pytest.approx(float(pdist(vectors).std()), abs=2e-3)


def test_pair_distances_over_several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diversity, "BLOCK", 7)
    vectors = np.random.default_rng(0).normal(size=(50, 8))
    assert pair_distance_deviation(vectors) == pytest.approx(float(pdist(vectors).std()), abs=1e-5)


def test_what_is_undefined() -> None:
    for undefined in (
        lambda: vocabulary([]),
        lambda: pair_distance_deviation(np.zeros((1, 3))),
        lambda: silhouette(np.zeros((3, 2)), clusters=5),
        lambda: tsne(np.zeros((2, 2))),
    ):
        with pytest.raises(UndefinedMetric):
            undefined()


def test_clusters_and_components_of_two_clouds() -> None:
    rng = np.random.default_rng(0)
    clouds = np.concatenate([rng.normal(0, 0.1, (40, 6)), rng.normal(3, 0.1, (40, 6))])
    assert silhouette(clouds, clusters=2) > 0.9
    flat = pca(clouds)
    assert abs(flat[:40, 0].mean() - flat[40:, 0].mean()) > 3


def test_a_vocabulary_is_counted_by_either_tokenizer() -> None:
    texts = ["The cook, the COOK.", "A cook"]
    paper = vocabulary(texts, tokenizer="paper")
    assert (paper.size, paper.deviation) == (6, 0.0)
    plain = vocabulary(texts)
    assert plain.size == 3 and plain.deviation == pytest.approx(np.std([2, 3, 1]))


def test_texts_are_as_their_files_have_them(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "pro_type1.txt").write_text(
        "1 [The guard] saw the nurse 's cat and [he] ran.\n\n22 [The guard] met the nurse as [he] sat.\n"
    )
    (folder / "anti_type1.txt").write_text(
        "1 [The guard] saw the nurse 's cat and [she] ran.\n\n22 [The guard] met the nurse as [she] sat.\n"
    )
    (folder / "notes.md").write_text("left alone")
    name, texts, dataset = written_texts(str(folder))
    assert name == "mine" and len(dataset.examples) == 4
    assert texts == [
        "The guard saw the nurse 's cat and she ran.",
        "The guard met the nurse as she sat.",
        "The guard saw the nurse 's cat and he ran.",
        "The guard met the nurse as he sat.",
    ]
    name, texts, dataset = written_texts("sentiment")
    assert (name, texts) == ("sentiment", [example.text for example in dataset.examples])
    assert templates_of(open_dataset(str(folder))) == [
        "The guard saw the nurse's cat and   ran.",
        "The guard met the nurse as   sat.",
    ]
    assert without_pronouns("He saw her hat.") == "  saw   hat."


@pytest.mark.parametrize("count", [1, 2, 3])
def test_progress_is_told_by_the_block(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(diversity, "BLOCK", 2)
    told: list[tuple[str, int, int]] = []
    pair_distance_deviation(np.eye(2 * count), progress=lambda *step: told.append(step))
    assert told == [
        *(("pair distances", start, 2 * count) for start in range(0, 2 * count, 2)),
        ("pair distances", 2 * count, 2 * count),
    ]


def test_the_fewest_that_each_number_needs() -> None:
    line = np.array([[0.0, 0], [0, 1], [5, 5], [5, 6]])
    assert silhouette(line, clusters=2) > 0.7 and silhouette(line, clusters=3, seed=1) == pytest.approx(
        silhouette(line, clusters=3)
    )
    assert tsne(line, seed=3).shape == (4, 2) and np.array_equal(tsne(line, seed=3), tsne(line, seed=3))
    for vectors, clusters, reason in (
        (line, 1, "the silhouette of 4 sentences in 1 clusters"),
        (line, 4, "the silhouette of 4 sentences in 4 clusters"),
        (np.zeros((5, 2)), 2, "the silhouette of sentences that all fall into one cluster"),
    ):
        with pytest.raises(UndefinedMetric, match=f"^{reason}$"):
            silhouette(vectors, clusters=clusters)
    with pytest.raises(UndefinedMetric, match=r"^a t-SNE map of fewer than four sentences$"):
        tsne(line[:3])
    assert pair_distance_deviation(line[:2]) == 0.0


def called_with(monkeypatch: pytest.MonkeyPatch, name: str, gives: Any) -> list[tuple[Any, ...]]:
    """Return the notes of how a class of scikit-learn is made and of what it is fitted to."""
    notes: list[tuple[Any, ...]] = []

    class Made:
        def __init__(self, *args: Any, **choices: Any) -> None:
            notes.append((args, choices))

        def fit(self, vectors: Any) -> Any:
            notes.append((vectors.dtype.name, vectors.tolist()))
            return gives

        fit_transform = fit_predict = fit

    monkeypatch.setattr(f"sklearn.{name}", Made)
    return notes


@pytest.mark.parametrize(("count", "perplexity"), [(4, 1.0), (10, 3.0), (91, 30.0), (94, 30.0)])
def test_maps_and_clusters_are_made_as_described(
    monkeypatch: pytest.MonkeyPatch, count: int, perplexity: float
) -> None:
    vectors = np.arange(2.0 * count).reshape(count, 2)
    notes = called_with(monkeypatch, "manifold.TSNE", "a map")
    assert tsne(vectors, seed=5) == "a map"
    choices = {"init": "pca", "perplexity": perplexity, "random_state": 5, "max_iter": 750, "n_jobs": 2}
    assert notes == [((2,), choices), ("float32", vectors.tolist())]
    notes = called_with(monkeypatch, "decomposition.PCA", "parts")
    assert pca(vectors) == "parts" and notes == [
        ((2,), {"svd_solver": "covariance_eigh"}),
        ("float64", vectors.tolist()),
    ]
    notes = called_with(monkeypatch, "cluster.KMeans", np.repeat([0, 1], [1, count - 1]))
    silhouette(vectors, clusters=2, seed=6)
    assert notes == [((2,), {"n_init": 3, "random_state": 6}), ("float32", vectors.tolist())]


def test_clusters_that_are_one_and_texts_without_a_word_have_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    called_with(monkeypatch, "cluster.KMeans", np.zeros(5))
    with pytest.raises(UndefinedMetric, match=r"^the silhouette of sentences that all fall into one cluster$"):
        silhouette(np.eye(5), clusters=2)


def test_the_files_of_a_known_dataset_are_found_in_its_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "anti_stereotyped_type1.txt.dev").write_text("1 [The cook] met the nurse because [he] ran.\n")
    monkeypatch.setattr(diversity, "find_dataset_folder", lambda name: tmp_path if name == "winobias" else None)
    monkeypatch.setattr(diversity, "open_dataset", lambda spec: SimpleNamespace(name=f"of {spec}", examples=[]))
    name, texts, _ = written_texts("winobias")
    assert (name, texts) == ("of winobias", ["The cook met the nurse because he ran."])


def test_distances_keep_their_digits_far_from_zero() -> None:
    vectors = np.random.default_rng(1).random((60, 3))
    far = pair_distance_deviation(vectors + 5000.0)
    assert far == pytest.approx(float(np.std(pdist(vectors))), rel=1e-5)
