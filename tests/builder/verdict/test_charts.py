"""Charts of a survey: what they count."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree

import pytest

from equipoise.builder.steps import Sentence
from equipoise.builder.verdict.charts import agreement_chart, consistency, locale_chart
from equipoise.builder.verdict.consensus import Tally
from equipoise.builder.verdict.votes import Vote


def test_consistency_is_the_share_of_winning_votes_by_type_and_person(
    some_sentences: Callable[[int], list[Sentence]],
) -> None:
    sentence = next(s for s in some_sentences(40) if s.type == "type2" and s.target == s.second)
    votes = [Vote(True, False, True)] * 3 + [Vote(True, True, True), Vote(False, None, None)]
    shares = consistency([sentence], {sentence.id: Tally.of(votes)})
    assert shares == {("type2", "target"): [1.0], ("type2", "other"): [0.75]}
    assert consistency([sentence], {}) == {}
    chart = agreement_chart([sentence], {sentence.id: Tally.of(votes)})
    texts = [element.text for element in ElementTree.fromstring(chart).iter() if element.text]
    assert "type2, other (n = 1)" in texts and texts.count("1") == 2


@pytest.mark.parametrize("locales", [{}, {"Kenya": 5, "<b>": 1}])
def test_locales_are_bars_with_their_counts(locales: dict[str, int]) -> None:
    drawing = ElementTree.fromstring(locale_chart(locales))
    _, *rectangles = drawing.iter("{http://www.w3.org/2000/svg}rect")  # the first is the background
    bars = [float(bar.get("width", "0")) for bar in rectangles]
    assert bars == [320.0 * count / 5 for count in locales.values()]
