"""Corpus statistics: the paper's Table 1, pair distances against a full computation, near-duplicates, maps."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

import equipoise
from equipoise.builder.compare import diversity
from equipoise.builder.compare.clusters import pca, silhouette, tsne
from equipoise.builder.compare.comparison import StatsOptions, compare, sensitivity
from equipoise.builder.compare.diversity import pair_distance_deviation, vocabulary, written_texts
from equipoise.builder.compare.maps import Points, picture_html, picture_svg
from equipoise.records import UndefinedMetric


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


def test_clusters_and_maps_of_two_clouds() -> None:
    rng = np.random.default_rng(0)
    clouds = np.concatenate([rng.normal(0, 0.1, (40, 6)), rng.normal(3, 0.1, (40, 6))])
    assert silhouette(clouds, clusters=2) > 0.9
    flat = pca(clouds)
    assert abs(flat[:40, 0].mean() - flat[40:, 0].mean()) > 3
    texts = ["</script><b>&" for _ in clouds]
    points = Points(("a<b", "c"), (40, 40), [0] * 40 + [1] * 40, texts, {"PCA": flat}, "none")
    picture = ElementTree.fromstring(picture_svg(points))
    drawn = [part for part in picture.iter() if "cloud" in part.get("class", "")]
    assert [part.get("d", "").count("M") for part in drawn] == [40, 40]
    page = picture_html(points)
    assert page.count("</script>") == 2 and "a&lt;b" in page


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
    run = equipoise.audit("planted:strength=2,bias=0.5", data=["mine.csv"], out=tmp_path / "run")
    (found,) = sensitivity(run.path)
    assert found.pairs == 1 and found.largest == pytest.approx(found.mean)
