"""The pronoun table; above all that "her" is never guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.datasets import DatasetOptions, open_dataset
from equipoise.datasets.pronouns import (
    FORMS,
    KNOWN,
    PRONOUNS,
    PronounSet,
    find_pronoun,
    form_of,
    forms_of,
    gender_of,
    group_of,
    pronoun_in_form,
    pronoun_sets,
    pronouns_in,
    read_pronouns,
    side_words,
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


def test_the_seven_sets_have_all_forms() -> None:
    assert list(KNOWN) == ["he", "she", "they", "xe", "ze", "ey", "fae"]
    assert [KNOWN["xe"].in_form(form) for form in FORMS] == ["xe", "xem", "xyr", "xemself"]
    assert [chosen.plural for chosen in KNOWN.values()] == [False, False, True, False, False, False, False]
    assert (group_of("him"), group_of("Their"), group_of("xyr"), group_of("it")) == ("male", "neutral", "xe", None)


def test_a_users_file_adds_sets(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[ve]\nobject = "ver"\npossessive = "vis"\nreflexive = "verself"\n', encoding="utf-8")
    he, ve = pronoun_sets(["he", str(path)])
    assert (he.group, ve.in_form("possessive"), ve.group, ve.plural) == ("male", "vis", "ve", False)
    assert pronoun_sets(["he", "ve/ver/vis/verself"])[1] == ve


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[ve]\nobject = 1\n", r"mine.toml: \[ve\] needs a word as object, not '1'"),
        ('[ve]\nsubject = "ve"\n', r"mine.toml: \[ve\] has 'subject'; it can have object"),
        ("ve = 3\n", "mine.toml: 've' is not a section"),
        ("[ve\n", "mine.toml: is not TOML"),
    ],
)
def test_a_file_that_is_wrong_is_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DatasetError, match=message):
        pronoun_sets(["he", str(path)])


def test_an_unknown_name_says_which_are_known() -> None:
    with pytest.raises(DatasetError, match="unknown pronouns 'xyz'; known: he, she, they, xe, ze, ey, fae, subject/"):
        pronoun_sets(["he", "xyz"])


def test_a_slot_takes_every_pronoun_and_its_verb_agrees(tmp_path: Path) -> None:
    path = tmp_path / "slots.csv"
    path.write_text("text,form,candidates\nThe cook met the pilot when {pronoun} was late.,subject,cook|pilot\n")
    dataset = open_dataset(path, DatasetOptions(pronouns=["he", "they", "xe"]))
    ends = [example.text.split("when ")[1] for example in dataset.examples]
    assert ends == ["he was late.", "they were late.", "xe was late."]
    assert dataset.sets == 1
    assert [example.groups["gender"] for example in dataset.examples] == ["male", "neutral", "xe"]
    path.write_text("text,form,candidates\nThe cook met the pilot when {pronoun}'s late.,subject,cook|pilot\n")
    with pytest.raises(DatasetError, match=r"slots.csv:2: a contraction"):
        open_dataset(path, DatasetOptions(pronouns=["he", "they"]))


def test_a_neopronoun_in_a_row_needs_no_group(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("text,pronoun,candidates\nThe cook saw the pilot and xe ran.,xe,cook|pilot\n")
    assert open_dataset(path).examples[0].groups["gender"] == "xe"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[ve]\n", "mine.toml: [ve] needs a word as object, not ''"),
        ("[ve]\nobject = 'ver'\n", "mine.toml: [ve] needs a word as possessive, not ''"),
        ("[ve]\nobject = 'a b'\n", "mine.toml: [ve] needs a word as object, not 'a b'"),
        (
            "['v e']\nobject = 'a'\npossessive = 'b'\nreflexive = 'c'\n",
            "mine.toml: [v e] needs a word as subject, not 'v e'",
        ),
        ("[ve]\nz = 1\na = 2\n", "mine.toml: [ve] has 'a'; it can have object, possessive, reflexive, group, plural"),
        ("ve = 3\n", "mine.toml: 've' is not a section such as [xe]"),
    ],
)
def test_every_fault_of_a_file_is_named(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(DatasetError) as error:
        read_pronouns("mine.toml", content)
    assert str(error.value) == message


def test_a_set_of_a_file_is_in_lower_case_with_its_group() -> None:
    text = "[Ve]\nobject = 'VER'\npossessive = 'Vis'\nreflexive = 'verSelf'\n"
    assert read_pronouns("f", text) == {"Ve": PronounSet("ve", "ver", "vis", "verself", "Ve")}
    more = read_pronouns("f", text + "group = 'v'\nplural = true\n")["Ve"]
    assert (more.group, more.plural, more.words) == ("v", True, ("ve", "ver", "vis", "verself"))
    assert KNOWN["she"].words == ("she", "her", "herself")
    with pytest.raises(
        DatasetError, match=r"^unknown form 'dative'; forms are subject, object, possessive, reflexive$"
    ):
        more.in_form("dative")


@pytest.mark.parametrize(
    ("names", "subjects"),
    [
        (["he", " she ", ""], ["he", "she"]),
        (["HE/him/HIS/himself", "she"], ["he", "she"]),
        (["he", "he", "she"], ["he", "she"]),
        (["he", "ve/ver/vis/verself"], ["he", "ve"]),
    ],
)
def test_sets_are_named_or_written_out(names: list[str], subjects: list[str]) -> None:
    assert [chosen.subject for chosen in pronoun_sets(names)] == subjects


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (["he"], "at least two different pronouns are needed to compare, not he"),
        (["he", "he"], "at least two different pronouns are needed to compare, not he, he"),
        (["ve/a/b/c", "ve/d/e/f"], "at least two different pronouns are needed to compare, not ve/a/b/c, ve/d/e/f"),
        (["he", "he/him/his/hisself"], None),
        (
            ["he", "a/b/c"],
            "unknown pronouns 'a/b/c'; known: he, she, they, xe, ze, ey, fae, subject/object/possessive/reflexive",
        ),
        (["he", "a/b/c/d e"], "unknown pronouns 'a/b/c/d e'; known:"),
    ],
)
def test_too_few_or_unknown_sets_are_refused(names: list[str], reason: str | None) -> None:
    if reason is None:
        assert [chosen.group for chosen in pronoun_sets(names)] == ["male", "he"]
        return
    with pytest.raises(DatasetError) as error:
        pronoun_sets(names)
    assert str(error.value).startswith(reason)


def test_sides_are_words_and_other_words_stay() -> None:
    assert side_words("male|female|robot", "possessive") == ["his", "her", "robot"]
    assert side_words("male|x", "nothing") == ["male", "x"]
    assert [group_of(word) for word in (" HER ", "xemself", "")] == ["female", "xe", None]
    assert [found.word for found in pronouns_in("He-man, the he. HERS! Theirs themselves")] == [
        "he",
        "hers",
        "theirs",
        "themselves",
    ]
