"""Maps of two clouds: a dot for each sentence, which cannot break out of the page."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
from kept_texts import assert_kept

from equipoise.builder.compare.maps import Points, picture_html, picture_svg


def test_every_sentence_is_a_dot_and_none_ends_the_script() -> None:
    rng = np.random.default_rng(0)
    clouds = np.concatenate([rng.normal(0, 0.1, (40, 2)), rng.normal(3, 0.1, (40, 2))])
    texts = ["</script><b>&" for _ in clouds]
    points = Points(("a<b", "c"), (40, 40), [0] * 40 + [1] * 40, texts, {"PCA": clouds}, "none")
    picture = ElementTree.fromstring(picture_svg(points))
    drawn = [part for part in picture.iter() if "cloud" in part.get("class", "")]
    assert [part.get("d", "").count("M") for part in drawn] == [40, 40]
    page = picture_html(points)
    assert page.count("</script>") == 2 and "a&lt;b" in page


def test_maps_are_drawn_as_they_were_kept() -> None:
    places = {"PCA": np.array([[0.0, 4], [2, 4], [4, 8]]), "flat": np.array([[1.0, 1], [1, 2], [1, 3]])}
    points = Points(("few", "many"), (10, 2000), [0, 1, 1], ["a", "b <i>", "ü"], places, "tiny")
    assert points.scaled["PCA"].tolist() == [[0, 0], [0.5, 0], [1, 1]]
    assert points.scaled["flat"].tolist() == [[0, 0], [0, 0.5], [0, 1]]
    assert_kept("builder/maps", picture_svg(points), picture_html(points))
