"""Datasets side by side: the statistics of `diversity.py`, near-duplicates, and the maps."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from ...files import write_together
from ...progress import Progress
from ...records import Floats, UndefinedMetric
from ..rules.near_duplicates import near_pairs
from .diversity import pair_distance_deviation, pca, silhouette, templates_of, tsne, vocabulary, written_texts
from .embeddings import embed
from .maps import Points, picture_html, picture_svg


@dataclass(frozen=True, slots=True)
class StatsOptions:
    """Options of a comparison: the embedding model, the number of clusters, and the sentences per dataset on a map."""

    model: str = "minilm"
    clusters: int = 20
    map_sentences: int = 4000
    seed: int = 0
    embeddings: bool = True


@dataclass(frozen=True, slots=True)
class Statistics:
    """One dataset's column of Table 1, and its near-duplicates; None if not requested or undefined."""

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
    rows, vectors, texts = [], [], []
    for spec in specs:
        name, sentences, dataset = written_texts(spec)
        paper, sane = vocabulary(sentences, tokenizer="paper"), vocabulary(sentences)
        near = len(near_pairs(templates_of(dataset)))
        row = Statistics(name, len(sentences), paper.size, paper.deviation, sane.size, sane.deviation, near)
        if options.embeddings:
            embedded = embed(sentences, options.model, progress=progress)
            row = _with_embeddings(row, embedded, options, progress)
            vectors.append(embedded)
        texts.append(sentences)
        rows.append(row)
    if out is not None:
        frame = pd.DataFrame(map(asdict, rows)).rename(columns={"name": "dataset"})
        files = {"statistics.csv": frame.to_csv(index=False, lineterminator="\n")}
        if vectors:
            points = _points(rows, texts, vectors, options, progress)
            files |= {"map.svg": picture_svg(points), "map.html": picture_html(points)}
        write_together(out, {name: text.encode() for name, text in files.items()})
    return rows


def _with_embeddings(row: Statistics, vectors: Floats, options: StatsOptions, progress: Progress) -> Statistics:
    row = replace(row, distance_deviation=pair_distance_deviation(vectors, progress=progress))
    progress("silhouette", 0, 1)
    with suppress(UndefinedMetric):
        row = replace(row, silhouette=silhouette(vectors, clusters=options.clusters, seed=options.seed))
    progress("silhouette", 1, 1)
    return row


def _points(
    rows: Sequence[Statistics],
    texts: Sequence[Sequence[str]],
    vectors: Sequence[Floats],
    options: StatsOptions,
    progress: Progress,
) -> Points:
    """Return the maps: PCA of all sentences, t-SNE of those shown, drawn evenly from each dataset."""
    chosen = [
        np.unique(np.linspace(0, len(points) - 1, min(len(points), options.map_sentences)).astype(int))
        for points in vectors
    ]
    shown = np.concatenate([points[places] for points, places in zip(vectors, chosen, strict=True)])
    ends = np.cumsum([len(points) for points in vectors])[:-1]
    everywhere = np.split(pca(np.concatenate(vectors)), ends)
    flat = np.concatenate([points[places] for points, places in zip(everywhere, chosen, strict=True)])
    progress("t-SNE", 0, 1)
    maps = {"PCA": flat}
    if len(shown) >= 4:
        maps = {"t-SNE": tsne(shown, seed=options.seed), **maps}
    progress("t-SNE", 1, 1)
    return Points(
        names=tuple(row.name for row in rows),
        sizes=tuple(row.size for row in rows),
        sets=[which for which, places in enumerate(chosen) for _ in places],
        texts=[texts[which][place] for which, places in enumerate(chosen) for place in places],
        maps=maps,
        model=options.model,
    )
