"""Every text that raters read comes from a file, in each language."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from kept_texts import assert_kept
from survey_browser import heading_of, passed, site

from equipoise.builder.steps import BuildError
from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.web.texts import LANGUAGES, read_texts


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


OWN = """
[guidelines]
intro = "Look."
steps = ["One", "Two"]

[[questions]]
name = "more"
text = "Is it more {first} or {second}, by {pronoun}?"
choices = { first = "The first", second = "", same = "Both" }

[[questions]]
name = "sure"
text = "Sure?"
choices = { yes = "Yes!", no = "No!" }
when = { more = "first" }

[[examples]]
text = "The cook met the nurse."
pronoun = "he"
first = "cook"
second = "nurse"
more = "first"
sure = "no"
"""


def test_questions_of_ones_own_are_asked_and_explained_in_their_words(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(OWN.replace('second = ""', 'second = "The second"'))
    texts = read_texts("en", path)
    more, sure = texts.questions.questions
    (example,) = texts.examples
    assert (texts.language, texts.steps, texts("guidelines.intro")) == ("en", ("One", "Two"), "Look.")
    assert texts.ask(more, example) == "Is it more cook or nurse, by he?"
    assert [texts.label(more, choice) for choice in more.choices] == ["The first", "The second", "Both"]
    assert texts.explain(example) == ["Is it more cook or nurse, by he? The first.", "Sure? No!."]
    assert sure.when == ("more", "first")
    first_no = replace(example, answer=("no", "yes"))
    texts._labels["more"]["no"] = "None"
    assert texts.explain(first_no) == ["Is it more cook or nurse, by he? None.", "Sure? Yes!."]


def test_the_examples_of_every_language_are_explained_as_they_were() -> None:
    told = {
        language: {example.text: read_texts(language).explain(example) for example in read_texts(language).examples}
        for language in LANGUAGES
    }
    english = read_texts("en")
    asked = [english.ask(question, english.examples[0]) for question in english.questions.questions]
    labels = [
        english.label(question, choice) for question in english.questions.questions for choice in question.choices
    ]
    assert_kept("builder/explained", told, asked, labels, [read_texts(name).language for name in LANGUAGES])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("[nowhere]\na = 'x'\n", "'nowhere' is not a section of the texts"),
        ("examples = 3\n", "'examples' is not a section of the texts"),
        ("language = 3\n", "'language' is not a section of the texts"),
        ("[enter]\nnothing = 'x'\n", "enter.nothing is not one of the texts"),
        ("[enter]\nheading = 3\n", "enter.heading is not one of the texts"),
        ("[enter]\nheading = '{who}'\n", "enter.heading has {who}, which is not known there"),
        ("[[questions]]\nname = 'a'\n", "questions of your own need guidelines.intro and guidelines.steps"),
        (OWN.replace("intro =", "other ="), "questions of your own need guidelines.intro and guidelines.steps"),
        (OWN.replace('text = "Sure?"', ""), "question 'sure' needs a text, and choices with a label each"),
        (
            OWN.replace('{ yes = "Yes!", no = "No!" }', '["yes", "no"]'),
            "question 'sure' needs a text, and choices with a label each",
        ),
        (OWN.replace("{pronoun}", "{who}"), "question 'more' has {who}, which is not known there"),
        (
            OWN.replace('more = "first"\nsure', 'more = "third"\nsure'),
            "example 1: more must be first or second or same, not 'third'",
        ),
    ],
)
def test_every_text_that_cannot_be_used_is_named(tmp_path: Path, content: str, reason: str) -> None:
    path = tmp_path / "own.toml"
    path.write_text(content)
    with pytest.raises(BuildError) as error:
        read_texts("en", path)
    assert str(error.value) == f"{path}: {reason}"
    with pytest.raises(BuildError, match=r"^unknown language 'fr'; known: en, de, or a file with all texts$"):
        read_texts("fr")
