"""Charts of a survey: what they count."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree

import pytest
from kept_texts import assert_kept
from survey_raters import vote

from equipoise.builder.steps import Sentence
from equipoise.builder.verdict.charts import agreement_chart, consistency, locale_chart
from equipoise.media.page.charts import svg
from equipoise.records.showing import Bar


def test_consistency_is_the_share_of_winning_votes_by_type_and_person(
    some_sentences: Callable[[int], list[Sentence]],
) -> None:
    sentence = next(s for s in some_sentences(40) if s.type == "type2" and s.target == s.second)
    votes = [vote(True, False, True)] * 3 + [vote(True, True, True), vote(False, None, None)]
    shares = consistency([sentence], {sentence.id: votes})
    assert shares == {("type2", "target"): [1.0], ("type2", "other"): [0.75]}
    assert consistency([sentence], {}) == {}
    chart = agreement_chart([sentence], {sentence.id: votes})
    panels = {panel.title: [(bar.text, bar.x) for bar in panel.marks_of(Bar)] for panel in chart.panels}
    assert panels == {
        "type2, other (n = 1)": [("1", pytest.approx((0.753, 0.797)))],
        "type2, target (n = 1)": [("1", pytest.approx((0.953, 0.997)))],
    }


@pytest.mark.parametrize("locales", [{}, {"Kenya": 5, "<b>": 1}])
def test_locales_are_bars_with_their_counts(locales: dict[str, int]) -> None:
    (panel,) = locale_chart(locales).panels
    assert [bar.x for bar in panel.marks_of(Bar)] == [(0.0, float(count)) for count in locales.values()]
    assert list(panel.y.names) == [f"{name} ({count})" for name, count in locales.items()]
    assert (panel.x.low, panel.x.high) == (0.0, max([*locales.values(), 1]))
    assert ElementTree.fromstring(svg(locale_chart(locales), alone=True)).get("role") == "img"


def test_agreement_is_drawn_as_it_was_kept(some_sentences: Callable[[int], list[Sentence]]) -> None:
    sentences = some_sentences(12)
    votes = {
        sentence.id: [vote(True, n % 2 == 0, m < n) for m in range(9)] + [vote(False)] * (n % 3)
        for n, sentence in enumerate(sentences[:-1])
    }
    votes[sentences[-1].id] = [vote(False), vote(None)]
    assert_kept(
        "builder/agreement",
        consistency(sentences, votes),
        agreement_chart(sentences, votes, "people"),
        locale_chart({"Kenya": 5, "Peru": 1200}, "people"),
    )


def test_a_sentence_that_nobody_calls_coherent_is_left_out_and_those_after_it_are_not(
    some_sentences: Callable[[int], list[Sentence]],
) -> None:
    first, second, third = some_sentences(3)
    votes = {
        first.id: [vote(False)],
        third.id: [vote(True, True, False), vote(True, True, True), vote(True, True, True)],
    }
    shares = consistency([first, second, third], votes)
    ends = (1.0, pytest.approx(2 / 3)) if third.target == third.first else (pytest.approx(2 / 3), 1.0)
    assert shares == {(third.type, "target"): [ends[0]], (third.type, "other"): [ends[1]]}
