"""Clusters and maps of embeddings, by scikit-learn: silhouette, PCA, t-SNE."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from ...records import Floats, UndefinedMetric


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
