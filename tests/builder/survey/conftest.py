"""Fixtures that several tests of the survey share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from equipoise.builder.steps import Sentence
from equipoise.builder.survey.database.survey import SurveyDatabase


@pytest.fixture
def database(tmp_path: Path, some_sentences: Callable[[int], list[Sentence]]) -> Iterator[SurveyDatabase]:
    store = SurveyDatabase(f"sqlite:///{tmp_path / 'survey.sqlite'}")
    store.load(some_sentences(3))
    yield store
    store.close()
