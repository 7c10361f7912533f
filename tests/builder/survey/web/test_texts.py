"""Every text that raters read comes from a file, in each language."""

from __future__ import annotations

from pathlib import Path

import pytest
from survey_browser import heading_of, passed, site

from equipoise.builder.steps import BuildError
from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.web.texts import read_texts


def test_texts_come_from_a_file_and_in_german(tmp_path: Path, database: SurveyDatabase) -> None:
    german = passed(database, site(database, texts=read_texts("de"))())
    page = german.get("/work").text
    assert 'lang="de"' in page and heading_of(page) == "Satz 1" and "Ist der Satz stimmig" in page
    own = tmp_path / "texts.toml"
    own.write_text(
        '[questions]\nfirst = "Can the pronoun {pronoun} refer to the {first} in the sentence above?"\n'
        '[[examples]]\ntext = "The clerk saw the cook when he."\npronoun = "he"\nfirst = "clerk"\nsecond = "cook"\n'
        'coherent = "no"\nwhy = "It ends too early."\n'
    )
    page = passed(database, site(database, texts=read_texts("en", own))()).get("/work").text
    assert "refer to the" in page and "It ends too early." in page and page.count("<dt ") == 1
    for wrong, message in (
        ("[question]\nnonsense = 'x'\n", "question.nonsense is not one of the texts"),
        ("[questions]\nfirst = '{who}'\n", "which is not known there"),
        ("= broken", "not TOML"),
    ):
        own.write_text(wrong)
        with pytest.raises(BuildError, match=message):
            read_texts("en", own)
    with pytest.raises(BuildError, match="unknown language"):
        read_texts("xx")


def test_every_language_has_every_text() -> None:
    english, german = read_texts("en"), read_texts("de")
    for section, texts in english._content.items():
        if isinstance(texts, dict):
            assert set(german._content[section]) == set(texts), section
    assert len(german.examples) == len(english.examples) == 3
