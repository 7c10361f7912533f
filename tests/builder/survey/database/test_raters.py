"""A withdrawn rater counts nowhere."""

from __future__ import annotations

import pytest
from survey_raters import answer, answer_all, rater

from equipoise.builder.steps import BuildError
from equipoise.builder.survey.database.survey import SurveyDatabase


def test_a_withdrawn_rater_counts_nowhere(database_url: str, some_sentences) -> None:
    database = SurveyDatabase(database_url)
    database.load(some_sentences(3))
    raters = [rater(database) for _ in range(4)]
    for who in raters:
        answer_all(database, who)
    assert database.results.counts() == (3, 3)
    assert database.raters.withdraw(raters[0].id) == 3
    assert database.results.counts() == (3, 0)
    assert database.results.summary().answers == 9
    assert database.work.question(raters[0].id) is None and not answer(database, raters[0], "x")
    assert answer_all(database, rater(database)) == 3
    assert database.results.counts() == (3, 3)
    with pytest.raises(BuildError, match="unknown rater"):
        database.raters.withdraw("nobody")
    database.close()
