"""Datasets side by side: the statistics of `diversity.py` and `clusters.py`, near-duplicates, and the maps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from ...records import Floats, UndefinedMetric
from ...runs.folder import RunFolder
from ..rules.near_duplicates import near_pairs
from ..steps import write_whole
from .clusters import pca, silhouette, tsne
from .diversity import (
    pair_distance_deviation,
    score_differences,
    templates_of,
    vocabulary,
    without_pronouns,
    written_texts,
)
from .embeddings import embed
from .maps import Points, picture_html, picture_svg

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class StatsOptions:
    """What is compared: the embedding model, the clusters of the silhouette, and the sentences a map shows of each."""

    model: str = "minilm"
    clusters: int = 20
    map_sentences: int = 4000
    seed: int = 0
    embeddings: bool = True


@dataclass(frozen=True, slots=True)
class Statistics:
    """One dataset's column of Table 1, and its near-duplicates; None is what was not asked for or is undefined."""

    name: str
    size: int
    words_paper: int
    deviation_paper: float
    words: int
    deviation: float
    near_pairs: int
    distance_deviation: float | None = None
    silhouette: float | None = None


def compare(specs: Sequence[str], out: Path | None, options: StatsOptions, progress: Progress) -> list[Statistics]:
    """Return the statistics of each dataset, and write the table and the maps into `out`."""
    found, vectors, texts = [], [], []
    for spec in specs:
        name, sentences, dataset = written_texts(spec)
        paper, sane = vocabulary(sentences, tokenizer="paper"), vocabulary(sentences)
        near = len(near_pairs(templates_of(dataset)))
        told = Statistics(name, len(sentences), paper.size, paper.deviation, sane.size, sane.deviation, near)
        if options.embeddings:
            embedded = embed(sentences, options.model, progress=progress)
            told = _with_embeddings(told, embedded, options, progress)
            vectors.append(embedded)
        texts.append(sentences)
        found.append(told)
    if out is not None:
        columns = {"dataset" if name == "name" else name: name for name in Statistics.__slots__}
        frame = pd.DataFrame([{shown: getattr(one, name) for shown, name in columns.items()} for one in found])
        write_whole(out / "statistics.csv", frame.to_csv(index=False, lineterminator="\n"))
        if vectors:
            points = _points(found, texts, vectors, options, progress)
            write_whole(out / "map.svg", picture_svg(points))
            write_whole(out / "map.html", picture_html(points))
    return found


def _with_embeddings(told: Statistics, vectors: Floats, options: StatsOptions, progress: Progress) -> Statistics:
    values = {name: getattr(told, name) for name in Statistics.__slots__}
    values["distance_deviation"] = pair_distance_deviation(vectors, progress=progress)
    progress("silhouette", 0, 1)
    try:
        values["silhouette"] = silhouette(vectors, clusters=options.clusters, seed=options.seed)
    except UndefinedMetric:
        values["silhouette"] = None
    progress("silhouette", 1, 1)
    return Statistics(**values)


def _points(
    found: Sequence[Statistics],
    texts: Sequence[Sequence[str]],
    vectors: Sequence[Floats],
    options: StatsOptions,
    progress: Progress,
) -> Points:
    """Return the maps: PCA of all sentences, t-SNE of those shown, drawn evenly from each dataset."""
    chosen = [
        np.unique(np.linspace(0, len(one) - 1, min(len(one), options.map_sentences)).astype(int)) for one in vectors
    ]
    shown = np.concatenate([one[places] for one, places in zip(vectors, chosen, strict=True)])
    ends = np.cumsum([len(one) for one in vectors])[:-1]
    everywhere = np.split(pca(np.concatenate(vectors)), ends)
    flat = np.concatenate([one[places] for one, places in zip(everywhere, chosen, strict=True)])
    progress("t-SNE", 0, 1)
    maps = {"PCA": flat}
    if len(shown) >= 4:
        maps = {"t-SNE": tsne(shown, seed=options.seed), **maps}
    progress("t-SNE", 1, 1)
    return Points(
        names=tuple(one.name for one in found),
        sizes=tuple(one.size for one in found),
        sets=[which for which, places in enumerate(chosen) for _ in places],
        texts=[texts[which][place] for which, places in enumerate(chosen) for place in places],
        maps=maps,
        model=options.model,
    )


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """How a run's scores differ inside near-duplicates: the pairs found, the mean and the largest difference in U."""

    dataset: str
    task: str
    pairs: int
    mean: float
    largest: float


def sensitivity(run: Path) -> list[Sensitivity]:
    """Return, for each dataset and task of a run, how much U differs between near-duplicates."""
    folder = RunFolder(run)
    examples, pairs = folder.frame("examples.parquet"), folder.frame("pairs.parquet")
    found = []
    for (dataset, task), rows in pairs.groupby(["dataset", "task"], sort=False):
        own = examples[examples["dataset"] == dataset].drop_duplicates("pair_id")
        ids = own["pair_id"].to_list()
        near = near_pairs(without_pronouns(text) for text in own["text"])
        values = {str(id): float(u) for id, u in rows.groupby("pair_id")["u"].mean().items()}
        differences = score_differences([(ids[one], ids[other]) for one, other in near], values)
        if len(differences):
            found.append(Sensitivity(str(dataset), str(task), len(near), differences.mean(), differences.max()))
        else:
            found.append(Sensitivity(str(dataset), str(task), len(near), float("nan"), float("nan")))
    return found
