"""Corpus statistics: the paper's Table 1, pair distances against a full computation, near-duplicates, maps."""

from __future__ import annotations

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
    tsne,
    vocabulary,
    written_texts,
)
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
