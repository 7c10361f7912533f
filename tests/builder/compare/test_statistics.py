"""Datasets side by side: one table, and maps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept_texts import assert_kept
from typer.testing import CliRunner

import equipoise
from equipoise.builder.compare import statistics
from equipoise.builder.compare.diversity import pca
from equipoise.builder.compare.maps import Points
from equipoise.builder.compare.statistics import StatsOptions, compare
from equipoise.cli import app
from equipoise.datasets import open_dataset
from equipoise.records import UndefinedMetric


def test_a_comparison_and_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = "type,text,pronoun,candidate_1,candidate_2,gold\n"
    for end in ("work", "care", "long and patient wait at the door"):
        for pronoun in ("his", "her"):
            lines += f"type2,The cook thanked the nurse for {pronoun} {end}.,{pronoun},cook,nurse,nurse\n"
    (tmp_path / "mine.csv").write_text(lines)
    (told,) = compare(["mine.csv"], tmp_path / "out", StatsOptions(embeddings=False), lambda what, done, total: None)
    assert (told.size, told.near_pairs, told.silhouette) == (6, 1, None)
    assert (tmp_path / "out" / "statistics.csv").read_text().startswith("dataset,size,words_paper")
    equipoise.audit("planted:strength=2,bias=0.5", data=["mine.csv"], out=tmp_path / "run", resamples=10)
    command = ["build", "stats", "mine.csv", "--embeddings", "none", "--run", "run", "--quiet"]
    result = CliRunner().invoke(app, command, catch_exceptions=False)
    assert re.search(r"mine · next-word, \S.*  3 +1 +1 +0\.\d{3} \[", result.output), result.output


def vectors_of(texts: Sequence[str], model: str, **given: object) -> np.ndarray:
    """Return a vector for each text that follows from its letters."""
    assert model == "tiny"
    return np.array([[len(text), text.count("e"), text.count("a") ** 2, 1.0] for text in texts], dtype=float)


def write_two(folder: Path) -> list[str]:
    names = []
    for name, ends in (("small", ("work", "care")), ("large", ("early tea", "a nap", "an old coat", "many cakes"))):
        lines = ["text,pronoun,candidate_1,candidate_2"]
        for end in ends:
            lines += [f"The cook met the nurse and {word} had {end}.,{word},cook,nurse" for word in ("he", "she")]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
        names.append(str(folder / f"{name}.csv"))
    return names


def test_two_datasets_beside_each_other_as_they_were_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equipoise.builder.compare.statistics.embed", vectors_of)
    told: list[tuple[str, int, int]] = []
    drawn: list[Points] = []
    monkeypatch.setattr(
        "equipoise.builder.compare.statistics.picture_svg", lambda points: drawn.append(points) or "svg"
    )
    options = StatsOptions(model="tiny", clusters=3, map_sentences=3, seed=4)
    rows = compare(write_two(tmp_path), tmp_path / "out", options, lambda *step: told.append(step))
    (points,) = drawn
    assert_kept("builder/statistics", rows, (tmp_path / "out" / "statistics.csv").read_text(), told)
    assert (points.names, points.sizes, points.model) == (("small", "large"), (4, 8), "tiny")
    assert list(points.sets) == [0, 0, 0, 1, 1, 1]
    assert [text.split(" and ")[1] for text in points.texts] == [
        *("he had work.", "she had work.", "she had care."),
        *("he had early tea.", "she had a nap.", "she had many cakes."),
    ]
    assert list(points.maps) == ["t-SNE", "PCA"] and all(places.shape == (6, 2) for places in points.maps.values())
    every = np.concatenate(
        [vectors_of([e.text for e in open_dataset(p).examples], "tiny") for p in write_two(tmp_path)]
    )
    assert np.allclose(points.maps["PCA"], pca(every)[[0, 1, 3, 4, 7, 11]])
    assert (tmp_path / "out" / "map.svg").read_text() == "svg" and (tmp_path / "out" / "map.html").is_file()


def test_few_sentences_have_no_clusters_and_no_second_map(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equipoise.builder.compare.statistics.embed", vectors_of)
    small = write_two(tmp_path)[:1]
    drawn: list[Points] = []
    monkeypatch.setattr(
        "equipoise.builder.compare.statistics.picture_svg", lambda points: drawn.append(points) or "svg"
    )
    for count, maps in ((3, ["PCA"]), (4, ["t-SNE", "PCA"])):
        options = StatsOptions(model="tiny", clusters=4, map_sentences=count)
        (row,) = compare(small, tmp_path / "out", options, lambda *step: None)
        assert row.silhouette is None and row.distance_deviation is not None
        assert list(drawn[-1].maps) == maps
    (row,) = compare(small, None, StatsOptions(model="tiny", clusters=2), lambda *step: None)
    assert row.silhouette is not None and len(drawn) == 2


def test_the_seed_and_the_clusters_are_handed_on_and_what_is_undefined_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Any] = []
    told: list[Any] = []
    monkeypatch.setattr(statistics, "silhouette", lambda vectors, **named: asked.append(named) or 0.5)
    row = statistics.Statistics("d", 1, 2, 3.0, 4, 5.0, 6, None, None)
    options, vectors = StatsOptions(clusters=7, seed=9), np.eye(4)
    made = statistics._with_embeddings(row, vectors, options, lambda *given: told.append(given))
    assert asked == [{"clusters": 7, "seed": 9}] and made.silhouette == 0.5 and made.distance_deviation is not None
    assert told[-2:] == [("silhouette", 0, 1), ("silhouette", 1, 1)]

    def undefined(*_: Any, **__: Any) -> float:
        raise UndefinedMetric("too few")

    monkeypatch.setattr(statistics, "silhouette", undefined)
    assert statistics._with_embeddings(row, vectors, options, lambda *_: None).silhouette is None
