"""The pronoun table; above all that "her" is never guessed."""

from __future__ import annotations

import pytest

from equipoise.datasets.pronouns import (
    PRONOUNS,
    find_pronoun,
    form_of,
    forms_of,
    gender_of,
    pronoun_in_form,
    pronouns_in,
)
from equipoise.records import DatasetError

CELLS = [(form, gender, word) for form, row in PRONOUNS.items() for gender, word in row.items()]


@pytest.mark.parametrize(("form", "gender", "word"), CELLS)
def test_the_table_reads_both_ways(form: str, gender: str, word: str) -> None:
    assert pronoun_in_form(form, gender) == word
    assert gender_of(word) == gender_of(word.upper()) == gender
    assert form in forms_of(word)
    assert form_of(word) == (form if word != "her" else "")


def test_the_form_of_her_comes_from_its_counterpart_only() -> None:
    assert forms_of("her") == {"object", "possessive"}
    assert form_of("her") == ""
    assert form_of("her", ["his"]) == "possessive"
    assert form_of("her", ["her", "him"]) == "object"
    assert form_of("Her", ["they"]) == ""


def test_words_beyond_the_table_have_a_gender_but_no_form() -> None:
    assert (gender_of("hers"), gender_of("theirs"), gender_of("it"), gender_of("")) == ("female", "neutral", None, None)
    assert form_of("hers") == form_of("it") == ""


def test_an_unknown_form_or_gender_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(DatasetError, match=r"'dative'.*subject, object, possessive, reflexive"):
        pronoun_in_form("dative", "male")
    with pytest.raises(DatasetError, match=r"'robot'.*male, female, neutral"):
        pronoun_in_form("subject", "robot")


def test_pronouns_are_found_as_whole_words_in_any_case() -> None:
    text = "Then She thanked the others; their chef hid his hat himself."
    assert [found.word for found in pronouns_in(text)] == ["she", "their", "his", "himself"]
    assert text[pronouns_in(text)[0].start : pronouns_in(text)[0].end] == "She"


def test_find_pronoun_takes_any_word_and_only_whole_ones() -> None:
    assert [found.start for found in find_pronoun("He said that the heron saw he.", "he")] == [0, 27]
    assert len(find_pronoun("Then xe left.", "Xe")) == 1
    assert find_pronoun("herself, hers, s/he-man", "her") == find_pronoun("x", " ") == []
