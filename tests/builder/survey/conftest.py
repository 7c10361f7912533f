"""Fixtures that several tests of the survey share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from survey_raters import new_sqlite

from equipoise.builder.steps import Sentence
from equipoise.builder.survey.database.survey import SurveyDatabase


@pytest.fixture
def database(
    request: pytest.FixtureRequest, tmp_path: Path, some_sentences: Callable[[int], list[Sentence]]
) -> Iterator[SurveyDatabase]:
    """Return a survey of three sentences, or as many as the file's SENTENCES says."""
    store = SurveyDatabase(new_sqlite(tmp_path / "survey.sqlite"))
    store.load(some_sentences(getattr(request.module, "SENTENCES", 3)))
    yield store
    store.close()
